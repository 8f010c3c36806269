// Finding what is to be sent: which destinations have work, their next deliveries, and the bodies to send.
import { formatId, idBytes, idShard, type DeliveryId } from '../../../../model/id.ts';
import { FORCED_DUE_AT } from '../../../../model/delivery.ts';
import { toOpenDelivery, type OpenRow } from '../../../rows/delivery-rows.ts';
import type { EventPayload, Refill, RefillRequest, SweepPage } from '../../../store.ts';
import type { Read, ReadContext } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { OPEN_COLUMNS } from './delivery-rows.ts';

// One seek: the earliest unfinished delivery of the next destination, whatever lies behind it.
const SELECT_NEXT_DESTINATION = statement<{ destination: number; due_at: number }>(`
  SELECT destination, due_at FROM deliveries
  WHERE status <= 1 AND destination > ?
  ORDER BY destination, due_at LIMIT 1`);

const SELECT_DESTINATION = statement<{ id: Uint8Array }>(
  'SELECT id FROM destinations WHERE key = ? AND deleted_at IS NULL',
);

const SELECT_IN_ORDER = statement<OpenRow>(`
  SELECT ${OPEN_COLUMNS} FROM deliveries d
  WHERE d.status <= 1 AND d.destination = ? AND d.due_at BETWEEN ? AND ?
  ORDER BY d.due_at, d.id`);

type PayloadRow = { type: string; occurred_at: number; traceparent: string | null; body: Uint8Array };

const SELECT_PAYLOAD = statement<PayloadRow>(`
  SELECT e.type, e.occurred_at, e.traceparent, b.body
  FROM event_bodies b JOIN events e ON e.environment = b.environment AND e.id = b.event_id
  WHERE b.event_id = ?`);

export const sweep: Read<'sweep'> = ({ sql, read }, { after, limit, shards }) =>
  read(() => {
    const wanted = shards === undefined ? null : new Set(shards);
    const destinations: SweepPage['destinations'] = [];
    let key = after === null ? 0 : Number(after);
    while (destinations.length < limit) {
      const row = sql(SELECT_NEXT_DESTINATION).get(key);
      if (row === undefined) return { destinations, next: null };
      key = row.destination;
      const destination = sql(SELECT_DESTINATION).get(key);
      if (destination === undefined) continue;
      const destinationId = formatId('dst', destination.id);
      if (wanted !== null && !wanted.has(idShard(destinationId))) continue;
      destinations.push({ destinationId, dueAt: row.due_at });
    }
    return { destinations, next: String(key) };
  });

export const refill: Read<'refill'> = (context, requests) =>
  context.read(() => requests.map((request) => refillOne(context, request)));

function refillOne(context: ReadContext, request: RefillRequest): Refill {
  const { sql } = context;
  const { destinationId, dueBy, limit, exclude } = request;
  const refilled: Refill = { destinationId, deliveries: [], nextDueAt: null };
  const destination = context.findDestinationKey(destinationId);
  if (destination === null || sql(SELECT_DESTINATION).get(destination) === undefined) return refilled;
  const known = new Set<DeliveryId>(exclude);
  for (const row of iterateOpen(context, destination, request.dueFrom)) {
    if (known.has(formatId('dlv', row.id))) continue;
    if (row.due_at > dueBy || refilled.deliveries.length === limit) {
      refilled.nextDueAt = row.due_at;
      break;
    }
    refilled.deliveries.push(toOpenDelivery(row, destinationId));
  }
  return refilled;
}

/**
 * Forced ones, then those from the bound on. What is due before it is in memory, up to a thousand: from the first on,
 * these would be read again with every few that are fetched.
 */
function* iterateOpen({ sql }: ReadContext, destination: number, dueFrom: number): Generator<OpenRow> {
  yield* sql(SELECT_IN_ORDER).iterate(destination, FORCED_DUE_AT, FORCED_DUE_AT);
  yield* sql(SELECT_IN_ORDER).iterate(destination, Math.max(dueFrom, FORCED_DUE_AT + 1), Number.MAX_SAFE_INTEGER);
}

export const readPayloads: Read<'readPayloads'> = ({ sql, read }, eventIds) =>
  read(() => {
    const payloads: EventPayload[] = [];
    for (const id of eventIds) {
      const row = sql(SELECT_PAYLOAD).get(idBytes(id));
      if (row === undefined) continue;
      const { type, occurred_at: occurredAt, traceparent, body } = row;
      payloads.push({ id, type, occurredAt, traceparent, body });
    }
    return payloads;
  });
