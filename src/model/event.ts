// An event: what a producer posted. Its body is kept as the bytes that came in and is never re-serialised.
import type { DeliveryId, DestinationId, EventId, SubscriptionId } from './id.ts';

export const BODY_BYTES_MAX = 262_144;
/** What a POST /v1/events may have beside its body: type, key, time, white space. */
export const ENVELOPE_BYTES_MAX = 16_384;
export const BATCH_EVENTS_MAX = 1_000;
export const BATCH_BYTES_MAX = 5 * 1024 * 1024;
/** That the events of a batch may make together. */
export const BATCH_DELIVERIES_MAX = 100_000;
export const IDEMPOTENCY_WINDOW_MS = 24 * 3_600_000;

export type Event = {
  id: EventId;
  environment: number;
  type: string;
  idempotencyKey: string | null;
  occurredAt: number;
  createdAt: number;
  /** Of the request that brought it (W3C Trace Context, 3.2); null: it had none, or no traces are asked for. */
  traceparent: string | null;
};

/** A delivery as the answer to its event's POST lists it. */
export type ScheduledDelivery = {
  id: DeliveryId;
  destinationId: DestinationId;
  subscriptionId: SubscriptionId;
  status: 'pending' | 'retrying' | 'succeeded' | 'dead';
};

/** Why an event was answered with 503. */
export const REFUSAL_REASONS = ['queue_full', 'store'] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];
