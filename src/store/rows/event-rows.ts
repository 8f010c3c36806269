// Events, and their deliveries as the answer to a POST lists them, between rows and values.
import type { Event, ScheduledDelivery } from '../../model/event.ts';
import { formatId, idTime } from '../../model/id.ts';
import { deliveryStatusCode } from './codec.ts';
import { effectiveStatus } from './delivery-rows.ts';

export type EventRow = {
  environment: number;
  id: Uint8Array;
  type: string;
  idempotency_key: string | null;
  occurred_at: number;
  traceparent: string | null;
};

export type ScheduledRow = {
  id: Uint8Array;
  destination_id: Uint8Array;
  subscription_id: Uint8Array;
  status: number;
  fallback_status: number | null;
  deleted_at: number | null;
};

/** A pattern that selects no more types than this is the merge of their lists; else rows are walked and filtered. */
export const TYPES_MERGED_MAX = 32;
/** How many types are looked at to find that out (`a.*` looks past the types further below `a`). */
export const TYPES_PROBED_MAX = 200;

export function toEvent(row: EventRow): Event {
  const id = formatId('evt', row.id);
  return {
    id,
    environment: row.environment,
    type: row.type,
    idempotencyKey: row.idempotency_key,
    occurredAt: row.occurred_at,
    createdAt: idTime(id),
    traceparent: row.traceparent,
  };
}

export function toScheduled(row: ScheduledRow): ScheduledDelivery {
  return {
    id: formatId('dlv', row.id),
    destinationId: formatId('dst', row.destination_id),
    subscriptionId: formatId('sub', row.subscription_id),
    status: deliveryStatusCode.nameOf(effectiveStatus(row)),
  };
}
