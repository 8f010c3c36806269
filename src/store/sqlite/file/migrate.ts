// Brings a database to the schema this program knows: numbered SQL files, forward only, each in one transaction
// with the number it leaves in `user_version`. So a crash leaves a whole older schema, and the next start goes on.
import { readFileSync, readdirSync } from 'node:fs';
import { StoreError } from '../../store.ts';
import { readNumber, writeTransaction, type Database } from './database.ts';
import { hasOldKeys, hashOldKeys } from './key-hash.ts';

const MIGRATIONS = new URL('../migrations/', import.meta.url);

type Migration = { version: number; sql: string };

/** In order; the number in a file's name is the schema version it leads to. */
function readMigrations(): Migration[] {
  return readdirSync(MIGRATIONS)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({ version: Number.parseInt(name, 10), sql: readFileSync(new URL(name, MIGRATIONS), 'utf8') }));
}

/** Throws `newer_schema` or `corrupt` for a database that is not ours to change. Changes nothing. */
export function assertKnownSchema(db: Database, path: string): void {
  const version = readNumber(db, 'PRAGMA user_version');
  const known = readMigrations().at(-1)!.version;
  if (version > known) {
    throw new StoreError(
      'newer_schema',
      `${path} has schema ${version}, this program knows up to ${known}: run the newer program again, ` +
        'or restore a backup made with this one',
    );
  }
  if (version === 0) {
    throw new StoreError(
      'corrupt',
      `${path} is not a Postrider database: move it away, or set another POSTRIDER_DATA_DIR`,
    );
  }
}

/** Of one that `assertKnownSchema` lets pass. */
export function hasLatestSchema(db: Database): boolean {
  return readNumber(db, 'PRAGMA user_version') === readMigrations().at(-1)!.version && !hasOldKeys(db);
}

export function migrate(db: Database): void {
  for (const migration of readMigrations()) {
    writeTransaction(db, () => {
      // Read inside the transaction: a command started at the same moment may have been first.
      if (readNumber(db, 'PRAGMA user_version') >= migration.version) return;
      db.exec(migration.sql);
      db.exec(`PRAGMA user_version = ${migration.version}`);
    });
  }
  // Has no number: stores had the latest one before this was there.
  writeTransaction(db, () => {
    if (hasOldKeys(db)) hashOldKeys(db);
  });
}
