// The embedded store in the calling thread, for tests and simulation: the same queries on one connection, each run
// to its end before its promise is returned.
import { join } from 'node:path';
import type { Clock } from '../../src/runtime/clock.ts';
import type { Random } from '../../src/runtime/random.ts';
import { createSealer } from '../../src/runtime/sealer.ts';
import type { WriteContext, WriteOptions } from '../../src/store/sqlite/context.ts';
import { createWriter } from '../../src/store/sqlite/file/connection.ts';
import { openDatabase, readNumber, type Database } from '../../src/store/sqlite/file/database.ts';
import { fillDatabase } from '../../src/store/sqlite/file/prepare-database.ts';
import { createStore, type Runner } from '../../src/store/sqlite/methods.ts';
import { checkpointPassively } from '../../src/store/sqlite/threads/checkpoint.ts';
import type { Store } from '../../src/store/store.ts';

/** A directory that is not there: the store finds no files to watch in it, and no disk that could be full. */
const NO_DATA_DIR = join(import.meta.dirname, 'in-memory');

type Options = Omit<WriteOptions, 'dataDir'> & { masterKey: Uint8Array; clock: Clock; random: Random };

/** `path`: `:memory:`, or the URI of one in memory that has a name, which may be there already. */
export function openInMemory(path: string, { masterKey, random }: Pick<Options, 'masterKey' | 'random'>): Database {
  const db = openDatabase(path);
  if (readNumber(db, 'PRAGMA user_version') === 0) fillDatabase(db, createSealer(masterKey, random));
  return db;
}

export function openInThreadStore({ path, ...options }: Options & { path: string }): Store {
  return storeOn(openInMemory(path, options), { ...options, dataDir: NO_DATA_DIR });
}

export function storeOn(db: Database, options: Options & { dataDir?: string }): Store {
  const passive = { start: () => checkpointPassively(db), isRunning: () => false, wait: () => {} };
  const writer = createWriter({ dataDir: NO_DATA_DIR, ...options, db, passive });
  const runner: Runner<WriteContext> = {
    async run(query, ...parameters) {
      const result = writer.run(query, ...parameters);
      writer.afterRun();
      return result;
    },
  };
  return createStore(runner, runner, async () => writer.close());
}
