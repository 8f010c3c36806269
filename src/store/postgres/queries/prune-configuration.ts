// Idempotency keys whose window has ended, and tombstones that nobody needs any more.
import { formatId, idShard } from '../../../model/id.ts';
import type { WriteContext } from '../context.ts';
import { batchStatement, statement } from '../statement.ts';

type KeyRow = { shard: number; environment: number; key: string };

// of every shard
const SELECT_EXPIRED_KEYS = statement<KeyRow>(
  'idempotency_expired',
  'SELECT shard, environment, key FROM idempotency WHERE expires_at <= $1::int8 ORDER BY expires_at LIMIT $2::int4',
);

// It may have been taken over since.
const DELETE_KEYS = batchStatement<never>(
  'idempotency_delete',
  { environment: 'int4', key: 'text' },
  ({ rows, inShard, next }) => `
    DELETE FROM idempotency i USING ${rows}
    WHERE ${inShard('i')} AND i.environment = r.environment AND i.key = r.key AND i.expires_at <= $${next}::int8`,
);

const DELETE_SUBSCRIPTIONS = statement<never>(
  'subscriptions_delete_tombstones',
  `DELETE FROM subscriptions WHERE id IN
     (SELECT id FROM subscriptions WHERE deleted_at < $1::int8 ORDER BY deleted_at LIMIT $2::int4)`,
);

const SELECT_TOMBSTONES = statement<{ id: Uint8Array }>(
  'destinations_tombstones',
  'SELECT id FROM destinations WHERE deleted_at < $1::int8 ORDER BY deleted_at LIMIT $2::int4',
);

// Every delivery to a destination is of an event older than its deletion, so those are gone by now as a rule. The age
// also leaves whoever follows the configuration time to hear of the deletion.
const DELETE_TOMBSTONE = statement<never>(
  'destinations_delete_tombstone',
  `DELETE FROM destinations t
   WHERE t.id = $1
     AND NOT EXISTS (SELECT 1 FROM open_deliveries d WHERE d.shard = $2::int2 AND d.destination_id = $1)
     AND NOT EXISTS (SELECT 1 FROM done_deliveries d WHERE d.shard = $2::int2 AND d.destination_id = $1)`,
);

export function deleteExpiredKeys(
  { write }: WriteContext,
  { now, limit }: { now: number; limit: number },
): Promise<number | null> {
  return write(async (tx) => {
    const rows = await tx.run(SELECT_EXPIRED_KEYS, [now, limit]);
    if (rows.length === 0) return tx.refuse(null);
    void tx.batch(
      DELETE_KEYS,
      rows.map(({ shard, environment, key }) => [shard, environment, key]),
      [now],
    );
    return rows.length;
  });
}

export function deleteTombstones(
  { write }: WriteContext,
  { cutoff, limit }: { cutoff: number; limit: number },
): Promise<number | null> {
  return write(async (tx) => {
    const subscriptions = await tx.change(DELETE_SUBSCRIPTIONS, [cutoff, limit]);
    const tombstones = await tx.run(SELECT_TOMBSTONES, [cutoff, limit]);
    const deleted = await Promise.all(
      tombstones.map(({ id }) => tx.change(DELETE_TOMBSTONE, [id, idShard(formatId('dst', id))])),
    );
    const total = deleted.reduce((sum, one) => sum + one, subscriptions);
    return total === 0 ? tx.refuse(null) : total;
  });
}
