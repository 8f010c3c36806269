// The embedded store as the service sees it: every method is a message to one of its threads. The writer commits,
// the reader answers beside it from a snapshot, the checkpointer keeps the log short; the main thread never waits.
import { once } from 'node:events';
import { MessageChannel, Worker, type Transferable } from 'node:worker_threads';
import type { Random } from '../../runtime/random.ts';
import { createSealer } from '../../runtime/sealer.ts';
import { StoreError, type Store } from '../store.ts';
import type { ReadContext, WriteContext } from './context.ts';
import { createDataDir, databasePath, findLoosePermissions } from './file/data-dir.ts';
import { forgetCopying, openPrepared, withOpenErrors } from './file/prepare-database.ts';
import { takeServerLock } from './file/server-lock.ts';
import { createStore } from './methods.ts';
import type { CheckpointThreadData } from './threads/checkpoint-thread.ts';
import { ThreadClient } from './threads/rpc.ts';
import type { ThreadData } from './threads/thread.ts';

export type SqliteStoreOptions = {
  /** Made if it is not there. One server at a time. */
  dataDir: string;
  masterKey: Uint8Array;
  random: Random;
  /** Accepting and configuring are refused while less than this is free on the disk. Default 256 MiB. */
  diskReserveBytes?: number;
  /** Beyond this many unfinished deliveries of one destination, new ones are born dead. Default 10,000,000. */
  maxBacklogPerDestination?: number;
  /** Something an operator should put right, told while it opens. */
  onWarning?: (message: string) => void;
  /** A thread of the store has died: nothing works any more, and the process should end. Called at most once. */
  onFatal?: (error: Error) => void;
};

const DISK_RESERVE_BYTES_DEFAULT = 256 * 1024 * 1024;
const BACKLOG_MAX_DEFAULT = 10_000_000;

/**
 * Opens the store for a server. Throws StoreError `in_use`, `unwritable`, `corrupt`, `newer_schema` or
 * `wrong_master_key`.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { dataDir, masterKey, random } = options;
  createDataDir(dataDir);
  const lock = withOpenErrors(dataDir, () => takeServerLock(dataDir));
  try {
    const path = databasePath(dataDir);
    const prepared = openPrepared(path, createSealer(masterKey, random));
    try {
      forgetCopying(prepared);
      // Open until the threads are, or closing it would take the log away under their hands.
      const threads = new Threads(options, path);
      await threads.open(options.onFatal);
      for (const warning of findLoosePermissions(dataDir)) options.onWarning?.(warning);
      let closed: Promise<void> | null = null;
      return createStore(threads.reader, threads.writer, () => (closed ??= threads.close().then(() => lock.close())));
    } finally {
      prepared.close();
    }
  } catch (error) {
    lock.close();
    throw error;
  }
}

const METHODS_ENTRY = new URL('./threads/thread.ts', import.meta.url);
const CHECKPOINTS_ENTRY = new URL('./threads/checkpoint-thread.ts', import.meta.url);

/** The id of a worker that has ended. */
const NO_THREAD = -1;

// With one thread gone the store can keep none of its promises: what waits is rejected, and the process told.
class Threads {
  readonly reader: ThreadClient<ReadContext>;
  readonly writer: ThreadClient<WriteContext>;
  /** In the order of closing: the writer may be waiting for the checkpointer. */
  readonly #all: Pick<ThreadClient, 'worker' | 'open' | 'sendClose' | 'fail'>[];
  #onFatal: ((error: Error) => void) | undefined;
  #isOver = false;

  constructor(options: SqliteStoreOptions, path: string) {
    const { dataDir, masterKey } = options;
    const { port1, port2 } = new MessageChannel();
    const state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    this.writer = startThread({
      role: 'writer',
      path,
      masterKey,
      checkpoints: { port: port1, state },
      dataDir,
      diskReserveBytes: options.diskReserveBytes ?? DISK_RESERVE_BYTES_DEFAULT,
      maxBacklogPerDestination: options.maxBacklogPerDestination ?? BACKLOG_MAX_DEFAULT,
    });
    this.reader = startThread({ role: 'reader', path, masterKey });
    const checkpointer = startThread<never>({ role: 'checkpointer', path, checkpoints: { port: port2, state } });
    this.#all = [this.reader, this.writer, checkpointer];
    for (const { worker } of this.#all) {
      worker.on('error', (error) => this.#fail(error instanceof Error ? error : new Error(String(error))));
      worker.on('messageerror', (error) => this.#fail(error));
      worker.on('exit', (code) => this.#fail(new Error(`the thread ended with exit code ${code}`)));
    }
  }

  /** `onFatal`: told of a thread's death from then on. Before that it only fails the opening. */
  async open(onFatal: ((error: Error) => void) | undefined): Promise<void> {
    try {
      await Promise.all(this.#all.map((thread) => thread.open()));
    } catch (error) {
      await this.close();
      throw error;
    }
    this.#onFatal = onFatal;
  }

  /** The last connection to close moves what is left of the log into the database file. */
  async close(): Promise<void> {
    this.#isOver = true;
    for (const thread of this.#all) {
      if (thread.worker.threadId !== NO_THREAD) {
        const ended = once(thread.worker, 'exit');
        thread.sendClose();
        await ended;
      }
      thread.fail(new StoreError('unavailable', 'the store is closed'));
    }
  }

  #fail(cause: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const error = new StoreError('unavailable', 'a thread of the store has ended: the process must restart', { cause });
    for (const thread of this.#all) {
      thread.fail(error);
      void thread.worker.terminate();
    }
    this.#onFatal?.(error);
  }
}

function startThread<Context>(data: ThreadData | CheckpointThreadData): ThreadClient<Context> {
  const entry = data.role === 'checkpointer' ? CHECKPOINTS_ENTRY : METHODS_ENTRY;
  const transferList: Transferable[] = 'checkpoints' in data ? [data.checkpoints.port] : [];
  return new ThreadClient(new Worker(entry, { name: `store ${data.role}`, workerData: data, transferList }));
}
