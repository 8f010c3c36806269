// A copy of the database while the server runs: consistent, compact, under its final name only when it is complete.
import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreError } from '../../store.ts';
import { assertStoreIsThere, databasePath } from './data-dir.ts';
import { openDatabase, prepare } from './database.ts';
import { syncPath } from './durable-file.ts';
import { errnoOf, toStoreError } from '../errors.ts';

/**
 * Writes the database of `dataDir` (which throws `missing` if there is none) to the file `target`, which must not exist
 * (`unwritable`). Runs beside a server; its log grows meanwhile, for the copy reads one state from beginning to end.
 *
 * The copy has no master key in it, and its secrets cannot be read without: keep `master.key` (or MASTER_KEY) apart
 * from backups, for the two together are everything. To restore, stop the server, put the copy in place of
 * `postrider.db`, and remove `postrider.db-wal` and `postrider.db-shm`.
 */
export function backupSqlite({ dataDir, target }: { dataDir: string; target: string }): void {
  assertStoreIsThere(dataDir);
  const source = databasePath(dataDir);
  if (existsSync(target)) throw new StoreError('unwritable', `${target} exists: choose another name, or remove it`);
  const draft = `${target}.${process.pid}.partial`;
  try {
    // SQLite fills the file that is there, whose mode is the one given here.
    closeSync(openSync(draft, 'wx', 0o600));
    copyDatabase(source, draft);
    syncPath(draft);
    renameSync(draft, target);
    syncPath(dirname(target));
  } catch (error) {
    throw backupError(target, error);
  } finally {
    rmSync(draft, { force: true });
  }
}

function backupError(target: string, cause: unknown): unknown {
  const error = toStoreError(cause, () => false);
  if ((error instanceof StoreError && error.code === 'disk_full') || errnoOf(cause) === 'ENOSPC') {
    const message = `there is no room for ${target}: free some space there, or name a file on another disk`;
    return new StoreError('disk_full', message, { cause });
  }
  if (error instanceof StoreError && error.code !== 'unavailable') return error;
  const message = `cannot write ${target}: name a new file in a directory that exists and may be written`;
  return new StoreError('unwritable', message, { cause });
}

function copyDatabase(source: string, target: string): void {
  const db = openDatabase(source, { readOnly: true });
  try {
    prepare(db, 'VACUUM INTO ?').run(target);
  } finally {
    db.close();
  }
}
