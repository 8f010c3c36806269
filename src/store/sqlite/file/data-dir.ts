// The directory that everything is kept in. What is made in it is its owner's alone, as the directory is, should that
// have been made by somebody else: event bodies are in there as they came.
import { accessSync, closeSync, constants, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { StoreError } from '../../store.ts';
import { errnoOf } from '../errors.ts';

const DATABASE = 'postrider.db';
const MASTER_KEY = 'master.key';
const LOCK = 'server.lock';
export const WRITE_AHEAD_LOG = `${DATABASE}-wal`;

export const databasePath = (dataDir: string): string => join(dataDir, DATABASE);
export const masterKeyPath = (dataDir: string): string => join(dataDir, MASTER_KEY);
export const lockPath = (dataDir: string): string => join(dataDir, LOCK);

/** What a server has open from its start to its end: the database, its log, the log's index, and the lock. */
export const SERVED_FILES = [DATABASE, WRITE_AHEAD_LOG, `${DATABASE}-shm`, LOCK] as const;

/**
 * To be asked before anything is made there, by whatever is to work on a store that is in use: a slip in the path must
 * not make a store that no service knows.
 */
export function assertStoreIsThere(dataDir: string): void {
  const path = databasePath(dataDir);
  try {
    assertOpenable(path);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === null) throw error;
    // Another user's directory says nothing of what is in it.
    if (errno !== 'ENOENT' && errno !== 'ENOTDIR') throw unwritable(path, error);
    throw new StoreError('missing', `there is no store in ${resolve(dataDir)}`);
  }
}

/**
 * Before this process has the database open. SQLite would take the log beside an empty one for an old log, and remove
 * that; and the log beside a backup for the backup's own, and mix what the two hold.
 */
export function assertOpenable(path: string): void {
  if (statSync(path).size === 0) {
    throw new StoreError(
      'corrupt',
      `${path} is empty: the database that was there is lost. Restore a backup; or, to begin anew with nothing, ` +
        `remove ${path}`,
    );
  }
  const log = `${path}-wal`;
  // In this order: one that is put to its first use meanwhile says that it has a log before there is one.
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0 || hasLog(path)) return;
  throw new StoreError(
    'corrupt',
    `${path} is a backup, and ${log} beside it is of the database that was there before: put that database back, or ` +
      `remove ${log} and ${path}-shm`,
  );
}

/** Where a database's header has its "file format read version", and what that is once it is written through a log. */
const FORMAT_AT = 19;
const FORMAT_WITH_LOG = 2;

function hasLog(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const format = Buffer.alloc(1);
    readSync(file, format, 0, 1, FORMAT_AT);
    return format[0] === FORMAT_WITH_LOG;
  } finally {
    closeSync(file);
  }
}

/** Makes the directory, and what is missing above it. Throws `unwritable` unless files can be made in it. */
export function createDataDir(dataDir: string): void {
  try {
    createDirectory(dataDir);
    accessSync(dataDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unwritable(dataDir, error);
  }
}

/** Throws `unwritable` unless this user may write the file, which is there. */
export function assertWritable(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw unwritable(path, error);
  }
}

/** Why something could not be made or written at `path`, and what to do. */
export function unwritable(path: string, cause: unknown): StoreError {
  const errno = errnoOf(cause);
  if (errno === 'ENOSPC' || errno === 'EDQUOT') return noRoom(path, cause);
  const remedy =
    errno === 'EROFS'
      ? 'its file system is mounted read-only: mount it for writing'
      : 'give this user the right to write there';
  return new StoreError('unwritable', `cannot write ${path}: ${remedy}, or set another POSTRIDER_DATA_DIR`, { cause });
}

/** Of a start, which ends with it. */
export function noRoom(path: string, cause: unknown): StoreError {
  return new StoreError('disk_full', `there is no room for ${path}: free some space, then start again`, { cause });
}

const GROUP_AND_OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o022;

/** What lets other users of this machine read the data, or put something else in their place. */
export function findLoosePermissions(dataDir: string): string[] {
  const found: string[] = [];
  const look = (path: string, loose: number, why: string, mode: string): void => {
    const bits = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
    if ((bits & loose) === 0) return;
    found.push(`${path} has mode ${bits.toString(8).padStart(4, '0')}, ${why}: chmod ${mode} ${path}`);
  };
  look(dataDir, WRITABLE_BY_OTHERS, 'so other users may replace what is in it', '700');
  look(masterKeyPath(dataDir), GROUP_AND_OTHERS, 'and it opens every signing secret', '600');
  look(databasePath(dataDir), GROUP_AND_OTHERS, 'and every event is in it', '600');
  return found;
}

// By hand, because Node's own `recursive` never returns for a path where nothing can be made (in /proc).
function createDirectory(path: string): void {
  try {
    makeUnlessExists(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    createDirectory(dirname(path));
    makeUnlessExists(path);
  }
}

function makeUnlessExists(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}
