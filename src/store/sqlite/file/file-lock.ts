// A lock on a file for as long as this process holds it: the operating system releases it however the process ends,
// kill -9 included, and not before. It is SQLite's exclusive lock, of a database into which nothing is ever written.
import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { errnoOf, isBusy } from '../errors.ts';

export type FileLock = Pick<DatabaseSync, 'close'>;

/** Makes the file if it is missing. Null, at once: somebody else holds it. Throws what SQLite or the system says. */
export function lockFile(path: string): FileLock | null {
  createFile(path);
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    // Nothing is ever written, so there is nothing to roll back: a journal on disk would only need room there.
    db.exec('PRAGMA journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (isBusy(error)) return null;
    throw error;
  }
  return db;
}

/** Only a new one is opened here: closing a file takes away every lock that this process has on it. */
function createFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}
