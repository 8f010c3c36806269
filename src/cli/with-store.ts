// The store for a command that works on it directly, beside a running server or without one.
import type { Settings } from '../config.ts';
import { systemClock } from '../runtime/clock.ts';
import { systemRandom } from '../runtime/random.ts';
import { openToolStore } from '../store/open.ts';
import type { ToolStore } from '../store/open.ts';
import type { CommandLine } from './command.ts';

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

export async function withStore<Result>(
  line: CommandLine,
  work: (store: ToolStore) => Promise<Result>,
): Promise<Result> {
  const store = await openToolStore({ ...storeOptions(line.settings().settings), clock: systemClock });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
