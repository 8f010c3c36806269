// Destinations and signing keys between rows and values. Header values and signing secrets are sealed here and
// nowhere else, each bound to its row.
import type { Destination, DestinationWithKeys, SigningKey } from '../../../model/destination.ts';
import { formatId, idBytes } from '../../../model/id.ts';
import type { DestinationId, SigningKeyId } from '../../../model/id.ts';
import type { RetryPolicy } from '../../../model/retry-policy.ts';
import type { Sealer } from '../../../runtime/sealer.ts';
import { StoreError } from '../../store.ts';
import { destinationStatusCode, nameOrNull, pausedReasonCode } from '../codec.ts';
import { prepare } from '../database.ts';
import type { Database } from '../database.ts';

export type DestinationRow = {
  key: number;
  id: Uint8Array;
  environment: number;
  url: string;
  name: string | null;
  status: number;
  paused_reason: number | null;
  retry_policy: string | null;
  max_in_flight: number;
  rate_per_second: number | null;
  headers: Uint8Array | null;
  metadata: string;
  created_at: number;
  updated_at: number;
  deleted_at: number | null;
};

export const DESTINATION_COLUMNS = `
  key, id, environment, url, name, status, paused_reason, retry_policy, max_in_flight, rate_per_second, headers,
  metadata, created_at, updated_at, deleted_at`;

export function toDestination(row: DestinationRow, sealer: Sealer): Destination {
  const id = formatId('dst', row.id);
  return {
    id,
    environment: row.environment,
    url: row.url,
    name: row.name,
    status: destinationStatusCode.nameOf(row.status),
    pausedReason: nameOrNull(pausedReasonCode, row.paused_reason),
    retryPolicy: row.retry_policy === null ? null : (JSON.parse(row.retry_policy) as RetryPolicy),
    maxInFlight: row.max_in_flight,
    ratePerSecond: row.rate_per_second,
    headers: openHeaders(row.headers, id, sealer),
    metadata: row.metadata,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export function sealHeaders(headers: Record<string, string>, id: DestinationId, sealer: Sealer): Uint8Array | null {
  if (Object.keys(headers).length === 0) return null;
  return sealer.seal(Buffer.from(JSON.stringify(headers)), `headers of ${id}`);
}

function openHeaders(sealed: Uint8Array | null, id: DestinationId, sealer: Sealer): Record<string, string> {
  if (sealed === null) return {};
  const text = Buffer.from(openSealed(sealer, sealed, `headers of ${id}`)).toString();
  return JSON.parse(text) as Record<string, string>;
}

export interface SigningKeys {
  /** Newest first. */
  read(destination: number): SigningKey[];
  insert(destination: number, key: SigningKey): void;
  setExpiry(destination: number, id: SigningKeyId, expiresAt: number): void;
  remove(destination: number, id: SigningKeyId): void;
  removeAll(destination: number): void;
}

type SigningKeyRow = { id: Uint8Array; secret: Uint8Array; created_at: number; expires_at: number | null };

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
    read: (destination) => select.all(destination).map((row) => toSigningKey(row, sealer)),
    insert(destination, key) {
      const secret = sealer.seal(key.secret, `secret of ${key.id}`);
      insert.run(destination, idBytes(key.id), secret, key.createdAt, key.expiresAt);
    },
    setExpiry: (destination, id, expiresAt) => void setExpiry.run(expiresAt, destination, idBytes(id)),
    remove: (destination, id) => void remove.run(destination, idBytes(id)),
    removeAll: (destination) => void removeAll.run(destination),
  };
}

export function withKeys(row: DestinationRow, keys: SigningKeys, sealer: Sealer): DestinationWithKeys {
  return { ...toDestination(row, sealer), signingKeys: keys.read(row.key) };
}

function toSigningKey(row: SigningKeyRow, sealer: Sealer): SigningKey {
  const id = formatId('sgk', row.id);
  return {
    id,
    secret: openSealed(sealer, row.secret, `secret of ${id}`),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

function openSealed(sealer: Sealer, sealed: Uint8Array, context: string): Uint8Array {
  const opened = sealer.open(sealed, context);
  // The master key itself was checked at open, so the row is damaged.
  if (opened === null) throw new StoreError('corrupt', `the ${context} cannot be read: restore the last backup`);
  return opened;
}
