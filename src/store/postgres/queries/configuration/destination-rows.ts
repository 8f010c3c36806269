// Destinations and their signing keys as PostgreSQL has them.
import type { Destination, DestinationWithKeys, SigningKey } from '../../../../model/destination.ts';
import { idBytes, type DestinationId } from '../../../../model/id.ts';
import type { Sealer } from '../../../../runtime/sealer.ts';
import {
  DESTINATION_COLUMNS,
  toDestination,
  toSigningKeys,
  type DestinationRow,
  type SigningKeyRow,
} from '../../../rows/destination-rows.ts';
import { statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { decodeText, encodeArray } from '../../wire/values.ts';

export const SELECT_DESTINATION = statement<DestinationRow>(
  'destinations_one',
  `SELECT ${DESTINATION_COLUMNS} FROM destinations WHERE id = $1 AND environment = $2::int4 AND deleted_at IS NULL`,
);

/** A change that touches nothing but what hangs on it. */
export const STAMP_DESTINATION = statement<never>(
  'destinations_stamp',
  'UPDATE destinations SET version = $2::int8 WHERE id = $1',
);

const HAS_COME = statement<unknown>(
  'destinations_has_come',
  'SELECT 1 FROM destinations WHERE id = $1 AND version >= $2::int8',
);

const SELECT_KEYS = statement<SigningKeyRow & { destination_id: Uint8Array }>(
  'signing_keys_select',
  `SELECT destination_id, id, secret, created_at, expires_at FROM signing_keys
   WHERE destination_id = ANY ($1::uuid[]) ORDER BY destination_id, id DESC`,
);

const INSERT_KEY = statement<never>(
  'signing_keys_insert',
  'INSERT INTO signing_keys (destination_id, id, secret, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)',
);

export function toOneDestination(row: DestinationRow, sealer: Sealer): Destination {
  return toDestination({ ...row, name: decodeText(row.name) }, sealer);
}

export async function withKeys(tx: Tx, rows: DestinationRow[], sealer: Sealer): Promise<DestinationWithKeys[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const keys = await tx.run(SELECT_KEYS, [encodeArray('uuid', ids)]);
  const byDestination = Map.groupBy(keys, (key) => key.destination_id.toHex());
  return rows.map((row) => {
    const own = byDestination.get(row.id.toHex()) ?? [];
    return { ...toOneDestination(row, sealer), signingKeys: toSigningKeys(own, sealer) };
  });
}

/** A change stamps the destination with its version; a later one shows that, too. */
export function provedByVersion(tx: Tx, id: DestinationId, version: number): void {
  tx.provedBy(HAS_COME, [idBytes(id), version]);
}

/** Newest first. */
export async function readKeys(tx: Tx, id: DestinationId, sealer: Sealer): Promise<SigningKey[]> {
  const rows = await tx.run(SELECT_KEYS, [encodeArray('uuid', [idBytes(id)])]);
  return toSigningKeys(rows, sealer);
}

export function insertKey(tx: Tx, id: DestinationId, key: SigningKey, sealer: Sealer): Promise<number> {
  const secret = sealer.seal(key.secret, `secret of ${key.id}`);
  return tx.change(INSERT_KEY, [idBytes(id), idBytes(key.id), secret, key.createdAt, key.expiresAt]);
}
