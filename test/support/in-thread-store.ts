// The embedded store in the calling thread, for tests and simulation: the same methods on one connection, each run
// to its end before its promise is returned.
import type { Clock } from '../../src/runtime/clock.ts';
import type { Random } from '../../src/runtime/random.ts';
import { createSealer } from '../../src/runtime/sealer.ts';
import type { Store } from '../../src/store/store.ts';
import { checkpointPassively } from '../../src/store/sqlite/threads/checkpoint.ts';
import { createWriter } from '../../src/store/sqlite/file/connection.ts';
import type { WriteOptions } from '../../src/store/sqlite/context.ts';
import { READING, WRITING } from '../../src/store/sqlite/methods.ts';
import type { MethodName } from '../../src/store/sqlite/methods.ts';
import { openInMemory } from '../../src/store/sqlite/file/prepare-database.ts';

type InThreadOptions = WriteOptions & {
  /** `:memory:`, or the URI of one in memory that has a name. */
  path: string;
  masterKey: Uint8Array;
  clock: Clock;
  random: Random;
};

export function openInThreadStore(options: InThreadOptions): Store {
  const db = openInMemory(options.path, createSealer(options.masterKey, options.random));
  const connection = createWriter({
    ...options,
    db,
    passive: { start: () => checkpointPassively(db), isRunning: () => false, wait: () => {} },
  });
  const run = async (name: MethodName, parameters: unknown[]): Promise<unknown> => {
    const result = connection.run(name, parameters);
    connection.afterRun();
    return result;
  };
  const names: MethodName[] = [...READING, ...WRITING];
  const methods = names.map((name) => [name, (...parameters: unknown[]) => run(name, parameters)]);
  return { ...Object.fromEntries(methods), close: async () => connection.close() } as Store;
}
