// What `listen` prints: for people a line for each event, for programs an object.
import type { Event } from '../../../sdk/typescript/src/postrider.ts';
import { formatTime } from '../../model/time.ts';
import { timeOfDay } from '../api/cells.ts';
import { paint, terminalWidth } from '../table.ts';
import { breakAnywhere, COLUMNS, fit, printable, widthOf } from '../terminal.ts';
import type { Forwarded } from './forward.ts';

const INDENT = '  ';
/** Time, id, answer, duration, and the gaps between them. */
const BESIDE_TYPE = 9 + 30 + 5 + 8 + 4 * 2;
const TYPE_WIDTH_MIN = 16;
/** Of the longest body there is, on the narrowest terminal that is read on. */
const BODY_LINES_MAX = 8_000;

type Line = { at: number; event: Event; forwarded: Forwarded; body: string | null };

export function greeting({ from, to, secret }: { from: string; to: string; secret: string }): string {
  return [
    `Forwarding events of ${from} to ${to}; Ctrl-C ends it.`,
    'They are signed with this secret, which is of this session only:',
    `${INDENT}${secret}`,
    '',
  ].join('\n');
}

export function formatForwarded({ at, event, forwarded, body }: Line): string {
  const width = terminalWidth();
  const type = printable(event.type);
  const room = width === null ? widthOf(type) : Math.max(TYPE_WIDTH_MIN, Math.min(40, width - BESIDE_TYPE));
  const head = [timeOfDay(at), fit(type, room), event.event_id].join(INDENT);
  const { code, error, durationMs } = forwarded;
  const isGood = code !== null && code >= 200 && code < 300;
  const answer = code === null ? '→ ✘' : `→ ${code}`;
  const line = `${head}${INDENT}${paint(isGood ? 'green' : 'red', answer.padEnd(5))}${INDENT}${durationMs} ms`;
  const lines = error === null ? [line] : [line, `${INDENT}${paint('red', printable(error))}`];
  if (body === null) return lines.join('\n');
  const wrapped = breakAnywhere(printable(body), {
    columns: (width ?? COLUMNS) - INDENT.length,
    linesMax: BODY_LINES_MAX,
  });
  const shown = width === null ? [printable(body)] : wrapped.lines;
  return [...lines, ...shown.map((text) => paint('dim', INDENT + text))].join('\n');
}

export function presentForwarded({ at, event, forwarded, body }: Line): object {
  return {
    event: 'forwarded',
    at: formatTime(at),
    type: event.type,
    event_id: event.event_id,
    response_code: forwarded.code,
    error: forwarded.error,
    duration_ms: forwarded.durationMs,
    ...(body === null ? {} : { body }),
  };
}
