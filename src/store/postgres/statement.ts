// The adapter's statements, prepared on each connection when they are first used there. A batch statement takes many
// rows at once, as one array a column; distributed, it runs once for each shard that the rows are in, and names it.
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
  /** The rows of one shard, which is $1. */
  ofShard: Statement<Row>;
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
  const types = Object.values(columns);
  const arrays = types.map((type, i) => `$${i + 2}::${type}[]`);
  const next = types.length + 2;
  return {
    columns: types,
    together: statement(
      name,
      write({
        rows: `unnest(${['$1::int2[]', ...arrays].join(', ')}) AS r (${['shard', ...names].join(', ')})`,
        shard: 'r.shard',
        inShard: (alias) => `${alias}.shard = r.shard`,
        next,
      }),
    ),
    ofShard: statement(
      `${name}_of_shard`,
      write({
        rows: `unnest(${arrays.join(', ')}) AS r (${names.join(', ')})`,
        shard: '$1::int2',
        inShard: (alias) => `${alias}.shard = $1::int2`,
        next,
      }),
    ),
  };
}

export type BoundStatement<Row> = { statement: Statement<Row>; values: Value[] };

/** The statements to run for these rows: one, or one for each shard. None for no rows. */
export function bindBatch<Row>(
  batch: BatchStatement<Row>,
  rows: readonly BatchRow[],
  options: { isDistributed: boolean; more: readonly Value[] },
): BoundStatement<Row>[] {
  if (rows.length === 0) return [];
  const arraysOf = (of: readonly BatchRow[]): Value[] => batch.columns.map((type, i) => encodeColumn(type, of, i + 1));
  if (!options.isDistributed) {
    const shards = encodeColumn('int2', rows, 0);
    return [{ statement: batch.together, values: [shards, ...arraysOf(rows), ...options.more] }];
  }
  const byShard = Map.groupBy(rows, ([shard]) => shard);
  return [...byShard].map(([shard, of]) => ({
    statement: batch.ofShard,
    values: [shard, ...arraysOf(of), ...options.more],
  }));
}
