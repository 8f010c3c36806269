// One server per data directory: a lock on a small file of its own, held for life.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from '../../store.ts';
import { lockPath } from './data-dir.ts';
import { lockFile, type FileLock } from './file-lock.ts';

/** Until it is closed. Throws `in_use` at once, and what to do, if another server holds the lock. */
export function takeServerLock(dataDir: string, toDo = 'stop it, or set another POSTRIDER_DATA_DIR'): FileLock {
  const lock = lockFile(lockPath(dataDir));
  if (lock === null) throw inUse(dataDir, toDo);
  writePid(dataDir);
  return lock;
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

function inUse(dataDir: string, toDo: string): StoreError {
  const pid = readPid(dataDir);
  const who = pid === null ? 'another server' : `another server (process ${pid})`;
  return new StoreError('in_use', `${who} is running on ${dataDir}: ${toDo}`);
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
