// The adapter's statements, prepared on each connection when they are first used there. A batch statement takes many
// rows at once, as one array a column; distributed, one that changes rows runs once for each shard they are in, and
// names it.
import type { ColumnType, Value } from './values.ts';
import { encodeColumn } from './values.ts';

export type Statement<Row> = {
  name: string;
  text: string;
  /** A list over all shards: the only kind that names none of them. */
  isOfEveryShard?: boolean;
  row?: Row;
};

/** `shard` and these columns are what `r` holds in the statement. */
export type Columns = Record<string, ColumnType>;

export type BatchStatement<Row> = {
  columns: readonly ColumnType[];
  /** All rows at once. */
  together: Statement<Row>;
  /** The rows of one shard, which is $1. Null: all go together wherever they are. */
  ofShard: Statement<Row> | null;
};

/** One row of a batch: its shard, then a value for each column. */
export type BatchRow = readonly [shard: number, ...values: Value[]];

/** How a batch statement's text speaks of its rows. */
export type BatchParts = {
  /** `unnest(…) AS r (…)`, for FROM and USING. */
  rows: string;
  /** The shard of a row, for INSERT. */
  shard: string;
  /** The condition that ties a table, by its alias, to the shard of `r`. */
  inShard: (alias: string) => string;
  /** The number of the first parameter after the rows: `$${next}`. */
  next: number;
};

const statements = new Map<string, Statement<unknown>>();

/** Every statement there is, for the tests that look at them. */
export function listStatements(): Statement<unknown>[] {
  return [...statements.values()];
}

export function statement<Row>(name: string, text: string): Statement<Row> {
  if (statements.has(name)) throw new Error(`two statements are called ${name}`);
  const made: Statement<Row> = { name, text };
  statements.set(name, made);
  return made;
}

/** For lists, which must look everywhere. */
export function statementOfEveryShard<Row>(name: string, text: string): Statement<Row> {
  const made = statement<Row>(name, text);
  made.isOfEveryShard = true;
  return made;
}

export function batchStatement<Row>(
  name: string,
  columns: Columns,
  write: (parts: BatchParts) => string,
): BatchStatement<Row> {
  const names = Object.keys(columns);
  const arrays = arraysOf(columns);
  const ofShard = write({
    rows: `unnest(${arrays.join(', ')}) AS r (${names.join(', ')})`,
    shard: '$1::int2',
    inShard: (alias) => `${alias}.shard = $1::int2`,
    next: names.length + 2,
  });
  return { ...insertStatement<Row>(name, columns, write), ofShard: statement(`${name}_of_shard`, ofShard) };
}

/**
 * For rows that are inserted and nothing else: no ON CONFLICT, no RETURNING. Citus copies those to their shards by
 * itself, over one connection to each machine; shard by shard it would open, and prepare, one for each (multi_copy.c).
 * Whatever else a statement does across shards would lock others out of them until the commit.
 */
export function insertStatement<Row = never>(
  name: string,
  columns: Columns,
  write: (parts: BatchParts) => string,
): BatchStatement<Row> {
  const names = ['shard', ...Object.keys(columns)];
  const together = write({
    rows: `unnest(${['$1::int2[]', ...arraysOf(columns)].join(', ')}) AS r (${names.join(', ')})`,
    shard: 'r.shard',
    inShard: (alias) => `${alias}.shard = r.shard`,
    next: names.length + 1,
  });
  return { columns: Object.values(columns), together: statement(name, together), ofShard: null };
}

function arraysOf(columns: Columns): string[] {
  return Object.values(columns).map((type, i) => `$${i + 2}::${type}[]`);
}

export type BoundStatement<Row> = { statement: Statement<Row>; values: Value[] };

/** The statements to run for these rows: one, or one for each shard. None for no rows. */
export function bindBatch<Row>(
  batch: BatchStatement<Row>,
  rows: readonly BatchRow[],
  options: { isDistributed: boolean; more: readonly Value[] },
): BoundStatement<Row>[] {
  if (rows.length === 0) return [];
  const { ofShard } = batch;
  const encode = (of: readonly BatchRow[]): Value[] => batch.columns.map((type, i) => encodeColumn(type, of, i + 1));
  if (!options.isDistributed || ofShard === null) {
    const shards = encodeColumn('int2', rows, 0);
    return [{ statement: batch.together, values: [shards, ...encode(rows), ...options.more] }];
  }
  // In one order everywhere: of two batches that meet in several shards one then waits for the other, and not both.
  const byShard = [...Map.groupBy(rows, ([shard]) => shard)].sort(([a], [b]) => a - b);
  return byShard.map(([shard, of]) => ({
    statement: ofShard,
    values: [shard, ...encode(of), ...options.more],
  }));
}
