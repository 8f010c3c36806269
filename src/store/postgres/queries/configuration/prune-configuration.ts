// Idempotency keys whose window has ended, and tombstones that nobody needs any more.
import { formatId, idShard } from '../../../../model/id.ts';
import type { WriteContext } from '../../context.ts';
import { batchStatement, isOnly, statement, statementOfEveryShard } from '../../wire/statement.ts';
import { encodeArray } from '../../wire/values.ts';
import type { Pass, Step } from '../maintenance/steps.ts';
import { DELETE_HEALTH } from './destinations.ts';

type KeyRow = { shard: number; environment: number; key: string };

const SELECT_EXPIRED_KEYS = statementOfEveryShard<KeyRow & { expires_at: number }>(
  'idempotency_expired',
  `SELECT shard, environment, key, expires_at FROM idempotency
   WHERE expires_at >= $1::int8 AND expires_at <= $2::int8 ORDER BY expires_at LIMIT $3::int4`,
);

// It may have been taken over since.
const DELETE_KEYS = batchStatement<never>(
  'idempotency_delete',
  { environment: 'int4', key: 'text' },
  ({ rows, inShard, next }) => `
    DELETE FROM idempotency i USING ${rows}
    WHERE ${inShard('i')} AND i.environment = r.environment AND i.key = r.key AND i.expires_at <= $${next}::int8`,
);

const SELECT_SUBSCRIPTIONS = statement<{ id: Uint8Array }>(
  'subscriptions_tombstones',
  'SELECT id FROM subscriptions WHERE deleted_at < $1::int8 ORDER BY deleted_at LIMIT $2::int4',
);

// By their ids: of a table that Citus keeps on several machines each chooses for itself what a LIMIT leaves out, and
// they would no longer be the same.
const DELETE_SUBSCRIPTIONS = statement<never>(
  'subscriptions_delete_tombstones',
  'DELETE FROM subscriptions WHERE id = ANY ($1::uuid[])',
);

const SELECT_TOMBSTONES = statement<{ id: Uint8Array }>(
  'destinations_tombstones',
  'SELECT id FROM destinations WHERE deleted_at < $1::int8 ORDER BY deleted_at LIMIT $2::int4',
);

// Every delivery to a destination is of an event older than its deletion, so those are gone by now as a rule. The age
// also leaves whoever follows the configuration time to hear of the deletion.
const SELECT_USE = statement<{ used: number }>(
  'destinations_use',
  ['open_deliveries', 'done_deliveries']
    .map(
      (table) => `
    (SELECT 1 AS used FROM ${table}
     WHERE shard = $1::int2 AND ${isOnly('destination_id', '$2::uuid')} ORDER BY destination_id LIMIT 1)`,
    )
    .join(' UNION ALL '),
);

const DELETE_TOMBSTONE = statement<never>('destinations_delete_tombstone', 'DELETE FROM destinations WHERE id = $1');

export function createKeyDeletion(
  { write }: WriteContext,
  { now, limit, pass }: { now: number; limit: number; pass: Pass },
): Step {
  return pass.step('idempotency', 0, (from) =>
    write(async (tx) => {
      const rows = await tx.run(SELECT_EXPIRED_KEYS, [from, now, limit]);
      if (rows.length === 0) return tx.refuse(null);
      const keys = rows.map(({ shard, environment, key }) => [shard, environment, key] as const);
      void tx.batch(DELETE_KEYS, keys, [now]);
      return { changed: rows.length, last: rows.at(-1)!.expires_at };
    }),
  );
}

export function deleteTombstones(
  { write }: WriteContext,
  { cutoff, limit }: { cutoff: number; limit: number },
): Promise<number | null> {
  return write(async (tx) => {
    const [subscriptions, tombstones] = await Promise.all([
      tx.run(SELECT_SUBSCRIPTIONS, [cutoff, limit]),
      tx.run(SELECT_TOMBSTONES, [cutoff, limit]),
    ]);
    if (subscriptions.length > 0) {
      const ids = subscriptions.map(({ id }) => id);
      void tx.change(DELETE_SUBSCRIPTIONS, [encodeArray('uuid', ids)]);
    }
    const uses = await Promise.all(tombstones.map(({ id }) => tx.run(SELECT_USE, [idShard(formatId('dst', id)), id])));
    const unused = tombstones.filter((_, i) => uses[i]!.length === 0);
    for (const { id } of unused) {
      // A result that was being recorded while the destination was deleted may have left its health behind.
      void tx.change(DELETE_HEALTH, [idShard(formatId('dst', id)), id]);
      void tx.change(DELETE_TOMBSTONE, [id]);
    }
    const total = subscriptions.length + unused.length;
    return total === 0 ? tx.refuse(null) : total;
  });
}
