// Finding what is to be sent: which destinations have work, their next deliveries, and the bodies to send.
import { formatId, idBytes, idShard } from '../../../../model/id.ts';
import type { DeliveryId, EventId } from '../../../../model/id.ts';
import type { EventPayload, Refill, RefillRequest, SweepPage, SweepRequest } from '../../../store.ts';
import type { ReadContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { toOpenDelivery } from '../../../rows/delivery-rows.ts';
import { OPEN_COLUMNS } from './select-delivery.ts';
import type { OpenRow } from '../../../rows/delivery-rows.ts';

// One seek: the earliest unfinished delivery of the next destination, whatever lies behind it.
const SELECT_NEXT_DESTINATION = `
  SELECT destination, due_at FROM deliveries
  WHERE status <= 1 AND destination > ?
  ORDER BY destination, due_at LIMIT 1`;

const SELECT_DESTINATION = 'SELECT id FROM destinations WHERE key = ? AND deleted_at IS NULL';

const SELECT_IN_ORDER = `
  SELECT ${OPEN_COLUMNS} FROM deliveries d
  WHERE d.status <= 1 AND d.destination = ?
  ORDER BY d.due_at, d.id`;

const SELECT_PAYLOAD = `
  SELECT e.type, e.occurred_at, b.body
  FROM event_bodies b JOIN events e ON e.environment = b.environment AND e.id = b.event_id
  WHERE b.event_id = ?`;

export function createFindWorkReads({ db, read, destinationKeys }: ReadContext) {
  const selectNext = prepare<{ destination: number; due_at: number }>(db, SELECT_NEXT_DESTINATION);
  const selectDestination = prepare<{ id: Uint8Array }>(db, SELECT_DESTINATION);
  const selectInOrder = prepare<OpenRow>(db, SELECT_IN_ORDER);
  const selectPayload = prepare<{ type: string; occurred_at: number; body: Uint8Array }>(db, SELECT_PAYLOAD);

  const refillOne = ({ destinationId, dueBy, limit, exclude }: RefillRequest): Refill => {
    const refill: Refill = { destinationId, deliveries: [], nextDueAt: null };
    const destination = destinationKeys.keyOf(destinationId);
    if (destination === null || selectDestination.get(destination) === undefined) return refill;
    const known = new Set<DeliveryId>(exclude);
    for (const row of selectInOrder.iterate(destination)) {
      if (known.has(formatId('dlv', row.id))) continue;
      if (row.due_at > dueBy || refill.deliveries.length === limit) {
        refill.nextDueAt = row.due_at;
        break;
      }
      refill.deliveries.push(toOpenDelivery(row, destinationId));
    }
    return refill;
  };

  return {
    sweep: ({ after, limit, shards }: SweepRequest): SweepPage =>
      read(() => {
        const wanted = shards === undefined ? null : new Set(shards);
        const destinations: SweepPage['destinations'] = [];
        let key = after === null ? 0 : Number(after);
        while (destinations.length < limit) {
          const row = selectNext.get(key);
          if (row === undefined) return { destinations, next: null };
          key = row.destination;
          const destination = selectDestination.get(key);
          if (destination === undefined) continue;
          const destinationId = formatId('dst', destination.id);
          if (wanted !== null && !wanted.has(idShard(destinationId))) continue;
          destinations.push({ destinationId, dueAt: row.due_at });
        }
        return { destinations, next: String(key) };
      }),

    refill: (requests: RefillRequest[]): Refill[] => read(() => requests.map(refillOne)),

    readPayloads: (eventIds: EventId[]): EventPayload[] =>
      read(() => {
        const payloads: EventPayload[] = [];
        for (const id of eventIds) {
          const row = selectPayload.get(idBytes(id));
          if (row !== undefined) payloads.push({ id, type: row.type, occurredAt: row.occurred_at, body: row.body });
        }
        return payloads;
      }),
  };
}
