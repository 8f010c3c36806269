// One server per data directory: an exclusive lock on a small database of its own, held for life. The operating
// system releases it however the process ends, kill -9 included.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../store.ts';
import { isBusy } from './errors.ts';

export interface ServerLock {
  release(): void;
}

/** Throws `in_use` at once if another server holds it. */
export function takeServerLock(dataDir: string): ServerLock {
  const db = new DatabaseSync(join(dataDir, 'server.lock'), { timeout: 0 });
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    throw isBusy(error) ? inUse(dataDir, error) : error;
  }
  // Only for the message of the server that finds this one here.
  writeFileSync(pidPath(dataDir), `${process.pid}\n`);
  return { release: () => db.close() };
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
