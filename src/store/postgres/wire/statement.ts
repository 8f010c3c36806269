// The adapter's statements, prepared on each connection when they are first used there. A batch statement takes many
// rows at once, as one array a column; distributed, one that changes rows runs once for each shard they are in, and
// names it, and one that inserts what may be there already runs once for each row.
import { encodeColumn, type ColumnType, type Value } from './values.ts';

export type Statement<Row> = {
  name: string;
  text: string;
  /** A list over all shards: the only kind that names none of them. */
  isOfEveryShard?: boolean;
  /** Writes several tables at once, which a distributed database cannot: there the same is done in steps. */
  isOfOneMachine?: boolean;
  row?: Row;
};

/** `shard` and these columns are what `r` holds in the statement. */
export type Columns = Record<string, ColumnType>;

export type BatchStatement<Row> = {
  columns: readonly ColumnType[];
  /** All rows at once. */
  together: Statement<Row>;
  /** Distributed: the rows of one shard, which is $1, or one row, which begins with it. Null: together too. */
  apart: { per: 'shard' | 'row'; statement: Statement<Row> } | null;
};

/** One row of a batch: its shard, then a value for each column. */
export type BatchRow = readonly [shard: number, ...values: Value[]];

/** `write`: of the rows `r`, which have a `shard` and these columns. */
export type Insert = { columns: Columns; write: (rows: string) => string };

/** How a batch statement's text speaks of its rows. */
type BatchParts = {
  /** `unnest(…) AS r (…)`, for FROM and USING. */
  rows: string;
  /** The condition that ties a table, by its alias, to the shard of `r`. */
  inShard: (alias: string) => string;
  /** The number of the first parameter after the rows: `$${next}`. */
  next: number;
};

/** By name: a connection that knew another one of the name would run that. */
export const STATEMENTS = new Map<string, Statement<unknown>>();

export function statement<Row>(name: string, text: string): Statement<Row> {
  if (STATEMENTS.has(name)) throw new Error(`two statements are called ${name}`);
  const made: Statement<Row> = { name, text };
  STATEMENTS.set(name, made);
  return made;
}

/** For lists, which must look everywhere. */
export function statementOfEveryShard<Row>(name: string, text: string): Statement<Row> {
  const made = statement<Row>(name, text);
  made.isOfEveryShard = true;
  return made;
}

/** Never sent to a distributed database. */
export function statementOfOneMachine<Row>(name: string, text: string): Statement<Row> {
  const made = statement<Row>(name, text);
  made.isOfOneMachine = true;
  return made;
}

export function batchStatement<Row>(
  name: string,
  columns: Columns,
  write: (parts: BatchParts) => string,
): BatchStatement<Row> {
  const next = Object.keys(columns).length + 2;
  const rows = new ParameterRows(columns, 2).as();
  const ofShard = write({ rows, inShard: (alias) => `${alias}.shard = $1::int2`, next });
  const together = write({ rows: rowsOf(columns), inShard: (alias) => `${alias}.shard = r.shard`, next });
  return {
    columns: Object.values(columns),
    together: statement(name, together),
    apart: { per: 'shard', statement: statement(`${name}_of_shard`, ofShard) },
  };
}

/** Of rows as they are, into a table that has columns of their names. */
export function insertOf(table: string, columns: Columns): Insert {
  const names = ['shard', ...Object.keys(columns)];
  const values = names.map((name) => `r.${name}`).join(', ');
  return { columns, write: (rows) => `INSERT INTO ${table} (${names.join(', ')}) SELECT ${values} FROM ${rows}` };
}

/**
 * For rows that are inserted and nothing else: no ON CONFLICT, no RETURNING. Citus copies those to their shards by
 * itself, over one connection to each machine; shard by shard it would open, and prepare, one for each (multi_copy.c).
 * Whatever else a statement does across shards would lock others out of them until the commit.
 */
export function insertStatement(name: string, { columns, write }: Insert): BatchStatement<never> {
  return { columns: Object.values(columns), together: statement(name, write(rowsOf(columns))), apart: null };
}

