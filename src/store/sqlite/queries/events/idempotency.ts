// Idempotency keys: who holds one, and taking one that is free. Found by a hash, whose index takes a seventh of the
// pages that the keys themselves would: keys are random, so every page of it is written to all the time.
import { formatId } from '../../../../model/id.ts';
import type { KeyHolder } from '../../../store.ts';
import type { Read, ReadContext } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { hashKey } from '../../file/key-hash.ts';

type HolderRow = { rowid: number; event_id: Uint8Array; fingerprint: Uint8Array; expires_at: number };

type KeyClaim = {
  environment: number;
  key: string;
  eventId: Uint8Array;
  fingerprint: Uint8Array;
  expiresAt: number;
  now: number;
};

const SELECT_HOLDER = statement<HolderRow>(`
  SELECT rowid, event_id, fingerprint, expires_at FROM idempotency
  WHERE key_hash = ? AND environment = ? AND key = ?`);

const INSERT = statement(`
  INSERT INTO idempotency (key_hash, environment, key, event_id, fingerprint, expires_at) VALUES (?, ?, ?, ?, ?, ?)`);

const DELETE = statement('DELETE FROM idempotency WHERE rowid = ?');

export const readKeyHolder: Read<'readKeyHolder'> = ({ sql, read }, { environment, key, now }) =>
  read(() => {
    const holder = sql(SELECT_HOLDER).get(hashKey(key), environment, key);
    return holder === undefined || holder.expires_at <= now ? null : toHolder(holder);
  });

/** Null: the key was free, or its window has ended; it is this event's now. To be called inside a transaction. */
export function claimKey({ sql }: Pick<ReadContext, 'sql'>, claim: KeyClaim): KeyHolder | null {
  const { environment, key, eventId, fingerprint, expiresAt, now } = claim;
  const keyHash = hashKey(key);
  const holder = sql(SELECT_HOLDER).get(keyHash, environment, key);
  if (holder !== undefined && holder.expires_at > now) return toHolder(holder);
  // A new row, not a changed one: pruning relies on the order of expiry. (PostgreSQL finds expired keys by an index.)
  if (holder !== undefined) sql(DELETE).run(holder.rowid);
  sql(INSERT).run(keyHash, environment, key, eventId, fingerprint, expiresAt);
  return null;
}

function toHolder(row: HolderRow): KeyHolder {
  return { eventId: formatId('evt', row.event_id), fingerprint: row.fingerprint };
}
