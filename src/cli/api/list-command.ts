// `NOUN list`: a table for people, a line of JSON for each row for programs.
import type { List } from '../../../sdk/typescript/src/postrider.ts';
import { UsageError } from '../../config.ts';
import { systemClock } from '../../runtime/clock.ts';
import { integerFlag, integerOf, type Command, type Flag } from '../command.ts';
import { print, printJson, tell } from '../output.ts';
import { formatTable, terminalWidth, withoutHeader, type Column } from '../table.ts';
import { serviceCommand, type Asking, type Declaration } from './service-command.ts';
import { show, WATCH_FLAG } from './watch.ts';

const ROWS = { min: 1, max: 10_000, fallback: 25 };
const PAGE_MAX = 100;
/** Those that are formatted, and so as wide as each other; there is no bound on all. */
const ROWS_AT_ONCE = 1_000;

const LIST_FLAGS = {
  limit: integerFlag('so many at most', ROWS),
  all: { type: 'boolean', meaning: 'all of them' },
  watch: WATCH_FLAG,
} as const satisfies Record<string, Flag>;

type ListDeclaration<Row> = Omit<Declaration, 'usage' | 'words'> & {
  /** Asks for them, newest first. */
  list: (asking: Asking, page: { limit: number }, signal?: AbortSignal) => List<Row>;
  columns: (now: number) => Column<Row>[];
  /** What the rows are, for people. */
  nouns: string;
  /** Said where there are none at all. */
  toMakeOne?: () => string;
};

export function listCommand<Row extends { id: string } | { event_id: string }>(
  declaration: ListDeclaration<Row>,
): Command {
  const { list, columns, nouns, toMakeOne, ...declared } = declaration;
  const flags = { ...declared.flags, ...LIST_FLAGS };
  return serviceCommand({ ...declared, usage: [`${declared.name} [flags]`], flags }, async (asking) => {
    const { line, isJson } = asking;
    const limit = integerOf(line, 'limit', ROWS);
    const whereNone = (): string => {
      // Where some may only have been left out, nobody is told to make the first.
      const isFiltered = Object.keys(declared.flags ?? {}).some((flag) => line.textOf(flag) !== null);
      if (isFiltered) return `There are no such ${nouns}.`;
      return [`There are no ${nouns}.`, ...(toMakeOne === undefined ? [] : [toMakeOne()])].join(' ');
    };
    const format = (rows: readonly Row[], width: number | null): string =>
      rows.length === 0 ? whereNone() : formatTable(columns(systemClock.now()), rows, width);
    const idOf = (row: Row): string => ('id' in row ? row.id : row.event_id);
    const readFirst = (signal?: AbortSignal): Promise<{ rows: Row[]; hasMore: boolean }> =>
      takeFirst(list(asking, { limit: Math.min(limit + 1, PAGE_MAX) }, signal), limit);
    if (line.has('watch')) {
      if (line.has('all')) throw new UsageError('--all and --watch do not go together: give a --limit');
      return show(asking, {
        read: async (signal) => (await readFirst(signal)).rows,
        idOf,
        format,
        hasHeader: true,
      });
    }
    // Of the chunks of --all each has its own widths, and the first one the header.
    let isHeaded = false;
    if (!line.has('all')) {
      const { rows, hasMore } = await readFirst();
      await printRows(rows);
      if (hasMore && process.stderr.isTTY) tell(`There are more: --limit N, or --all`);
    } else for await (const rows of inChunks(list(asking, { limit: PAGE_MAX }))) await printRows(rows);
    if (!isHeaded && !isJson) tell(whereNone());

    async function printRows(rows: readonly Row[]): Promise<void> {
      if (isJson) for (const row of rows) await printJson(row);
      else if (rows.length > 0) {
        const table = formatTable(columns(systemClock.now()), rows, terminalWidth());
        await print(isHeaded ? withoutHeader(table) : table);
        isHeaded = true;
      }
    }
  });
}

async function* inChunks<Row>(list: List<Row>): AsyncGenerator<Row[]> {
  let chunk: Row[] = [];
  for await (const { data } of list.pages()) {
    chunk.push(...data);
    if (chunk.length < ROWS_AT_ONCE) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

async function takeFirst<Row>(list: List<Row>, limit: number): Promise<{ rows: Row[]; hasMore: boolean }> {
  const rows: Row[] = [];
  for await (const { data } of list.pages()) {
    rows.push(...data);
    if (rows.length > limit) break;
  }
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}
