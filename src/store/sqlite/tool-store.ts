// What commands use beside a running server: environments may be read, API keys changed. Nothing here touches
// deliveries, whose counts the server keeps in its own memory.
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import { createSealer } from '../../runtime/sealer.ts';
import type { ToolStore } from '../store.ts';
import { createReadContext, type KeyContext } from './context.ts';
import { Connection } from './file/connection.ts';
import { createDataDir, databasePath } from './file/data-dir.ts';
import { writeTransaction } from './file/database.ts';
import { createDiskReserve } from './file/write-checks.ts';
import { openPrepared } from './file/prepare-database.ts';
import { takeServerLock } from './file/server-lock.ts';
import { createApiKey, listApiKeys, revokeApiKey } from './queries/configuration/api-keys.ts';
import { readEnvironments } from './queries/configuration/environments.ts';

const TO_MIGRATE =
  'its database is of an older version, so stop it before this program works on it, or use the program that it runs';

/**
 * A lock is only taken to migrate: throws `in_use` while a server of an older version runs. On an empty directory the
 * database is made, as by the server's first start.
 */
export function openSqliteTool(options: {
  dataDir: string;
  masterKey: Uint8Array;
  clock: Clock;
  random: Random;
}): ToolStore {
  const { dataDir, masterKey, clock, random } = options;
  createDataDir(dataDir);
  const sealer = createSealer(masterKey, random);
  const db = openPrepared(databasePath(dataDir), sealer, () => takeServerLock(dataDir, TO_MIGRATE));
  // A key lets an operator in: it is made for as long as there is any room.
  const diskReserve = createDiskReserve({ db, dataDir, reserveBytes: 0, clock });
  const context: KeyContext = {
    ...createReadContext(db, sealer),
    diskReserve,
    write: (work) => writeTransaction(db, work),
  };
  const connection = new Connection(context, { isDiskFull: () => diskReserve.isDiskFull() });
  return {
    readEnvironments: async () => connection.run(readEnvironments),
    listApiKeys: async (request) => connection.run(listApiKeys, request),
    createApiKey: async (key) => connection.run(createApiKey, key),
    revokeApiKey: async (request) => connection.run(revokeApiKey, request),
    close: async () => connection.close(),
  };
}
