// One server per data directory: an exclusive lock on a small database of its own, held for life. The operating
// system releases it however the process ends, kill -9 included.
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../../store.ts';
import { lockPath } from './data-dir.ts';
import { errnoOf, isBusy } from '../errors.ts';

/** Until it is closed. Throws `in_use` at once if another server holds the lock. */
export function takeServerLock(dataDir: string): Pick<DatabaseSync, 'close'> {
  const path = lockPath(dataDir);
  createLockFile(path);
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    // Nothing is ever written, so there is nothing to roll back: a journal on disk would only need room there.
    db.exec('PRAGMA journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    throw isBusy(error) ? inUse(dataDir, error) : error;
  }
  writePid(dataDir);
  return db;
}

/** Only a new one is opened here: closing a file takes away every lock that this process has on it. */
function createLockFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}

// Only for the message of the server that finds this one here: on a full disk it may be missing, but never be that of
// another process.
function writePid(dataDir: string): void {
  const path = pidPath(dataDir);
  try {
    writeFileSync(path, `${process.pid}\n`);
  } catch {
    rmSync(path, { force: true });
  }
}

function inUse(dataDir: string, cause: unknown): StoreError {
  const pid = readPid(dataDir);
  const who = pid === null ? 'another server' : `another server (process ${pid})`;
  return new StoreError('in_use', `${who} is running on ${dataDir}: stop it, or set another DATA_DIR`, { cause });
}

function readPid(dataDir: string): string | null {
  try {
    return readFileSync(pidPath(dataDir), 'utf8').trim() || null;
  } catch {
    // Without the file the message is shorter; the refusal is the same.
    return null;
  }
}

function pidPath(dataDir: string): string {
  return join(dataDir, 'server.pid');
}
