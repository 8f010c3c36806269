// Data directories of a test's own, and stores on them as a server has them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemRandom } from '../../src/runtime/random.ts';
import { openSqliteStore, type SqliteStoreOptions } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';

export const MASTER_KEY = new Uint8Array(32).fill(7);

const cleanups = new WeakMap<TestContext, (() => unknown)[]>();

/** Runs after the test, the last one first: a store is closed before its directory goes. */
export function atEnd(t: TestContext, cleanup: () => unknown): void {
  const known = cleanups.get(t);
  if (known !== undefined) {
    known.push(cleanup);
    return;
  }
  const all = [cleanup];
  cleanups.set(t, all);
  t.after(async () => {
    for (const one of all.reverse()) await one();
  });
}

export function makeDataDir(t: TestContext): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'postrider-store-'));
  atEnd(t, () => rmSync(dataDir, { recursive: true, force: true }));
  return dataDir;
}

/** Closed after the test unless it is closed before; a thread that dies fails the test. */
export async function openServer(
  t: TestContext,
  dataDir: string,
  options: Partial<SqliteStoreOptions> = {},
): Promise<Store> {
  const store = await openSqliteStore({
    dataDir,
    masterKey: MASTER_KEY,
    random: systemRandom,
    diskReserveBytes: 0,
    onFatal(error) {
      throw error;
    },
    ...options,
  });
  atEnd(t, () => store.close());
  return store;
}
