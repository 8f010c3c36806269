// What happens to a database before anything uses it: looked at first, and refused unchanged if it is damaged, newer
// than this program, or sealed under another master key; then brought to the current schema.
import type { Sealer } from '../../runtime/sealer.ts';
import { StoreError } from '../store.ts';
import { unwritable } from './data-dir.ts';
import { openDatabase, prepare } from './database.ts';
import type { Database } from './database.ts';
import { isInaccessible, toStoreError } from './errors.ts';
import { assertKnownSchema, migrate } from './migrate.ts';

const KEY_CHECK = 'key_check';
const KEY_CHECK_TEXT = 'postrider';

/** Opens the file at `path` (`:memory:` too), ready for use. The caller closes it. */
export function openPrepared(path: string, sealer: Sealer): Database {
  return withOpenErrors(path, () => {
    const db = openDatabase(path);
    try {
      prepareDatabase(db, path, sealer);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** Errors of opening name the path and say what to do. */
export function withOpenErrors<Result>(path: string, open: () => Result): Result {
  try {
    return open();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    if (isInaccessible(error)) throw unwritable(path, error);
    const mapped = toStoreError(error, () => false);
    if (!(mapped instanceof StoreError)) throw mapped;
    throw new StoreError(mapped.code, `${path}: ${mapped.message}`, { cause: error });
  }
}

function prepareDatabase(db: Database, path: string, sealer: Sealer): void {
  assertKnownSchema(db, path);
  assertMasterKey(db, sealer);
  // Lets prune.ts give space back in small steps; can only be chosen before the first table. Keeping its page map costs
  // 2 % more written bytes and no time that could be measured.
  db.exec('PRAGMA auto_vacuum = INCREMENTAL');
  db.exec('PRAGMA journal_mode = WAL');
  migrate(db);
  // Nothing is sealed before the check value is there, so a crash between the two does no harm.
  const value = sealer.seal(Buffer.from(KEY_CHECK_TEXT), KEY_CHECK);
  prepare(db, 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING').run(KEY_CHECK, value);
  // Of two first starts at the same moment with different keys the second must not go on.
  assertMasterKey(db, sealer);
}

function assertMasterKey(db: Database, sealer: Sealer): void {
  const hasMeta = prepare(db, "SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get() !== undefined;
  if (!hasMeta) return;
  const row = prepare<{ value: Uint8Array }>(db, 'SELECT value FROM meta WHERE name = ?').get(KEY_CHECK);
  if (row === undefined || sealer.open(row.value, KEY_CHECK) !== null) return;
  throw new StoreError(
    'wrong_master_key',
    'the master key is not the one this database was made with: set MASTER_KEY, or restore master.key, as it was',
  );
}
