// One connection: how it is opened, its prepared statements, and the two kinds of transaction.
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';

export type Database = DatabaseSync;

export type Parameter = SQLInputValue;

/** `Row`: what a row of its answer is. Each connection has it prepared, with parameters bound in order. */
export type Statement<Row> = { text: string; row?: Row };

export type Prepared<Row> = {
  run(...parameters: Parameter[]): { changes: number | bigint };
  get(...parameters: Parameter[]): Row | undefined;
  all(...parameters: Parameter[]): Row[];
  iterate(...parameters: Parameter[]): IterableIterator<Row>;
};

const statements: Statement<unknown>[] = [];

export function statement<Row = never>(text: string): Statement<Row> {
  const made: Statement<Row> = { text };
  statements.push(made);
  return made;
}

/** Prepares all statements, so that one that the schema does not bear ends the start, not the first event. */
export function prepareAll(db: Database): <Row>(statement: Statement<Row>) => Prepared<Row> {
  const prepared = new Map(statements.map((one) => [one, prepare(db, one.text)]));
  return <Row>(one: Statement<Row>) => prepared.get(one) as unknown as Prepared<Row>;
}

export const PAGE_BYTES = 4_096;

/** How long a connection waits for another process's write (a command beside the server) to end. */
export const BUSY_TIMEOUT_MS = 5_000;
/** Of the writing connection; a reading one, whose pages the kernel has too, makes do with half. */
const CACHE_KIB = 32_768;
/** What the write-ahead log's file is cut back to after something (a backup) had held it open for long. */
const WAL_FILE_BYTES_KEPT = 64 * 1024 * 1024;

/**
 * Opens a connection and sets what lasts only as long as it. Every commit is fsynced (`synchronous = FULL`);
 * checkpoints are run by checkpoint.ts, never by the commit that happens to cross a mark.
 */
export function openDatabase(path: string, { readOnly = false }: { readOnly?: boolean } = {}): Database {
  const db = new DatabaseSync(path, { readOnly, timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec(`
      PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = 0;
      PRAGMA journal_size_limit = ${WAL_FILE_BYTES_KEPT};
      PRAGMA cache_size = -${readOnly ? CACHE_KIB / 2 : CACHE_KIB};
      PRAGMA temp_store = MEMORY;
      PRAGMA trusted_schema = OFF;
    `);
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

/** Rows are what the SQL says; this is the one place that takes its word for it. */
export function prepare<Row = never>(db: Database, sql: string): Prepared<Row> {
  const prepared = db.prepare(sql);
  const names = prepared.columns().map(({ name }) => name);
  return (names.length === 0 ? prepared : returnRows(prepared, names)) as unknown as Prepared<Row>;
}

type RowOf = Record<string, SQLOutputValue>;

/**
 * Has Node return each row as an array, and makes an object of that. An object that Node makes of a row is a
 * dictionary, of which V8 knows no shape: to make and read one of seven integers took 1.9 µs, not 1.05, and a page of a
 * hundred rows 1.25 times as long.
 */
function returnRows(prepared: StatementSync, names: readonly string[]): Prepared<RowOf> {
  prepared.setReturnArrays(true);
  const toRow = (values: unknown): RowOf => {
    const row: RowOf = {};
    for (const [i, name] of names.entries()) row[name] = (values as SQLOutputValue[])[i]!;
    return row;
  };
  return {
    run: (...parameters) => prepared.run(...parameters),
    get(...parameters) {
      const values = prepared.get(...parameters);
      return values === undefined ? undefined : toRow(values);
    },
    all: (...parameters) => prepared.all(...parameters).map(toRow),
    *iterate(...parameters) {
      for (const values of prepared.iterate(...parameters)) yield toRow(values);
    },
  };
}

/** A single value: a pragma's, or a count. */
export function readNumber(db: Database, sql: string): number {
  const row = db.prepare(sql).get();
  return row === undefined ? 0 : Number(Object.values(row)[0]);
}

/** All or nothing; durable when it returns. */
export function writeTransaction<Result>(db: Database, work: () => Result): Result {
  return runTransaction(db, 'BEGIN IMMEDIATE', work);
}

/** Several statements that see one state. */
export function readTransaction<Result>(db: Database, work: () => Result): Result {
  return runTransaction(db, 'BEGIN', work);
}

function runTransaction<Result>(db: Database, begin: string, work: () => Result): Result {
  db.exec(begin);
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // SQLite has rolled back by itself after some errors (a full disk, an I/O error).
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
