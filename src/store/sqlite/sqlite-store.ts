// The embedded store as the service sees it: every method is a message to one of its threads. The writer commits,
// the reader answers beside it from a snapshot, the checkpointer keeps the log short; the main thread never waits.
import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import type { Transferable } from 'node:worker_threads';
import type { Random } from '../../runtime/random.ts';
import { createSealer } from '../../runtime/sealer.ts';
import { StoreError } from '../store.ts';
import type { Store } from '../store.ts';
import { forgetCopying } from './file/copy-identity.ts';
import { createDataDir, databasePath, findLoosePermissions } from './file/data-dir.ts';
import { READING, WRITING } from './methods.ts';
import type { MethodName } from './methods.ts';
import { packParameters, unpackResult } from './threads/packing.ts';
import { openPrepared, withOpenErrors } from './file/prepare-database.ts';
import { createThreadClient } from './threads/rpc.ts';
import type { Request, ThreadClient } from './threads/rpc.ts';
import { takeServerLock } from './file/server-lock.ts';
import { CLOSE, OPEN } from './threads/thread-protocol.ts';
import type { CheckpointThreadData, ThreadData } from './threads/thread-protocol.ts';

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

type Thread = { worker: Worker; client: ThreadClient };

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
      const threads = await startThreads(options, path);
      for (const warning of findLoosePermissions(dataDir)) options.onWarning?.(warning);
      return createFacade(threads, () => lock.release());
    } finally {
      prepared.close();
    }
  } catch (error) {
    lock.release();
    throw error;
  }
}

type Threads = { writer: Thread; reader: Thread; close: () => Promise<void> };

async function startThreads(options: SqliteStoreOptions, path: string): Promise<Threads> {
  const { dataDir, masterKey } = options;
  const { port1, port2 } = new MessageChannel();
  const state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const writer = startThread({
    role: 'writer',
    path,
    masterKey,
    checkpoints: { port: port1, state },
    dataDir,
    diskReserveBytes: options.diskReserveBytes ?? DISK_RESERVE_BYTES_DEFAULT,
    maxBacklogPerDestination: options.maxBacklogPerDestination ?? BACKLOG_MAX_DEFAULT,
  });
  const reader = startThread({ role: 'reader', path, masterKey });
  const checkpointer = startThread({ role: 'checkpointer', path, checkpoints: { port: port2, state } });
  // Closed in this order: the writer may be waiting for the checkpointer. The last connection to close moves what is
  // left of the log into the database file.
  const all = [reader, writer, checkpointer];
  const watch = watchThreads(all);
  const close = (): Promise<void> => closeThreads(all, watch);
  try {
    await Promise.all(all.map((thread) => thread.client.call(OPEN, [])));
  } catch (error) {
    await close();
    throw error;
  }
  watch.report(options.onFatal);
  return { writer, reader, close };
}

// From source the threads' entries are TypeScript too; in the published package all is JavaScript.
const isBuilt = import.meta.url.endsWith('.js');
const METHODS_ENTRY = new URL(isBuilt ? './thread.js' : './threads/thread.ts', import.meta.url);
const CHECKPOINTS_ENTRY = new URL(
  isBuilt ? './checkpoint-thread.js' : './threads/checkpoint-thread.ts',
  import.meta.url,
);

function startThread(data: ThreadData | CheckpointThreadData): Thread {
  const entry = data.role === 'checkpointer' ? CHECKPOINTS_ENTRY : METHODS_ENTRY;
  const transferList: Transferable[] = 'checkpoints' in data ? [data.checkpoints.port] : [];
  const worker = new Worker(entry, { name: `store ${data.role}`, workerData: data, transferList });
  return { worker, client: createThreadClient(worker) };
}

interface ThreadWatch {
  /** From now on. Before that a thread's death only fails the opening. */
  report(onFatal: ((error: Error) => void) | undefined): void;
  expectEnd(): void;
}

// With one thread gone the store can keep none of its promises: what waits is rejected, and the process told.
function watchThreads(threads: Thread[]): ThreadWatch {
  let onFatal: ((error: Error) => void) | undefined;
  let isOver = false;
  const fail = (cause: Error): void => {
    if (isOver) return;
    isOver = true;
    const error = new StoreError('unavailable', 'a thread of the store has ended: the process must restart', { cause });
    for (const { client, worker } of threads) {
      client.fail(error);
      void worker.terminate();
    }
    onFatal?.(error);
  };
  for (const { worker } of threads) {
    worker.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))));
    worker.on('messageerror', fail);
    worker.on('exit', (code) => fail(new Error(`the thread ended with exit code ${code}`)));
  }
  return {
    report(callback) {
      onFatal = callback;
    },
    expectEnd() {
      isOver = true;
    },
  };
}

async function closeThreads(threads: Thread[], watch: ThreadWatch): Promise<void> {
  watch.expectEnd();
  for (const { worker, client } of threads) {
    if (worker.threadId !== NO_THREAD) {
      const ended = once(worker, 'exit');
      worker.postMessage({ id: 0, method: CLOSE, parameters: [] } satisfies Request, []);
      await ended;
    }
    client.fail(new StoreError('unavailable', 'the store is closed'));
  }
}

/** The id of a worker that has ended. */
const NO_THREAD = -1;

function createFacade({ writer, reader, close }: Threads, release: () => void): Store {
  const methodsOf = (names: readonly MethodName[], { client }: Thread) =>
    names.map((name) => [
      name,
      (...parameters: unknown[]) => {
        const packed = packParameters(name, parameters);
        return client.call(name, packed.parameters, packed.transfer).then((result) => unpackResult(name, result));
      },
    ]);
  let closed: Promise<void> | null = null;
  return {
    ...Object.fromEntries([...methodsOf(READING, reader), ...methodsOf(WRITING, writer)]),
    close() {
      closed ??= close().then(release);
      return closed;
    },
  } as Store;
}
