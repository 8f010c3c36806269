// What happens to a database before anything uses it: one that is there is looked at first, and refused unchanged if it
// is empty, damaged, beside another's log, newer than this program, or sealed under another master key. One that is not
// there gets its name when it is whole: so an empty file is never a first start that was cut off, but always a database
// that was lost.
import { existsSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Random } from '../../../runtime/random.ts';
import type { Sealer } from '../../../runtime/sealer.ts';
import { StoreError } from '../../store.ts';
import { assertOpenable, assertWritable, noRoom, unwritable } from './data-dir.ts';
import { openDatabase, prepare, type Database } from './database.ts';
import { isDiskFull } from './write-checks.ts';
import { publishFile, writeNewFile } from './durable-file.ts';
import { errnoOf, isInaccessible, toStoreError } from '../errors.ts';
import type { FileLock } from './file-lock.ts';
import { assertKnownSchema, hasLatestSchema, migrate } from './migrate.ts';

const KEY_CHECK = 'key_check';
const KEY_CHECK_TEXT = 'postrider';

/**
 * Opens the database file at `path`, made if it is not there, ready for use. The caller closes it. `lockOut` is what
 * keeps servers away while the schema is changed, of a caller that has not taken the server's lock before.
 */
export function openPrepared(path: string, sealer: Sealer, lockOut?: () => FileLock): Database {
  return withOpenErrors(path, () => {
    if (!existsSync(path)) createDatabase(path, sealer);
    assertWritable(path);
    assertOpenable(path);
    return openWith(path, (db) => prepareExisting(db, path, sealer, lockOut));
  });
}

/** Errors of opening name the path and say what to do. */
export function withOpenErrors<Result>(path: string, open: () => Result): Result {
  try {
    return open();
  } catch (error) {
    throw explainOpening(path, error);
  }
}

function explainOpening(path: string, error: unknown): unknown {
  if (errnoOf(error) !== null) return unwritable(path, error);
  const mapped = toStoreError(error, () => isDiskFull(dirname(path)));
  if (error instanceof StoreError || !(mapped instanceof StoreError)) return error;
  if (mapped.code === 'disk_full') return noRoom(path, error);
  if (isInaccessible(error)) return unwritable(path, error);
  // No log tells the cause of what keeps a server from starting.
  const what = mapped.code === 'corrupt' ? mapped.message : `cannot be opened: ${(error as Error).message}`;
  return new StoreError(mapped.code, `${path}: ${what}`, { cause: error });
}

function openWith(path: string, prepareIt: (db: Database) => void): Database {
  const db = openDatabase(path);
  try {
    prepareIt(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function prepareExisting(db: Database, path: string, sealer: Sealer, lockOut?: () => FileLock): void {
  assertKnownSchema(db, path);
  assertMasterKey(db, sealer);
  keepLog(db);
  if (hasLatestSchema(db)) return;
  // A server of an older version would go on with statements for a schema that is no longer there.
  const lock = lockOut?.();
  try {
    migrate(db);
  } finally {
    lock?.close();
  }
}

const FILES_BESIDE = ['-journal', '-wal', '-shm'];

function createDatabase(path: string, sealer: Sealer): void {
  const log = `${path}-wal`;
  if (existsSync(log)) {
    throw new StoreError(
      'corrupt',
      `${path} is missing beside its log ${log}: put it back, or restore a backup and remove the log`,
    );
  }
  const draft = `${path}.${process.pid}.new`;
  const removeDraft = (): void => {
    for (const suffix of ['', ...FILES_BESIDE]) rmSync(`${draft}${suffix}`, { force: true });
  };
  removeDraft();
  try {
    // SQLite fills the file that is there, whose mode all that it puts beside has too.
    writeNewFile(draft, '');
    openWith(draft, (db) => fillDatabase(db, sealer)).close();
    publishFile(draft, path);
  } finally {
    removeDraft();
  }
}

/** An empty one. */
export function fillDatabase(db: Database, sealer: Sealer): void {
  // Lets prune.ts give space back in small steps; can only be chosen before the first table. Keeping its page map costs
  // 2 % more written bytes and no time that could be measured.
  db.exec('PRAGMA auto_vacuum = INCREMENTAL');
  migrate(db);
  const value = sealer.seal(Buffer.from(KEY_CHECK_TEXT), KEY_CHECK);
  prepare(db, 'INSERT INTO meta (name, value) VALUES (?, ?)').run(KEY_CHECK, value);
  // Last, so that all before it is in the file, and not in a log.
  keepLog(db);
}

/** Writes only where the file does not say so yet: in a new one, or a backup that was put in place. */
function keepLog(db: Database): void {
  db.exec('PRAGMA journal_mode = WAL');
}

function assertMasterKey(db: Database, sealer: Sealer): void {
  const row = prepare<{ value: Uint8Array }>(db, 'SELECT value FROM meta WHERE name = ?').get(KEY_CHECK);
  if (row !== undefined && sealer.open(row.value, KEY_CHECK) !== null) return;
  throw new StoreError(
    'wrong_master_key',
    'the master key is not the one this database was made with: set POSTRIDER_MASTER_KEY, or restore master.key, as ' +
      'it was',
  );
}

const COPY_ID = 'copy_id';
const COPY_ID_BYTES = 16;

/** The name of what the store holds while a copy of it is under way. */
export function nameForCopying(db: Database, random: Random): string {
  const id = random.bytes(COPY_ID_BYTES);
  prepare(db, 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING').run(COPY_ID, id);
  const row = prepare<{ value: Uint8Array }>(db, 'SELECT value FROM meta WHERE name = ?').get(COPY_ID)!;
  return row.value.toHex();
}

/** By whoever serves the store again: copied rows may change from then on, so no such copy must be gone on with. */
export function forgetCopying(db: Database): void {
  prepare(db, 'DELETE FROM meta WHERE name = ?').run(COPY_ID);
}
