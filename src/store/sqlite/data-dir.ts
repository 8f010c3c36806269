// The directory that everything is kept in.
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreError } from '../store.ts';

/** Makes it, and what is missing above it, for its owner alone. */
export function createDataDir(dataDir: string): void {
  try {
    createDirectory(dataDir);
  } catch (error) {
    throw unwritable(dataDir, error);
  }
}

export function unwritable(path: string, cause: unknown): StoreError {
  const message = `cannot write ${path}: give this user the right to, or set another DATA_DIR`;
  return new StoreError('unwritable', message, { cause });
}

// By hand, because Node's own `recursive` never returns for a path where nothing can be made (in /proc).
function createDirectory(path: string): void {
  try {
    makeUnlessExists(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT') || dirname(path) === path) throw error;
    createDirectory(dirname(path));
    makeUnlessExists(path);
  }
}

function makeUnlessExists(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
