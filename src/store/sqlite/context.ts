// What every query is given: a reading context belongs to any connection, a writing one to the only writer. A query is
// one method of store.ts on one connection, and runs to its end at once.
import { idBytes, type DestinationId } from '../../model/id.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Sealer } from '../../runtime/sealer.ts';
import type { Store } from '../store.ts';
import type { Backlog } from './backlog.ts';
import {
  prepareAll,
  readTransaction,
  statement,
  writeTransaction,
  type Database,
  type Prepared,
  type Statement,
} from './file/database.ts';
import { createDiskReserve, type DiskReserve, type ServedFiles } from './file/write-checks.ts';

/** The methods of the store that have a query. */
type Method = Exclude<keyof Store, 'close' | 'lanes' | 'cluster'>;

type Query<Context, Name extends Method> = Required<Store>[Name] extends (
  ...parameters: infer Parameters
) => Promise<infer Result>
  ? (context: Context, ...parameters: Parameters) => Result
  : never;

export type Read<Name extends Method> = Query<ReadContext, Name>;
export type Write<Name extends Method> = Query<WriteContext, Name>;
export type ChangeKeys<Name extends Method> = Query<KeyContext, Name>;

export type ReadContext = {
  db: Database;
  sealer: Sealer;
  /** The statement as this connection has it prepared. */
  sql: <Row>(statement: Statement<Row>) => Prepared<Row>;
  /**
   * The small integer that stands for a destination in deliveries, kept once found: a key is never used again. Null:
   * there is no row of that id (a deleted destination still has one until it is pruned).
   */
  findDestinationKey: (id: DestinationId) => number | null;
  /** One consistent state for several statements. */
  read: <Result>(work: () => Result) => Result;
};

/** What changes API keys, beside a server too: nothing that the server counts in its memory. */
export type KeyContext = ReadContext & Pick<WriteContext, 'write' | 'diskReserve'>;

export type WriteContext = ReadContext & {
  clock: Clock;
  backlog: Backlog;
  /** Beyond this many unfinished deliveries of a destination new ones are born dead. */
  backlogMax: number;
  diskReserve: DiskReserve;
  files: ServedFiles;
  /** How far `eraseBodies` has come in the deliveries of the oldest event, by what is committed. */
  erasing: { eventId: Uint8Array; after: Uint8Array } | null;
  /** All or nothing, the backlog's counts included; when it returns, durable and where the next start will find it. */
  write: <Result>(work: () => Result) => Result;
  /** Every `write` within `work` becomes part of one transaction: all or nothing for all of them. */
  together: <Result>(work: () => Result) => Result;
};

export type WriteOptions = {
  dataDir: string;
  diskReserveBytes: number;
  maxBacklogPerDestination: number;
};

const SELECT_KEY = statement<{ key: number }>('SELECT key FROM destinations WHERE id = ?');

export function createReadContext(db: Database, sealer: Sealer): ReadContext {
  const sql = prepareAll(db);
  const keys = new Map<DestinationId, number>();
  return {
    db,
    sealer,
    sql,
    findDestinationKey(id) {
      const known = keys.get(id);
      if (known !== undefined) return known;
      const row = sql(SELECT_KEY).get(idBytes(id));
      if (row === undefined) return null;
      keys.set(id, row.key);
      return row.key;
    },
    read: (work) => readTransaction(db, work),
  };
}

export function createWriteContext(
  reading: ReadContext,
  { clock, backlog, files, ...options }: { clock: Clock; backlog: Backlog; files: ServedFiles } & WriteOptions,
): WriteContext {
  const { db } = reading;
  const { dataDir, diskReserveBytes, maxBacklogPerDestination } = options;
  let isTogether = false;
  const commit = <Result>(work: () => Result): Result => {
    let isCommitted = false;
    try {
      const result = writeTransaction(db, work);
      isCommitted = true;
      return result;
    } finally {
      backlog.settle(isCommitted);
    }
  };
  const write = <Result>(work: () => Result): Result => {
    if (isTogether) return work();
    // Into files that are gone nothing is written: should they come back, it would be there though it was refused.
    files.assertBeforeWrite();
    const result = commit(work);
    // Only now it is certain that the files were still there when the commit was on disk.
    files.assertAfterWrite();
    return result;
  };
  return {
    ...reading,
    clock,
    backlog,
    backlogMax: maxBacklogPerDestination,
    diskReserve: createDiskReserve({ db, dataDir, reserveBytes: diskReserveBytes, clock }),
    files,
    erasing: null,
    write,
    together: (work) =>
      write(() => {
        isTogether = true;
        try {
          return work();
        } finally {
          isTogether = false;
        }
      }),
  };
}
