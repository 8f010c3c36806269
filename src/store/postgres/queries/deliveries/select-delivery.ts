// Deliveries as operators see them: a row of either table, with its event's type and its destination's state.
import { formatId } from '../../../../model/id.ts';
import type { DeliveryRow } from '../../../rows/delivery-rows.ts';
import type { Horizons } from '../../horizons.ts';
import { batchStatement, statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { encodeArray } from '../../wire/values.ts';
import { SHARED_NAMES, keyOf, type StoredDelivery } from './delivery-tables.ts';
import { SELECT_TYPES } from '../events/event-rows.ts';

/** What either table gives. */
export type ListedRow = Omit<StoredDelivery, 'shard'> & Pick<DeliveryRow, 'due_at' | 'fallback_status'>;

/** With what its event and its destination say. */
export type CompleteRow = ListedRow & DeliveryRow;

export const LISTED_OPEN = `${SHARED_NAMES}, due_at, fallback_status`;
export const LISTED_DONE = `${SHARED_NAMES}, NULL::int8 AS due_at, NULL::int2 AS fallback_status`;

// One statement, so that a delivery on its way from one table to the other is in exactly one of them.
const SELECT_ONE = statement<ListedRow>(
  'deliveries_one',
  `SELECT ${LISTED_OPEN} FROM open_deliveries WHERE shard = $1::int2 AND id = $2 AND environment = $3::int4
   UNION ALL
   SELECT ${LISTED_DONE} FROM done_deliveries WHERE shard = $1::int2 AND id = $2 AND environment = $3::int4`,
);

/** Those that are in the other table just now are left out. */
const selectMany = (table: 'open' | 'done', columns: string) =>
  batchStatement<ListedRow>(
    `deliveries_many_${table}`,
    { delivery_id: 'uuid' },
    ({ rows, inShard, next }) => `
      SELECT ${columns} FROM ${rows}
      JOIN ${table}_deliveries d ON ${inShard('d')} AND d.id = r.delivery_id AND d.environment = $${next}::int4`,
  );

export const SELECT_MANY_OPEN = selectMany('open', LISTED_OPEN);
export const SELECT_MANY_DONE = selectMany('done', LISTED_DONE);

type DestinationState = Pick<DeliveryRow, 'is_paused' | 'deleted_at' | 'held_until'>;

const SELECT_DESTINATIONS = statement<Omit<DestinationState, 'held_until'> & { id: Uint8Array }>(
  'deliveries_destinations',
  'SELECT id, status AS is_paused, deleted_at FROM destinations WHERE id = ANY ($1::uuid[])',
);

// Apart, for it stands elsewhere where the database is distributed.
const SELECT_HELD = statement<{ destination_id: Uint8Array; held_until: number | null }>(
  'deliveries_held',
  `SELECT destination_id, held_until FROM destination_health
   WHERE destination_id = ANY ($1::uuid[]) AND shard = ANY ($2::int2[])`,
);

/** Null: there is none, or it is past the horizon. */
export async function selectDelivery(
  tx: Tx,
  horizons: Horizons,
  request: { environment: number; id: string },
): Promise<CompleteRow | null> {
  const rows = await tx.run(SELECT_ONE, [...keyOf(request.id), request.environment]);
  return (await completeRows(tx, horizons, rows))[0] ?? null;
}

/** Those that are there, in any order. */
export async function selectDeliveries(
  tx: Tx,
  horizons: Horizons,
  { environment, ids }: { environment: number; ids: readonly string[] },
): Promise<CompleteRow[]> {
  const select = (from: typeof SELECT_MANY_OPEN, of: readonly string[]): Promise<ListedRow[]> =>
    tx.batch(from, of.map(keyOf), [environment]);
  const [open, done] = await Promise.all([select(SELECT_MANY_OPEN, ids), select(SELECT_MANY_DONE, ids)]);
  const found = new Map([...open, ...done].map((row) => [formatId('dlv', row.id) as string, row]));
  // What is in neither table may have been sent again between the two looks: it is in the first now.
  const missing = ids.filter((id) => !found.has(id));
  const again = missing.length === 0 ? [] : await select(SELECT_MANY_OPEN, missing);
  return completeRows(tx, horizons, [...found.values(), ...again]);
}

/** In the same order; without those past the horizon. */
export async function completeRows(tx: Tx, horizons: Horizons, rows: ListedRow[]): Promise<CompleteRow[]> {
  const seen = rows.filter((row) => !horizons.hides('rows', formatId('evt', row.event_id)));
  if (seen.length === 0) return [];
  const eventIds = [...new Set(seen.map((row) => formatId('evt', row.event_id)))];
  const destinationIds = seen.map((row) => row.destination_id);
  const [types, destinations] = await Promise.all([
    tx.batch(SELECT_TYPES, eventIds.map(keyOf)),
    selectDestinations(tx, destinationIds),
  ]);
  const typeOf = new Map(types.map((row) => [row.id.toHex(), row.type]));
  return seen.flatMap((row) => {
    const type = typeOf.get(row.event_id.toHex());
    const destination = destinations.get(row.destination_id.toHex());
    return type === undefined || destination === undefined ? [] : [{ ...row, event_type: type, ...destination }];
  });
}

/** Deleted ones too, for as long as a delivery refers to them. By the hex of their ids. */
async function selectDestinations(tx: Tx, ids: readonly Uint8Array[]): Promise<Map<string, DestinationState>> {
  const distinct = [...new Map(ids.map((id) => [id.toHex(), id])).values()];
  const shards = [...new Set(distinct.map((id) => keyOf(formatId('dst', id))[0]))];
  const [rows, held] = await Promise.all([
    tx.run(SELECT_DESTINATIONS, [encodeArray('uuid', distinct)]),
    tx.run(SELECT_HELD, [encodeArray('uuid', distinct), encodeArray('int2', shards)]),
  ]);
  const heldUntil = new Map(held.map((row) => [row.destination_id.toHex(), row.held_until]));
  return new Map(rows.map(({ id, ...row }) => [id.toHex(), { ...row, held_until: heldUntil.get(id.toHex()) ?? null }]));
}