/**
 * For rows that may be there already. Distributed, each goes by itself as VALUES, which Citus hands to the machine of
 * its shard as it is; an INSERT ... SELECT of the rows of a shard it would work out on the coordinator and pass on in
 * files, which took 4.5 times as long.
 */
export function upsertStatement<Row>(
  name: string,
  columns: Columns,
  { into, onConflict }: { into: string; onConflict: string },
): BatchStatement<Row> {
  const values = ['$1::int2', ...Object.values(columns).map((type, i) => `$${i + 2}::${type}`)];
  const together = `${insertOf(into, columns).write(rowsOf(columns))} ${onConflict}`;
  const names = ['shard', ...Object.keys(columns)];
  const ofRow = `INSERT INTO ${into} (${names.join(', ')}) VALUES (${values.join(', ')}) ${onConflict}`;
  return {
    columns: Object.values(columns),
    together: statement(name, together),
    apart: { per: 'row', statement: statement(`${name}_of_row`, ofRow) },
  };
}

/** Rows among the parameters of a statement that has several kinds of them: one array a column, from `first` on. */
export class ParameterRows {
  readonly #columns: Columns;
  readonly #first: number;

  constructor(columns: Columns, first: number) {
    this.#columns = columns;
    this.#first = first;
  }

  /** The number of the first parameter after these. */
  get next(): number {
    return this.#first + Object.keys(this.#columns).length;
  }

  /** Rows `r` of these columns, for FROM and USING. Default: of all. */
  as(...names: string[]): string {
    const all = Object.keys(this.#columns);
    const wanted = names.length === 0 ? all : names;
    const arrays = wanted.map((name) => `$${this.#first + all.indexOf(name)}::${this.#columns[name]}[]`);
    return `unnest(${arrays.join(', ')}) AS r (${wanted.join(', ')})`;
  }

  encode(rows: readonly (readonly Value[])[]): Value[] {
    return Object.values(this.#columns).map((type, i) => encodeColumn(type, rows, i));
  }
}

/** All rows of a batch, each with its shard. */
function rowsOf(columns: Columns): string {
  return new ParameterRows({ shard: 'int2', ...columns }, 1).as();
}

/**
 * `column = value`, for a statement with a LIMIT that also sorts by the column, before the ids: so it reads the index
 * that begins with the column and nothing else. Of a plain equation the planner knows that it leaves nothing to sort
 * by; then whatever is in the order of ids will do, and it takes what has the most rows to look through where it thinks
 * that the wanted ones are many and everywhere. For the dead of a destination with half the traffic of which nothing
 * had died it read all rows of a week.
 */
export function isOnly(column: string, value: string): string {
  return `${column} = ANY (ARRAY[${value}])`;
}

type BoundStatement<Row> = { statement: Statement<Row>; values: Value[] };

/** The statements to run for these rows: one, or one for each shard or row. None for no rows. */
export function bindBatch<Row>(
  batch: BatchStatement<Row>,
  rows: readonly BatchRow[],
  options: { isDistributed: boolean; more: readonly Value[] },
): BoundStatement<Row>[] {
  if (rows.length === 0) return [];
  const { together, apart } = batch;
  const encode = (of: readonly BatchRow[]): Value[] => batch.columns.map((type, i) => encodeColumn(type, of, i + 1));
  if (!options.isDistributed || apart === null) {
    const shards = encodeColumn('int2', rows, 0);
    return [{ statement: together, values: [shards, ...encode(rows), ...options.more] }];
  }
  const { per, statement: one } = apart;
  // In the order of the batch, which is the same for everybody.
  if (per === 'row') return rows.map((row) => ({ statement: one, values: [...row, ...options.more] }));
  // In one order everywhere: of two batches that meet in several shards one then waits for the other, and not both.
  const byShard = [...Map.groupBy(rows, ([shard]) => shard)].sort(([a], [b]) => a - b);
  return byShard.map(([shard, of]) => ({ statement: one, values: [shard, ...encode(of), ...options.more] }));
}
