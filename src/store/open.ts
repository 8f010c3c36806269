// Chooses the adapter that the settings ask for.
import { systemClock, type Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { parseMasterKey } from './master-key.ts';
import type { SqliteStoreOptions } from './sqlite/sqlite-store.ts';
import { StoreError, type Store, type ToolStore } from './store.ts';

type OpenOptions = {
  /** `postgres://…`; null: the embedded store in `dataDir`. */
  databaseUrl: string | null;
  dataDir: string;
  /** The setting MASTER_KEY; null: `master.key` in `dataDir`, made at the first start. */
  masterKey: string | null;
  random: Random;
};

type StoreOptions = OpenOptions & Omit<SqliteStoreOptions, 'masterKey'>;

/** The store of a server, which holds it alone. Throws StoreError with what to do. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { databaseUrl, ...others } = options;
  const masterKey = await readMasterKey(options);
  if (databaseUrl !== null) {
    const { openPostgresStore } = await import('./postgres/postgres-store.ts');
    return openPostgresStore({ ...others, url: databaseUrl, masterKey, clock: systemClock });
  }
  const { openSqliteStore } = await import('./sqlite/sqlite-store.ts');
  return openSqliteStore({ ...options, masterKey });
}

/** For commands that run beside a server. Throws `missing` where there is no store, unless it `mayMake` one. */
export async function openToolStore(options: OpenOptions & { clock: Clock; mayMake: boolean }): Promise<ToolStore> {
  const { databaseUrl, ...others } = options;
  if (databaseUrl === null && !options.mayMake) {
    const { assertStoreIsThere } = await import('./sqlite/file/data-dir.ts');
    assertStoreIsThere(options.dataDir);
  }
  const masterKey = await readMasterKey(options);
  if (databaseUrl !== null) {
    const { openPostgresTool } = await import('./postgres/postgres-store.ts');
    return openPostgresTool({ ...others, url: databaseUrl, masterKey });
  }
  const { openSqliteTool } = await import('./sqlite/tool-store.ts');
  return openSqliteTool({ ...options, masterKey });
}

/** Where the data are, for the log. */
export async function placeOf({ databaseUrl, dataDir }: Pick<OpenOptions, 'databaseUrl' | 'dataDir'>) {
  if (databaseUrl === null) return { data_dir: dataDir };
  const { nameDatabase } = await import('./postgres/wire/database-address.ts');
  return { database: nameDatabase(databaseUrl) };
}

/** The key that the store's secrets are sealed under. The embedded store makes one at its first start. */
export async function readMasterKey({ databaseUrl, dataDir, masterKey, random }: OpenOptions): Promise<Uint8Array> {
  if (databaseUrl === null) {
    const { loadMasterKey } = await import('./sqlite/file/master-key.ts');
    return loadMasterKey({ dataDir, configured: masterKey, random });
  }
  if (masterKey !== null) return parseMasterKey(masterKey, 'POSTRIDER_MASTER_KEY', 'wrong_setting');
  throw new StoreError(
    'wrong_setting',
    'POSTRIDER_DATABASE_URL needs POSTRIDER_MASTER_KEY, the same on every node: set it to what it was, or for a new ' +
      'database to the output of: openssl rand -hex 32',
  );
}
