// SQLite's result codes as errors of the store. Told apart by number, never by text.
import { StoreError, type StoreErrorCode } from '../store.ts';

const BUSY = 5;
const READONLY = 8;
const PERMISSION = 3;
const IO = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

/** The primary result code of an error from node:sqlite; null: not one of its errors. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return null;
  return error.errcode & 0xff;
}

/** The name of a system call's error, such as ENOENT; null: not one. */
export function errnoOf(error: unknown): string | null {
  const isSystemError = error instanceof Error && 'syscall' in error && 'code' in error;
  return isSystemError && typeof error.code === 'string' ? error.code : null;
}

export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === BUSY;
}

/** The file cannot be opened or written by this process at all. */
export function isInaccessible(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === CANNOT_OPEN || code === READONLY || code === PERMISSION;
}

/**
 * What the caller of a store method gets. `isDiskFull` is asked on an I/O error, whose code does not tell a full
 * disk from a broken one. Errors that are not SQLite's pass unchanged.
 */
export function toStoreError(error: unknown, isDiskFull: () => boolean): unknown {
  const code = sqliteCode(error);
  if (code === null) return error;
  if (code === FULL || (code === IO && isDiskFull())) return storeError('disk_full', error);
  if (code === CORRUPT || code === NOT_A_DATABASE) return storeError('corrupt', error);
  return storeError('unavailable', error);
}

const MESSAGES = {
  disk_full: 'the disk is full: free some space in the data directory; writing resumes by itself',
  corrupt: 'the database is damaged: stop the server, keep a copy of the data directory, restore the last backup',
  unavailable: 'the database cannot be used just now',
} satisfies Partial<Record<StoreErrorCode, string>>;

function storeError(code: keyof typeof MESSAGES, cause: unknown): StoreError {
  // A command has no log, so the message says what SQLite said.
  const said = code === 'unavailable' ? `: ${(cause as Error).message}` : '';
  return new StoreError(code, `${MESSAGES[code]}${said}`, { cause });
}
