// Idempotency keys: who holds one, and taking those that are free.
import { hash } from 'node:crypto';
import { formatId, idBytes, type EventId } from '../../../../model/id.ts';
import type { AcceptResult, NewEvent } from '../../../store.ts';
import type { Read } from '../../context.ts';
import { Overtaken, isWaitOver, keyLocked } from '../../wire/errors.ts';
import { batchStatement, statement, upsertStatement, type BatchRow } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { nameOf } from './locked-keys.ts';

type Holder = { environment: number; key: string; event_id: Uint8Array; fingerprint: Uint8Array; expires_at: number };
type Duplicate = Extract<AcceptResult, { result: 'duplicate' }>;

export const KEY_COLUMNS = {
  environment: 'int4',
  key: 'text',
  event_id: 'uuid',
  fingerprint: 'bytea',
  expires_at: 'int8',
} as const;

// DO NOTHING, not DO UPDATE, which fails when a key comes twice in the batch: then the first row takes it.
const TAKE_FREE = upsertStatement<{ event_id: Uint8Array }>('idempotency_take_free', KEY_COLUMNS, {
  into: 'idempotency',
  onConflict: 'ON CONFLICT DO NOTHING RETURNING event_id',
});

const SELECT_HOLDERS = batchStatement<Holder>(
  'idempotency_holders',
  { environment: 'int4', key: 'text' },
  ({ rows, inShard }) => `
    SELECT i.environment, i.key, i.event_id, i.fingerprint, i.expires_at FROM idempotency i JOIN ${rows}
    ON ${inShard('i')} AND i.environment = r.environment AND i.key = r.key`,
);

// Waits for a transaction that is taking it over too; then the condition is looked at once more.
const TAKE_OVER = statement<never>(
  'idempotency_take_over',
  `UPDATE idempotency SET event_id = $5, fingerprint = $6, expires_at = $7::int8
   WHERE shard = $1::int2 AND environment = $2::int4 AND key = $3 AND expires_at <= $4::int8`,
);

export const LIMIT_WAIT = statement<{ before: string }>(
  'idempotency_limit_wait',
  'SELECT current_setting($1::text) AS before, set_config($1::text, $2::text, true)',
);

type Claim = {
  shard: number;
  environment: number;
  key: string;
  eventId: EventId;
  fingerprint: Uint8Array;
  expiresAt: number;
  now: number;
};

export const readKeyHolder: Read<'readKeyHolder'> = ({ read }, { environment, key, now }) =>
  read(async (tx) => {
    const [row] = await tx.batch(SELECT_HOLDERS, [[shardOfKey(environment, key), environment, key]]);
    if (row === undefined || row.expires_at <= now) return null;
    return { eventId: formatId('evt', row.event_id), fingerprint: row.fingerprint };
  });

/**
 * For every event whose key another holds, that one. The keys of all others are theirs now, if they have one. Throws
 * StoreError `key_locked` when one of them is not to be had within `keyWaitMs`.
 */
export async function claimKeys(
  tx: Tx,
  events: readonly NewEvent[],
  { isDistributed, keyWaitMs }: { isDistributed: boolean; keyWaitMs: number },
): Promise<Map<EventId, Duplicate>> {
  const claims = sortedClaims(events);
  if (claims.length === 0) return new Map();
  // Citus waits for a row on the machine that has it, and what is set here for locks holds only here.
  const limit = isDistributed ? 'statement_timeout' : 'lock_timeout';
  const limiting = tx.run(LIMIT_WAIT, [limit, String(keyWaitMs)]);
  try {
    const duplicates = await claimAll(tx, claims);
    void tx.run(LIMIT_WAIT, [limit, (await limiting)[0]!.before]);
    return duplicates;
  } catch (error) {
    throw isWaitOver(error) ? keyLocked(error) : error;
  }
}

/**
 * In the order of the key, so that of two batches that share keys one waits for the other, and not both. Equal ones
 * stay in the order of the batch.
 */
export function sortedClaims(events: readonly NewEvent[]): Claim[] {
  return events.flatMap(toClaim).sort((a, b) => a.shard - b.shard || compare(a, b));
}

export function toClaimRow({ shard, environment, key, eventId, fingerprint, expiresAt }: Claim): BatchRow {
  return [shard, environment, key, idBytes(eventId), fingerprint, expiresAt];
}

async function claimAll(tx: Tx, claims: readonly Claim[]): Promise<Map<EventId, Duplicate>> {
  const taken = await tx.batch(TAKE_FREE, claims.map(toClaimRow));
  const mine = new Set(taken.map((row) => formatId('evt', row.event_id)));
  const others = claims.filter((claim) => !mine.has(claim.eventId));
  return others.length === 0 ? new Map() : meetHolders(tx, others);
}

async function meetHolders(tx: Tx, claims: readonly Claim[]): Promise<Map<EventId, Duplicate>> {
  const keys = claims.map(({ shard, environment, key }) => [shard, environment, key] as const);
  const holders = new Map((await tx.batch(SELECT_HOLDERS, keys)).map((row) => [nameOf(row), row]));
  const duplicates = new Map<EventId, Duplicate>();
  // One after the other: the first of the batch that finds an expired one takes it, and the next finds that.
  for (const claim of claims) {
    const holder = holders.get(nameOf(claim));
    // It was pruned since.
    if (holder === undefined) throw new Overtaken();
    if (holder.expires_at > claim.now) {
      const eventId = formatId('evt', holder.event_id);
      duplicates.set(claim.eventId, { result: 'duplicate', eventId, fingerprint: holder.fingerprint });
      continue;
    }
    const { shard, environment, key, now, fingerprint, expiresAt } = claim;
    const eventId = idBytes(claim.eventId);
    const taken = await tx.change(TAKE_OVER, [shard, environment, key, now, eventId, fingerprint, expiresAt]);
    if (taken === 0) throw new Overtaken();
    holders.set(nameOf(claim), { environment, key, event_id: eventId, fingerprint, expires_at: expiresAt });
  }
  return duplicates;
}

export function hasKey({ idempotencyKey, idempotency }: NewEvent): boolean {
  return idempotencyKey !== null && idempotency !== null;
}

function toClaim({ id, environment, idempotencyKey: key, idempotency, createdAt }: NewEvent): Claim[] {
  if (key === null || idempotency === null) return [];
  return [{ ...idempotency, shard: shardOfKey(environment, key), environment, key, eventId: id, now: createdAt }];
}

export function shardOfKey(environment: number, key: string): number {
  return hash('sha256', `${environment} ${key}`, 'buffer')[0]!;
}

function compare(a: Claim, b: Claim): number {
  const [one, other] = [nameOf(a), nameOf(b)];
  return one < other ? -1 : one > other ? 1 : 0;
}
