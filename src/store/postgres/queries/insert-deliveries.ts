// New deliveries of an event: pending and due at once, or born dead where their destination has too many already.
import type { DeliveryOrigin } from '../../../model/delivery.ts';
import { idBytes, idTime } from '../../../model/id.ts';
import type { DeliveryId, EventId } from '../../../model/id.ts';
import type { NewDelivery } from '../../store.ts';
import { DEAD, PENDING, deadReasonCode, originCode } from '../../rows/codec.ts';
import type { BacklogChange } from '../backlog.ts';
import type { WriteContext } from '../context.ts';
import type { Tx } from '../transaction.ts';
import { insertDone, insertOpen, keyOf } from './delivery-tables.ts';
import type { OpenStored } from './delivery-tables.ts';

export type DeliveriesOfEvent = {
  environment: number;
  eventId: EventId;
  origin: DeliveryOrigin;
  deliveries: NewDelivery[];
};

/** Those that were born dead of each event, in order. Sent, not awaited: the transaction's commit sees an error. */
export function insertDeliveries(
  tx: Tx,
  { backlog, backlogMax }: Pick<WriteContext, 'backlog' | 'backlogMax'>,
  change: BacklogChange,
  events: readonly DeliveriesOfEvent[],
): DeliveryId[][] {
  const pending: OpenStored[] = [];
  const dead: OpenStored[] = [];
  const backlogFull = events.map((event) =>
    event.deliveries.flatMap((delivery) => {
      const row = toRow(event, delivery);
      const isFull = backlog.countOf(delivery.destinationId) >= backlogMax;
      if (!isFull) {
        pending.push(row);
        change.add(delivery.destinationId, event.environment, 1);
        return [];
      }
      const reason = deadReasonCode.numberOf('backlog_full');
      dead.push({ ...row, status: DEAD, dead_reason: reason, completed_at: row.due_at });
      return [delivery.id];
    }),
  );
  void insertOpen(tx, pending);
  void insertDone(tx, dead);
  return backlogFull;
}

function toRow({ environment, eventId, origin }: DeliveriesOfEvent, delivery: NewDelivery): OpenStored {
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
    status: PENDING,
    dead_reason: null,
    rev: 0,
    schedule_position: 0,
    attempt_count: 0,
    response_codes: new Uint8Array(),
    updated_at: at,
    completed_at: null,
    due_at: at,
    scheduled_at: null,
    fallback_status: null,
  };
}
