// One event for one destination through one subscription, and the states it goes through.
import type { StoredAttempt } from './attempt.ts';
import type { Event } from './event.ts';
import { idTime, type DeliveryId, type DestinationId, type EventId, type SubscriptionId } from './id.ts';

export const DELIVERY_STATUSES = ['pending', 'retrying', 'succeeded', 'dead'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];
type OpenStatus = 'pending' | 'retrying';
export const END_STATUSES = ['succeeded', 'dead'] as const satisfies DeliveryStatus[];

export const DEAD_REASONS = ['exhausted', 'gone', 'destination_deleted', 'expired', 'backlog_full'] as const;
export type DeadReason = (typeof DEAD_REASONS)[number];

export type DeliveryOrigin = 'event' | 'replay';

/** How many response codes a delivery carries in lists. */
export const RESPONSE_CODES_MAX = 50;

/** A forced attempt sorts before every scheduled one and is found even while its destination is paused. */
export const FORCED_DUE_AT = 0;

/** A delivery as lists show it. */
export type Delivery = {
  id: DeliveryId;
  eventId: EventId;
  eventType: string;
  destinationId: DestinationId;
  subscriptionId: SubscriptionId;
  status: DeliveryStatus;
  deadReason: DeadReason | null;
  origin: DeliveryOrigin;
  attemptCount: number;
  retryCount: number;
  /** One entry per attempt, oldest first, the last 50; null where no response came. */
  responseCodes: (number | null)[];
  nextAttemptAt: number | null;
  createdAt: number;
  updatedAt: number;
  completedAt: number | null;
};

/** The list row of a delivery that was just made, and of which nothing was sent yet. `dueAt`: Unix ms. */
export function toNewRow(
  { id, destinationId, subscriptionId }: Pick<Delivery, 'id' | 'destinationId' | 'subscriptionId'>,
  { event, origin, dueAt }: { event: Pick<Event, 'id' | 'type'>; origin: DeliveryOrigin; dueAt: number },
  { isDead, isPaused }: { isDead: boolean; isPaused: boolean },
): Delivery {
  const createdAt = idTime(id);
  return {
    id,
    eventId: event.id,
    eventType: event.type,
    destinationId,
    subscriptionId,
    status: isDead ? 'dead' : 'pending',
    deadReason: isDead ? 'backlog_full' : null,
    origin,
    attemptCount: 0,
    retryCount: 0,
    responseCodes: [],
    nextAttemptAt: isDead || isPaused ? null : dueAt,
    createdAt,
    updatedAt: createdAt,
    completedAt: isDead ? createdAt : null,
  };
}

/** The single read adds the whole history, oldest first. */
export type DeliveryWithAttempts = Delivery & { attempts: StoredAttempt[] };

/** Where a delivery stands: what its moves change (transitions.ts). Times are Unix ms. */
export type DeliveryState = {
  status: DeliveryStatus;
  /** How and when it ended. While a forced attempt waits: how it had ended before, for the attempt may fail. */
  deadReason: DeadReason | null;
  completedAt: number | null;
  /** When the next attempt may go out, or FORCED_DUE_AT; null when finished. */
  dueAt: number | null;
  /** While a forced attempt waits: when the schedule would have gone on (null: it was over). */
  scheduledAt: number | null;
  /** While a forced attempt waits: what the delivery was, and is again if the attempt fails. Else null. */
  fallbackStatus: DeliveryStatus | null;
  /** How many delays of the schedule are used up. */
  schedulePosition: number;
};

export type OpenState = DeliveryState & { status: OpenStatus; dueAt: number };

/** What scheduling and deciding need to know of an unfinished delivery. */
export type OpenDelivery = OpenState & {
  id: DeliveryId;
  environment: number;
  eventId: EventId;
  destinationId: DestinationId;
  /** Raised by every writer; a write whose expected value lost is read and decided again. */
  rev: number;
  attemptCount: number;
};

/** A destination has something unfinished in the store, due from then on (Unix ms, or FORCED_DUE_AT). */
export type DueWork = Pick<OpenDelivery, 'destinationId' | 'dueAt'>;

export function isForced(delivery: Pick<OpenDelivery, 'dueAt'>): boolean {
  return delivery.dueAt === FORCED_DUE_AT;
}

export function isUnfinished({ status }: Pick<DeliveryState, 'status'>): boolean {
  return status === 'pending' || status === 'retrying';
}
