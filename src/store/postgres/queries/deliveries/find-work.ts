// Finding what is to be sent: which destinations have work, their next deliveries, and the bodies to send.
import { formatId, idBytes, idShard, ALL_SHARDS } from '../../../../model/id.ts';
import { FORCED_DUE_AT } from '../../../../model/delivery.ts';
import { ID_BYTES_MIN } from '../../../rows/codec.ts';
import { toOpenDelivery, type OpenRow } from '../../../rows/delivery-rows.ts';
import type { Refill, RefillRequest, SweepPage } from '../../../store.ts';
import type { Read } from '../../context.ts';
import { batchStatement, statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { encodeArray } from '../../wire/values.ts';
import { keyOf } from './delivery-tables.ts';
import { SELECT_PAYLOADS } from '../events/event-rows.ts';

// One seek for each destination: its earliest unfinished delivery, whatever lies behind that.
const SELECT_NEXT_DESTINATIONS = statement<{ destination_id: Uint8Array; due_at: number; deleted_at: number | null }>(
  'sweep_shard',
  `WITH RECURSIVE next AS (
     (SELECT 1 AS nth, destination_id, due_at FROM open_deliveries
      WHERE shard = $1::int2 AND destination_id > $2 ORDER BY destination_id, due_at LIMIT 1)
     UNION ALL
     SELECT next.nth + 1, found.destination_id, found.due_at FROM next, LATERAL
       (SELECT destination_id, due_at FROM open_deliveries
        WHERE shard = $1::int2 AND destination_id > next.destination_id ORDER BY destination_id, due_at LIMIT 1) found
     WHERE next.nth < $3::int4
   )
   SELECT next.destination_id, next.due_at, t.deleted_at
   FROM next LEFT JOIN destinations t ON t.id = next.destination_id
   ORDER BY next.nth`,
);

// Forced ones, then those from the bound on: until vacuum the index keeps entries of deliveries that have gone, which
// are the earliest. Past 300,000 of them a refill read 2,515 buffers, and 9,036 beside an old snapshot (a pg_dump);
// from a bound on it reads 41. What is excluded is hashed once for all destinations: compared one by one, a thousand
// ids on the wire would be looked through for each row.
const SELECT_IN_ORDER = batchStatement<OpenRow & { place: number }>(
  'refill',
  { place: 'int4', destination_id: 'uuid', due_from: 'int8', count: 'int4' },
  ({ rows, inShard, next }) => {
    const open = `
      SELECT d.id, d.environment, d.event_id, d.rev, d.attempt_count, d.status, d.dead_reason, d.completed_at,
             d.due_at, d.scheduled_at, d.fallback_status, d.schedule_position
      FROM open_deliveries d
      WHERE ${inShard('d')} AND d.destination_id = r.destination_id
        AND d.id NOT IN (SELECT held FROM unnest($${next}::uuid[]) AS held)
        AND EXISTS (SELECT 1 FROM destinations t WHERE t.id = r.destination_id AND t.deleted_at IS NULL)`;
    return `
      SELECT r.place, found.* FROM ${rows}, LATERAL
        ((${open} AND d.due_at = ${FORCED_DUE_AT} ORDER BY d.due_at, d.id LIMIT r.count)
         UNION ALL
         (${open} AND d.due_at >= greatest(r.due_from, 1) ORDER BY d.due_at, d.id LIMIT r.count)
         ORDER BY due_at, id LIMIT r.count) AS found
      ORDER BY r.place, found.due_at, found.id`;
  },
);

/** How many shards are asked at once: what they find beyond the page's limit is found again for the next. */
const SHARDS_TOGETHER = 4;

type Found = SweepPage['destinations'][number] & { position: string };

export const sweep: Read<'sweep'> = ({ read }, { after, limit, shards = ALL_SHARDS }) =>
  read(async (tx) => {
    const found: Found[] = [];
    const from = parsePosition(after);
    const left = shards.filter((shard) => shard >= from.shard).sort((a, b) => a - b);
    while (left.length > 0 && found.length < limit) {
      const missing = limit - found.length;
      const pages = left.splice(0, SHARDS_TOGETHER).map((shard) => {
        const first = shard === from.shard ? from.destination : ID_BYTES_MIN;
        return sweepShard(tx, shard, { after: first, limit: missing });
      });
      found.push(...(await Promise.all(pages)).flat());
    }
    return toSweepPage(found, limit, left.length === 0);
  });

export const refill: Read<'refill'> = ({ look }, requests) =>
  look(async (tx) => {
    const rows = requests.map(
      ({ destinationId: id, dueFrom, limit }, place) => [idShard(id), place, idBytes(id), dueFrom, limit + 1] as const,
    );
    const held = requests.flatMap(({ exclude }) => exclude.map((id) => idBytes(id)));
    const found = await tx.batch(SELECT_IN_ORDER, rows, [encodeArray('uuid', held)]);
    const byPlace = Map.groupBy(found, ({ place }) => place);
    return requests.map((request, place) => toRefill(request, byPlace.get(place) ?? []));
  });

export const readPayloads: Read<'readPayloads'> = ({ look, horizons }, eventIds) => {
  const ids = eventIds.filter((id) => !horizons.hides('bodies', id));
  return look(async (tx) => {
    const found = await tx.batch(SELECT_PAYLOADS, [...new Set(ids)].map(keyOf));
    return found.map(({ id, type, occurred_at: occurredAt, traceparent, body }) => {
      return { id: formatId('evt', id), type, occurredAt, traceparent, body };
    });
  });
};

/** All of a shard from there on, up to the limit of those that are not deleted. */
async function sweepShard(tx: Tx, shard: number, { after, limit }: { after: Uint8Array; limit: number }) {
  const found: Found[] = [];
  for (let last = after; found.length < limit;) {
    const rows = await tx.run(SELECT_NEXT_DESTINATIONS, [shard, last, limit]);
    for (const row of rows.filter(({ deleted_at: deletedAt }) => deletedAt === null)) {
      const destinationId = formatId('dst', row.destination_id);
      found.push({ destinationId, dueAt: row.due_at, position: `${shard}:${row.destination_id.toHex()}` });
    }
    if (rows.length < limit) return found;
    last = rows.at(-1)!.destination_id;
  }
  return found;
}

function toSweepPage(found: Found[], limit: number, isEnd: boolean): SweepPage {
  const shown = found.slice(0, limit);
  const hasMore = found.length > limit || !isEnd || found.length === limit;
  return {
    destinations: shown.map(({ destinationId, dueAt }) => ({ destinationId, dueAt })),
    next: hasMore && shown.length > 0 ? shown.at(-1)!.position : null,
  };
}

function parsePosition(after: string | null): { shard: number; destination: Uint8Array } {
  if (after === null) return { shard: 0, destination: ID_BYTES_MIN };
  const [shard, destination] = after.split(':') as [string, string];
  return { shard: Number(shard), destination: Uint8Array.fromHex(destination) };
}

function toRefill({ destinationId, dueBy, limit }: RefillRequest, rows: readonly OpenRow[]): Refill {
  const isDue = rows.map((row) => row.due_at <= dueBy);
  const end = Math.min(limit, isDue.includes(false) ? isDue.indexOf(false) : rows.length);
  return {
    destinationId,
    deliveries: rows.slice(0, end).map((row) => toOpenDelivery(row, destinationId)),
    nextDueAt: rows[end]?.due_at ?? null,
  };
}
