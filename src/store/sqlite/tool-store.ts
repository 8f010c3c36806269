// What commands use beside a running server: everything may be read, keys may be changed. Nothing here touches
// deliveries, whose counts the server keeps in its own memory.
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import { createSealer } from '../../runtime/sealer.ts';
import type { Store } from '../store.ts';
import { createConnection } from './file/connection.ts';
import { createReadContext } from './context.ts';
import { createDataDir, databasePath } from './file/data-dir.ts';
import { writeTransaction } from './file/database.ts';
import { createDiskReserve } from './file/disk-reserve.ts';
import { READING, createReadMethods } from './methods.ts';
import { openPrepared } from './file/prepare-database.ts';
import { createApiKeyWrites } from './queries/configuration/api-keys.ts';

const KEY_METHODS = ['createApiKey', 'revokeApiKey', 'touchApiKeys'] as const;

export type ToolStore = Pick<Store, (typeof READING)[number] | (typeof KEY_METHODS)[number] | 'close'>;

/** No lock is taken. On an empty directory the database is made, as by the server's first start. */
export function openSqliteTool(options: {
  dataDir: string;
  masterKey: Uint8Array;
  clock: Clock;
  random: Random;
}): ToolStore {
  const { dataDir, masterKey, clock, random } = options;
  createDataDir(dataDir);
  const sealer = createSealer(masterKey, random);
  const db = openPrepared(databasePath(dataDir), sealer);
  // A key lets an operator in: it is made for as long as there is any room.
  const diskReserve = createDiskReserve({ db, dataDir, reserveBytes: 0, clock });
  const methods = {
    ...createReadMethods(createReadContext(db, sealer)),
    ...createApiKeyWrites({ db, diskReserve, write: (work) => writeTransaction(db, work) }),
  };
  const connection = createConnection({ db, methods, isDiskFull: () => diskReserve.isDiskFull() });
  const names = [...READING, ...KEY_METHODS];
  const calls = names.map((name) => [name, async (...parameters: unknown[]) => connection.run(name, parameters)]);
  return { ...Object.fromEntries(calls), close: async () => connection.close() } as ToolStore;
}
