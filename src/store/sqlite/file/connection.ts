// One thread's end of the database: runs queries with errors as the store's own, and for the writer the checkpoints
// between them.
import type { Clock } from '../../../runtime/clock.ts';
import type { Random } from '../../../runtime/random.ts';
import { createSealer } from '../../../runtime/sealer.ts';
import { loadBacklog } from '../backlog.ts';
import {
  createReadContext,
  createWriteContext,
  type ReadContext,
  type WriteContext,
  type WriteOptions,
} from '../context.ts';
import { toStoreError } from '../errors.ts';
import { createCheckpointer, type PassiveCheckpoints } from '../threads/checkpoint.ts';
import { openDatabase, type Database } from './database.ts';
import { watchServedFiles } from './write-checks.ts';

type Runtime = { clock: Clock; random: Random };

export class Connection<Context extends ReadContext> {
  protected readonly context: Context;
  readonly #isDiskFull: () => boolean;
  /** To be called when results have been handed on: what may take time and nobody should wait for. */
  readonly afterRun: () => void;

  constructor(context: Context, options: { isDiskFull?: () => boolean; afterRun?: () => void } = {}) {
    this.context = context;
    this.#isDiskFull = options.isDiskFull ?? (() => false);
    this.afterRun = options.afterRun ?? (() => {});
  }

  /** Every error that is the database's comes as a StoreError. */
  run<Parameters extends unknown[], Result>(
    query: (context: Context, ...parameters: Parameters) => Result,
    ...parameters: Parameters
  ): Result {
    try {
      return query(this.context, ...parameters);
    } catch (error) {
      throw toStoreError(error, this.#isDiskFull);
    }
  }

  close(): void {
    if (this.context.db.isOpen) this.context.db.close();
  }
}

/** Answers every method, and is the only one that writes. */
class Writer extends Connection<WriteContext> {
  /** Queries that `work` runs are one transaction, or none of them is done: then it throws. */
  runTogether<Result>(work: () => Result): Result {
    return this.context.together(work);
  }

  override close(): void {
    if (!this.context.db.isOpen) return;
    super.close();
    this.context.files.close();
  }
}

/** Answers the reading methods; cannot write. */
export function openReader(options: { path: string; masterKey: Uint8Array; random: Random }): Connection<ReadContext> {
  const db = openDatabase(options.path, { readOnly: true });
  return new Connection(createReadContext(db, createSealer(options.masterKey, options.random)));
}

export function createWriter(
  options: { db: Database; masterKey: Uint8Array; passive: PassiveCheckpoints } & WriteOptions & Runtime,
): Writer {
  const { db, random, masterKey, passive } = options;
  const reading = createReadContext(db, createSealer(masterKey, random));
  const backlog = loadBacklog(db);
  // After the first read, with which SQLite opens the log and its index too.
  const files = watchServedFiles(options.dataDir);
  const context = createWriteContext(reading, { ...options, backlog, files });
  return new Writer(context, {
    isDiskFull: () => context.diskReserve.isDiskFull(),
    afterRun: createCheckpointer({ db, passive }),
  });
}
