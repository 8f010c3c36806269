// By what an idempotency key is found. It is stored: another hash, and no key of a store is found again.
import { hash } from 'node:crypto';
import type { Database } from './database.ts';

const HASH_BYTES = 6;

export function hashKey(key: string): number {
  return hash('sha256', key, 'buffer').readUIntBE(0, HASH_BYTES);
}

/** The first stores found a key by the key itself. */
export function hasOldKeys(db: Database): boolean {
  return db.prepare(`SELECT 1 FROM pragma_table_info('idempotency') WHERE name = 'key_hash'`).get() === undefined;
}

/** What SQL alone cannot do. Inside a transaction. */
export function hashOldKeys(db: Database): void {
  db.function('hash_key', { deterministic: true }, (key) => BigInt(hashKey(String(key))));
  db.exec(`
    ALTER TABLE idempotency RENAME TO idempotency_by_key;
    CREATE TABLE idempotency (
      key_hash    INTEGER NOT NULL,
      environment INTEGER NOT NULL,
      key         TEXT NOT NULL,
      event_id    BLOB NOT NULL,
      fingerprint BLOB NOT NULL,
      expires_at  INTEGER NOT NULL
    ) STRICT;
    INSERT INTO idempotency (key_hash, environment, key, event_id, fingerprint, expires_at)
      SELECT hash_key(key), environment, key, event_id, fingerprint, expires_at FROM idempotency_by_key
      ORDER BY expires_at;
    DROP TABLE idempotency_by_key;
    CREATE INDEX idempotency_by_hash ON idempotency (key_hash);
  `);
}
