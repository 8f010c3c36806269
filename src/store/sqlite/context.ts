// What every query file is given. A reading context belongs to any connection, a writing one to the only writer.
import type { Clock } from '../../runtime/clock.ts';
import type { Sealer } from '../../runtime/sealer.ts';
import type { Backlog } from './backlog.ts';
import { readTransaction, writeTransaction } from './file/database.ts';
import type { Database } from './file/database.ts';
import { createDestinationKeys } from './destination-keys.ts';
import type { DestinationKeys } from './destination-keys.ts';
import { createDiskReserve } from './file/disk-reserve.ts';
import type { DiskReserve } from './file/disk-reserve.ts';
import type { ServedFiles } from './file/served-files.ts';

export type ReadContext = {
  db: Database;
  sealer: Sealer;
  destinationKeys: DestinationKeys;
  /** One consistent state for several statements. */
  read: <Result>(work: () => Result) => Result;
};

export type WriteContext = ReadContext & {
  clock: Clock;
  backlog: Backlog;
  /** Beyond this many unfinished deliveries of a destination new ones are born dead. */
  backlogMax: number;
  diskReserve: DiskReserve;
  files: ServedFiles;
  /** All or nothing, the backlog's counts included; when it returns, durable and where the next start will find it. */
  write: <Result>(work: () => Result) => Result;
  /** Every `write` within `work` becomes part of one transaction: all or nothing for all of them. */
  together: <Result>(work: () => Result) => Result;
};

export type WriteOptions = {
  /** null: the database is in memory. */
  dataDir: string | null;
  diskReserveBytes: number;
  maxBacklogPerDestination: number;
};

export function createReadContext(db: Database, sealer: Sealer): ReadContext {
  return {
    db,
    sealer,
    destinationKeys: createDestinationKeys(db),
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
