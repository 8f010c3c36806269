// Idempotency keys: who holds one, and taking one that is free. Found by a hash, whose index takes a seventh of the
// pages that the keys themselves would: keys are random, so every page of it is written to all the time.
import { hash } from 'node:crypto';
import { formatId } from '../../../../model/id.ts';
import type { KeyHolder } from '../../../store.ts';
import type { ReadContext } from '../../context.ts';
import type { Database } from '../../file/database.ts';
import { prepare } from '../../file/database.ts';

type HolderRow = { rowid: number; event_id: Uint8Array; fingerprint: Uint8Array; expires_at: number };

type KeyClaim = {
  environment: number;
  key: string;
  eventId: Uint8Array;
  fingerprint: Uint8Array;
  expiresAt: number;
  now: number;
};

/** Null: the key was free, or its window has ended; it is this event's now. To be called inside a transaction. */
type KeyClaimer = (claim: KeyClaim) => KeyHolder | null;

const HASH_BYTES = 6;

const SELECT_HOLDER = `
  SELECT rowid, event_id, fingerprint, expires_at FROM idempotency
  WHERE key_hash = ? AND environment = ? AND key = ?`;

const INSERT = `
  INSERT INTO idempotency (key_hash, environment, key, event_id, fingerprint, expires_at) VALUES (?, ?, ?, ?, ?, ?)`;

export function createKeyClaimer(db: Database): KeyClaimer {
  const selectHolder = prepare<HolderRow>(db, SELECT_HOLDER);
  const insert = prepare(db, INSERT);
  const remove = prepare(db, 'DELETE FROM idempotency WHERE rowid = ?');
  return ({ environment, key, eventId, fingerprint, expiresAt, now }) => {
    const keyHash = hashOf(key);
    const holder = selectHolder.get(keyHash, environment, key);
    if (holder !== undefined && holder.expires_at > now) return toHolder(holder);
    // A new row, not a changed one: pruning relies on the order of expiry.
    if (holder !== undefined) remove.run(holder.rowid);
    insert.run(keyHash, environment, key, eventId, fingerprint, expiresAt);
    return null;
  };
}

export function createKeyReads({ db, read }: ReadContext) {
  const selectHolder = prepare<HolderRow>(db, SELECT_HOLDER);
  return {
    readKeyHolder: ({ environment, key, now }: { environment: number; key: string; now: number }): KeyHolder | null =>
      read(() => {
        const holder = selectHolder.get(hashOf(key), environment, key);
        return holder === undefined || holder.expires_at <= now ? null : toHolder(holder);
      }),
  };
}

function toHolder(row: HolderRow): KeyHolder {
  return { eventId: formatId('evt', row.event_id), fingerprint: row.fingerprint };
}

function hashOf(key: string): number {
  return hash('sha256', key, 'buffer').readUIntBE(0, HASH_BYTES);
}
