// The directory that everything is kept in. What is made in it is its owner's alone, as the directory is, should that
// have been made by somebody else: event bodies are in there as they came.
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { StoreError } from '../store.ts';

export function databasePath(dataDir: string): string {
  return join(dataDir, 'postrider.db');
}

/**
 * To be asked before anything is made there, by whatever is to work on a store that is in use: a slip in the path must
 * not make a store that no service knows. An empty database file is no store either: something else made it.
 */
export function assertStoreIsThere(dataDir: string): void {
  const found = statSync(databasePath(dataDir), { throwIfNoEntry: false });
  if (found === undefined || found.size === 0) {
    throw new StoreError('missing', `there is no store in ${resolve(dataDir)}`);
  }
}

/** Makes the directory, and what is missing above it. */
export function createDataDir(dataDir: string): void {
  try {
    createDirectory(dataDir);
  } catch (error) {
    throw unwritable(dataDir, error);
  }
}

/** Makes an empty database file unless there is one; SQLite gives the files beside it the same mode. */
export function createDatabaseFile(dataDir: string): string {
  const path = databasePath(dataDir);
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch (error) {
    throw unwritable(path, error);
  }
  return path;
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
