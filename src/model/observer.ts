// What the core tells whoever watches: metrics, logs, statistics, streams. Told after the commit, in the turn in which
// it is known, so an observer is quick, never throws, never waits, and keeps none of the bytes that it is shown.
import type { AttemptResult, AttemptTrigger } from './attempt.ts';
import type { DeadReason, DeliveryOrigin, OpenDelivery } from './delivery.ts';
import type { DestinationWithKeys, FailureStreak } from './destination.ts';
import type { Event } from './event.ts';
import type { DeliveryId, DestinationId, SubscriptionId } from './id.ts';
import type { Decision } from './transitions.ts';

/** An event was stored with its deliveries, or an old one got new deliveries by a replay. */
export type Scheduled = {
  origin: DeliveryOrigin;
  event: Event;
  /** UTF-8 JSON as it came in. */
  body: Uint8Array;
  /** All that were made, those of `backlogFull` included. */
  deliveries: readonly { id: DeliveryId; destinationId: DestinationId; subscriptionId: SubscriptionId }[];
  /** The ids of those that were dead from the beginning: their destination has too many unfinished ones. */
  backlogFull: ReadonlySet<string>;
  /** Unix ms: when the others are due first. */
  dueAt: number;
};

/** An attempt whose result is stored. */
export type FinishedAttempt = {
  delivery: OpenDelivery;
  eventType: string;
  trigger: AttemptTrigger;
  result: AttemptResult;
  /** null: another writer had finished the delivery. */
  decision: Decision | null;
  /** Of the event. */
  traceparent: string | null;
  /** Of a success, what it ended. Null or absent: none. */
  recoveredFrom?: FailureStreak | null;
};

/** How its delivery ended by it. Null: it goes on, or a forced attempt left it what it was, which had ended before. */
export function endedBy({ delivery, decision }: FinishedAttempt): Decision['status'] | null {
  return decision?.dueAt !== null || decision.status === delivery.fallbackStatus ? null : decision.status;
}

/** Deliveries of one destination that ended `dead` without an attempt: expired, or their destination was deleted. */
export type EndedUnsent = { environment: number; destinationId: DestinationId; deadReason: DeadReason; count: number };

export type Observer = {
  scheduled?: (scheduled: Scheduled) => void;
  attempted?: (finished: FinishedAttempt) => void;
  ended?: (ended: readonly EndedUnsent[]) => void;
  /** A delivery was forced, or started afresh, by an operator. */
  sentAgain?: (delivery: OpenDelivery) => void;
  /** A destination was created or changed, by whichever node or command; also told for each at the start. */
  destinationChanged?: (destination: DestinationWithKeys) => void;
  destinationDeleted?: (id: DestinationId, environment: number) => void;
};

/** One observer that tells all of them, in this order. */
export function observeAll(observers: readonly Observer[]): Required<Observer> {
  const scheduled = observers.flatMap((observer) => observer.scheduled ?? []);
  const attempted = observers.flatMap((observer) => observer.attempted ?? []);
  const ended = observers.flatMap((observer) => observer.ended ?? []);
  const again = observers.flatMap((observer) => observer.sentAgain ?? []);
  const changed = observers.flatMap((observer) => observer.destinationChanged ?? []);
  const deleted = observers.flatMap((observer) => observer.destinationDeleted ?? []);
  // Loops, not forEach: an event and each of its attempts come by here.
  return {
    scheduled(what) {
      for (const tell of scheduled) tell(what);
    },
    attempted(what) {
      for (const tell of attempted) tell(what);
    },
    ended(what) {
      for (const tell of ended) tell(what);
    },
    sentAgain(what) {
      for (const tell of again) tell(what);
    },
    destinationChanged(what) {
      for (const tell of changed) tell(what);
    },
    destinationDeleted(id, environment) {
      for (const tell of deleted) tell(id, environment);
    },
  };
}
