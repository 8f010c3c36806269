// The store for a command that works on it directly, beside a running server or without one.
import { UsageError, type SettingName, type Settings } from '../config.ts';
import { systemClock } from '../runtime/clock.ts';
import { systemRandom } from '../runtime/random.ts';
import { openToolStore } from '../store/open.ts';
import { StoreError, type ToolStore } from '../store/store.ts';
import type { CommandLine } from './command.ts';
import { tell } from './output.ts';

/** Where the store is, and what opens it. */
export const STORE_SETTINGS: readonly SettingName[] = ['DATA_DIR', 'DATABASE_URL', 'MASTER_KEY'];

export function storeOptions(settings: Settings) {
  return {
    databaseUrl: settings.DATABASE_URL,
    random: systemRandom,
    dataDir: settings.DATA_DIR,
    masterKey: settings.MASTER_KEY === '' ? null : settings.MASTER_KEY,
    diskReserveBytes: settings.DISK_RESERVE,
    maxBacklogPerDestination: settings.MAX_BACKLOG,
  };
}

/** Throws StoreError `missing` where there is none. */
export async function withStore<Result>(
  line: CommandLine,
  work: (store: ToolStore) => Promise<Result>,
  { mayMake = false }: { mayMake?: boolean } = {},
): Promise<Result> {
  const { settings } = line.settings();
  refuseTwoPlaces(line, settings);
  const store = await openToolStore({ ...storeOptions(settings), clock: systemClock, mayMake });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** A database that the environment names would win over the folder that somebody has just written down. */
function refuseTwoPlaces(line: CommandLine, { DATABASE_URL: databaseUrl }: Settings): void {
  if (databaseUrl === null || line.textOf('data-dir') === null) return;
  throw new UsageError(
    '--data-dir names one store and POSTRIDER_DATABASE_URL another: unset that, or leave --data-dir out',
  );
}

/** Makes one where there is none, and says so. */
export async function withStoreOrNew<Result>(
  line: CommandLine,
  work: (store: ToolStore) => Promise<Result>,
): Promise<Result> {
  try {
    return await withStore(line, work);
  } catch (error) {
    if (!(error instanceof StoreError) || error.code !== 'missing') throw error;
    tell(`${error.message}: making a new one, which is what the service must be started on`);
    return withStore(line, work, { mayMake: true });
  }
}
