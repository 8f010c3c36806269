// New deliveries of an event: pending and due at once, or born dead where their destination has too many already.
import type { DeliveryOrigin } from '../../../../model/delivery.ts';
import { idBytes, idTime, type DeliveryId, type EventId } from '../../../../model/id.ts';
import type { NewDelivery } from '../../../store.ts';
import { bornDead } from '../../../../model/transitions.ts';
import { PENDING, originCode } from '../../../rows/codec.ts';
import { toStateRow } from '../../../rows/delivery-rows.ts';
import { countSuspects, type BacklogChange, type CountContext } from '../../backlog.ts';
import { insertStatement, type BatchRow, type Insert } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { insertDone, keyOf, type StoredDelivery } from '../deliveries/delivery-tables.ts';

export type DeliveriesOfEvent = {
  environment: number;
  eventId: EventId;
  origin: DeliveryOrigin;
  dueAt: number;
  deliveries: NewDelivery[];
};

// As `born` has it (transitions.ts), to which the conformance suite holds it. What is the same for every new delivery
// is not sent: of eighteen columns eight are left.
export const PENDING_DELIVERIES: Insert = {
  columns: {
    id: 'uuid',
    environment: 'int4',
    event_id: 'uuid',
    destination_id: 'uuid',
    subscription_id: 'uuid',
    origin: 'int2',
    due_at: 'int8',
    at: 'int8',
  },
  write: (rows) => `
    INSERT INTO open_deliveries (shard, id, environment, event_id, destination_id, subscription_id, origin,
                                 status, rev, due_at, schedule_position, attempt_count, response_codes, updated_at)
    SELECT r.shard, r.id, r.environment, r.event_id, r.destination_id, r.subscription_id, r.origin,
           ${PENDING}, 0, r.due_at, 0, 0, ''::bytea, r.at
    FROM ${rows}`,
};

const INSERT_PENDING = insertStatement('open_deliveries_insert_pending', PENDING_DELIVERIES);

/** Those that were born dead of each event, in order. Sent, not awaited: the transaction's commit sees an error. */
export async function insertDeliveries(
  tx: Tx,
  context: CountContext,
  change: BacklogChange,
  events: readonly DeliveriesOfEvent[],
): Promise<DeliveryId[][]> {
  await countSuspects(tx, context, destinationsOf(events));
  const { backlog, backlogMax } = context;
  const pending: BatchRow[] = [];
  const dead: StoredDelivery[] = [];
  const backlogFull = events.map((event) =>
    event.deliveries.flatMap((delivery) => {
      const isFull = backlog.countOf(delivery.destinationId) >= backlogMax;
      if (isFull) {
        dead.push(toDeadRow(event, delivery));
        return [delivery.id];
      }
      pending.push(toPendingRow(event, delivery));
      change.add(delivery.destinationId, event.environment, 1);
      return [];
    }),
  );
  void tx.batch(INSERT_PENDING, pending);
  void insertDone(tx, dead);
  return backlogFull;
}

function* destinationsOf(events: readonly DeliveriesOfEvent[]) {
  for (const { deliveries } of events) for (const { destinationId } of deliveries) yield destinationId;
}

export function toPendingRow(
  { environment, eventId, origin, dueAt }: DeliveriesOfEvent,
  delivery: NewDelivery,
): BatchRow {
  return [
    ...keyOf(delivery.id),
    environment,
    idBytes(eventId),
    idBytes(delivery.destinationId),
    idBytes(delivery.subscriptionId),
    originCode.numberOf(origin),
    dueAt,
    idTime(delivery.id),
  ];
}

function toDeadRow({ environment, eventId, origin }: DeliveriesOfEvent, delivery: NewDelivery): StoredDelivery {
  const [shard, id] = keyOf(delivery.id);
  const at = idTime(delivery.id);
  return {
    shard,
    id,
    environment,
    event_id: idBytes(eventId),
    destination_id: idBytes(delivery.destinationId),
    subscription_id: idBytes(delivery.subscriptionId),
    origin: originCode.numberOf(origin),
    ...toStateRow(bornDead(at)),
    rev: 0,
    attempt_count: 0,
    response_codes: new Uint8Array(),
    updated_at: at,
  };
}
