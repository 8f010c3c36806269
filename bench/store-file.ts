// The embedded store's file while its service is stopped: for rows that would take hours to make through the API.
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Of the key that a first start prints: `test` (see the schema). */
export const ENVIRONMENT = 2;

const CACHE_KIB = 400_000;

/**
 * Without journal and fsync while it is filled; what was written is on disk when this returns, so that the system does
 * not write it back while something is measured.
 */
export function fillStoreFile(dataDir: string, fill: (db: DatabaseSync) => void): void {
  const path = join(dataDir, 'postrider.db');
  const db = new DatabaseSync(path);
  db.exec(`
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA cache_size = -${CACHE_KIB};
    PRAGMA temp_store = MEMORY;
  `);
  fill(db);
  // As it was; the service would set it anyway.
  db.exec('PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL');
  db.close();
  const file = openSync(path, 'r+');
  fsyncSync(file);
  closeSync(file);
}

/** What stands for a destination in rows. */
export function destinationKeys(db: DatabaseSync): number[] {
  return db
    .prepare('SELECT key FROM destinations WHERE environment = ? AND deleted_at IS NULL ORDER BY key')
    .all(ENVIRONMENT)
    .map((row) => Number(row['key']));
}

/** Every destination that is not deleted, with one of its subscriptions. */
export function readRecipients(db: DatabaseSync): { key: number; shard: number; subscriptionId: Uint8Array }[] {
  const rows = db
    .prepare(
      `SELECT t.key, t.id, min(s.id) AS subscription FROM destinations t JOIN subscriptions s ON s.destination = t.key
       WHERE t.environment = ? AND t.deleted_at IS NULL GROUP BY t.key ORDER BY t.key`,
    )
    .all(ENVIRONMENT) as { key: number; id: Uint8Array; subscription: Uint8Array }[];
  return rows.map(({ key, id, subscription }) => ({ key, shard: id[9]!, subscriptionId: subscription }));
}
