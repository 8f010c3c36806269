// A destination's row as SQLite has it, and the signing keys that belong to it.
import type { DestinationWithKeys, SigningKey } from '../../../../model/destination.ts';
import { idBytes } from '../../../../model/id.ts';
import type { SigningKeyId } from '../../../../model/id.ts';
import type { Sealer } from '../../../../runtime/sealer.ts';
import { toDestination, toSigningKeys } from '../../../rows/destination-rows.ts';
import type { DestinationRow, SigningKeyRow } from '../../../rows/destination-rows.ts';
import { prepare } from '../../file/database.ts';
import type { Database } from '../../file/database.ts';

export type KeyedDestinationRow = DestinationRow & { key: number };

export const DESTINATION_COLUMNS = `
  key, id, environment, url, name, status, paused_reason, retry_policy, max_in_flight, rate_per_second, headers,
  metadata, created_at, updated_at, deleted_at`;

interface SigningKeys {
  /** Newest first. */
  read(destination: number): SigningKey[];
  insert(destination: number, key: SigningKey): void;
  setExpiry(destination: number, id: SigningKeyId, expiresAt: number): void;
  remove(destination: number, id: SigningKeyId): void;
  removeAll(destination: number): void;
}

const SELECT_KEYS = `
  SELECT id, secret, created_at, expires_at FROM signing_keys WHERE destination = ? ORDER BY id DESC`;

const INSERT_KEY = 'INSERT INTO signing_keys (destination, id, secret, created_at, expires_at) VALUES (?, ?, ?, ?, ?)';

export function createSigningKeys(db: Database, sealer: Sealer): SigningKeys {
  const select = prepare<SigningKeyRow>(db, SELECT_KEYS);
  const insert = prepare(db, INSERT_KEY);
  const setExpiry = prepare(db, 'UPDATE signing_keys SET expires_at = ? WHERE destination = ? AND id = ?');
  const remove = prepare(db, 'DELETE FROM signing_keys WHERE destination = ? AND id = ?');
  const removeAll = prepare(db, 'DELETE FROM signing_keys WHERE destination = ?');
  return {
    read: (destination) => toSigningKeys(select.all(destination), sealer),
    insert(destination, key) {
      const secret = sealer.seal(key.secret, `secret of ${key.id}`);
      insert.run(destination, idBytes(key.id), secret, key.createdAt, key.expiresAt);
    },
    setExpiry: (destination, id, expiresAt) => void setExpiry.run(expiresAt, destination, idBytes(id)),
    remove: (destination, id) => void remove.run(destination, idBytes(id)),
    removeAll: (destination) => void removeAll.run(destination),
  };
}

export function withKeys(row: KeyedDestinationRow, keys: SigningKeys, sealer: Sealer): DestinationWithKeys {
  return { ...toDestination(row, sealer), signingKeys: keys.read(row.key) };
}
