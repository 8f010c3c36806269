// --watch: looks again every two seconds until it is told to stop. On a terminal it redraws; elsewhere it prints what
// is new or has changed.
import { delay, systemClock } from '../../runtime/clock.ts';
import type { Flag } from '../command.ts';
import { nextEnd } from '../end.ts';
import { print, printJson, tell } from '../output.ts';
import { terminalWidth, withoutHeader } from '../table.ts';
import { firstLines, sizeOf } from '../terminal.ts';
import { timeOfDay } from './cells.ts';
import type { Asking } from './service-command.ts';

const INTERVAL_MS = 2_000;
/** What is seen; what has scrolled away stays. */
const CLEAR = '\u001b[H\u001b[2J';

export const WATCH_FLAG: Flag = { type: 'boolean', meaning: 'look again every 2 s, until Ctrl-C' };

type View<Row> = {
  /** What is there now. */
  read: (signal: AbortSignal) => Promise<Row[]>;
  idOf: (row: Row) => string;
  /** For people; `width`: of the terminal. */
  format: (rows: readonly Row[], width: number | null) => string;
  /** Its first line is above all rows, those of the next look too. */
  hasHeader?: boolean;
};

/** Once, or with --watch again and again. */
export async function show<Row extends object>(asking: Asking, view: View<Row>): Promise<void> {
  if (asking.line.has('watch')) return watch(asking, view);
  const rows = await view.read(new AbortController().signal);
  if (asking.isJson) for (const row of rows) await printJson(row);
  else await print(view.format(rows, terminalWidth()));
}

async function watch<Row extends object>(asking: Asking, view: View<Row>): Promise<void> {
  const stop = new AbortController();
  const ended = nextEnd().then(() => stop.abort());
  const drawn: Drawn = { seen: new Map(), isHeaded: false };
  let isAway = false;
  while (!stop.signal.aborted) {
    try {
      await draw(asking, view, await view.read(stop.signal), drawn);
      isAway = false;
    } catch (error) {
      if (stop.signal.aborted) return;
      if (!mayPass(asking, error)) throw error;
      if (!isAway) tell(`postrider: ${(error as Error).message}; trying again`);
      isAway = true;
    }
    await Promise.race([ended, delay(systemClock, INTERVAL_MS)]);
  }
}

/** A service that is started again, a proxy that has lost it. */
function mayPass({ module }: Asking, error: unknown): boolean {
  if (error instanceof module.ConnectionError || error instanceof module.TimeoutError) return true;
  return (error instanceof module.ApiError || error instanceof module.UnexpectedAnswerError) && error.status >= 500;
}

type Drawn = { seen: Map<string, string>; isHeaded: boolean };

async function draw<Row extends object>(
  { isJson, connection }: Asking,
  view: View<Row>,
  rows: readonly Row[],
  drawn: Drawn,
): Promise<void> {
  const size = sizeOf(process.stdout);
  if (size !== null && !isJson) {
    const head = `${connection.url}  ${timeOfDay(systemClock.now())}  Ctrl-C ends`;
    const lines = [head, '', ...view.format(rows, size.columns).split('\n')];
    // What is longer than the terminal would scroll the head away.
    return print(CLEAR + firstLines(lines, { ...size, rows: Math.max(3, size.rows - 1) }).join('\n'));
  }
  const { seen } = drawn;
  const changed = rows.filter((row) => seen.get(view.idOf(row)) !== JSON.stringify(row));
  seen.clear();
  for (const row of rows) seen.set(view.idOf(row), JSON.stringify(row));
  // The newest last, as whatever follows will be.
  const inTurn = changed.toReversed();
  if (isJson) for (const row of inTurn) await printJson(row);
  else if (inTurn.length > 0) {
    const text = view.format(inTurn, null);
    await print(view.hasHeader === true && drawn.isHeaded ? withoutHeader(text) : text);
    drawn.isHeaded = true;
  }
}
