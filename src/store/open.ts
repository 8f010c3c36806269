// Chooses the adapter that the settings ask for.
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { ToolStore } from './sqlite/tool-store.ts';
import { StoreError } from './store.ts';
import type { Store } from './store.ts';

export type { ToolStore };

export type OpenOptions = {
  /** `postgres://…`; null: the embedded store in `dataDir`. */
  databaseUrl: string | null;
  dataDir: string;
  /** The setting MASTER_KEY; null: `master.key` in `dataDir`, made at the first start. */
  masterKey: string | null;
  random: Random;
};

export type StoreOptions = OpenOptions & {
  /** Accepting and configuring are refused while less than this is free on the disk. Default 256 MiB. */
  diskReserveBytes?: number;
  /** Beyond this many unfinished deliveries of one destination, new ones are born dead. Default 10,000,000. */
  maxBacklogPerDestination?: number;
  /** The store is beyond repair in this process, which should end. Called at most once. */
  onFatal?: (error: Error) => void;
};

/** The store of a server, which holds it alone. Throws StoreError with what to do. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const masterKey = await embeddedMasterKey(options);
  const { openSqliteStore } = await import('./sqlite/sqlite-store.ts');
  return openSqliteStore({ ...options, masterKey });
}

/** For commands that run beside a server. */
export async function openToolStore(options: OpenOptions & { clock: Clock }): Promise<ToolStore> {
  const masterKey = await embeddedMasterKey(options);
  const { openSqliteTool } = await import('./sqlite/tool-store.ts');
  return openSqliteTool({ ...options, masterKey });
}

async function embeddedMasterKey({ databaseUrl, dataDir, masterKey, random }: OpenOptions): Promise<Uint8Array> {
  if (databaseUrl !== null) {
    throw new StoreError('unavailable', 'DATABASE_URL is not supported yet: unset it to use the embedded store');
  }
  const { loadMasterKey } = await import('./sqlite/master-key.ts');
  return loadMasterKey({ dataDir, configured: masterKey, random });
}
