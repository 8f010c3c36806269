// How one destination is doing: what the store knows of it, what this process has heard since, and what it counted.
import {
  nextAttemptOf,
  stateOf,
  summaryOf,
  type DestinationActivity,
  type DestinationCondition,
} from '../model/condition.ts';
import type { Destination } from '../model/destination.ts';
import type { DestinationId } from '../model/id.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Store } from '../store/store.ts';
import { latest, type Activity } from './activity.ts';
import { HOUR_MS } from './counter.ts';
import type { CountsReader } from './reader.ts';

/** A report of what is on the wire says nothing any more after three that should have followed. */
const REPORT_LIFETIME_MS = 30_000;
/** Unfinished deliveries of either status are counted as far as this. */
const COUNTED_MAX = 1_000;

/** What the process that sends to a destination has on the wire; null: it is another that does. */
export type LoadOf = (id: DestinationId) => { inFlight: number; inFlightLimit: number } | null;

type ConditionParts = {
  store: Pick<Store, 'readConditions' | 'cluster'>;
  clock: Clock;
  activity: Activity;
  loadOf: LoadOf;
};

type HealthParts = ConditionParts & {
  store: Pick<Store, 'readConditions' | 'countDeliveries' | 'cluster'>;
  reader: CountsReader;
};

export type Health = Awaited<ReturnType<typeof readHealthOf>>;

/** In the order of the destinations, of which there should be few. */
export async function readConditions(
  { store, clock, activity, loadOf }: ConditionParts,
  destinations: readonly Destination[],
): Promise<DestinationCondition[]> {
  if (destinations.length === 0) return [];
  const stored = await store.readConditions(destinations.map(({ id }) => id));
  const now = clock.now();
  return stored.map((condition, i) => {
    const destination = destinations[i]!;
    const { id } = destination;
    const report = condition.activity ?? nothingOf(destination);
    // The embedded store has one server at a time: a stored report is of the process before, whose requests ended with
    // it.
    const onWire = store.cluster === undefined ? { inFlight: 0, inFlightLimit: 0 } : {};
    const known = { ...report, ...latest(report, activity.get(id)), ...onWire };
    const { inFlight } = inFlightOf(loadOf(id), known, destination, now);
    // What is on the wire is being attempted, although nothing is known of it yet.
    return { ...condition, activity: inFlight === 0 ? known : { ...known, lastAttemptAt: now } };
  });
}

function nothingOf({ id: destinationId, environment }: Destination): DestinationActivity {
  const nothing = { lastAttemptAt: null, lastSuccessAt: null, lastFailure: null };
  return { destinationId, environment, reportedAt: 0, inFlight: 0, inFlightLimit: 0, ...nothing };
}

/** Shares of attempts are 0 to 1, times Unix ms. */
export async function readHealthOf(parts: HealthParts, destination: Destination) {
  const { clock, reader } = parts;
  const { id, environment } = destination;
  const now = clock.now();
  const subject = { environment, kind: 'destination', subject: id } as const;
  const [[known], counted, hour, day] = await Promise.all([
    readConditions(parts, [destination]),
    countUnfinished(parts, destination),
    reader.total(subject, { since: now - HOUR_MS, until: now + 1 }),
    reader.total(subject, { since: now - 24 * HOUR_MS, until: now + 1 }),
  ]);
  const condition = {
    ...known!,
    unfinished: counted.isAll ? counted.count : Math.max(counted.count, known!.unfinished),
  };
  const { activity, failingSince, failureCount, heldUntil, dueAt, unfinished } = condition;
  const lastAttemptAt = activity?.lastAttemptAt ?? null;
  const health = { failingSince, failureCount };
  const state = stateOf({ destination, health, lastAttemptAt, now });
  return {
    state,
    summary: summaryOf({ state, destination, condition, now }),
    successRate1h: hour.successRate(),
    successRate24h: day.successRate(),
    attemptSeconds: hour.attempt.quantiles(),
    consecutiveFailures: failureCount,
    failingSince,
    lastSuccessAt: activity?.lastSuccessAt ?? null,
    lastFailure: activity?.lastFailure ?? null,
    unfinished,
    oldestDueAt: dueAt !== null && dueAt <= now ? dueAt : null,
    ...inFlightOf(parts.loadOf(id), activity, destination, now),
    heldUntil: heldUntil !== null && heldUntil > now ? heldUntil : null,
    nextAttemptAt: nextAttemptOf(destination, condition, now),
  };
}

/**
 * How many there are at least; unless `isAll`, the store's own figure says more. Of one that nodes share, each node
 * counts only what it accepts and ends itself, and all of it anew once a minute: that much matters while few wait, not
 * when more do than are worth counting.
 */
async function countUnfinished(
  { store }: HealthParts,
  { environment, id: destinationId }: Destination,
): Promise<{ count: number; isAll: boolean }> {
  if (store.cluster === undefined) return { count: 0, isAll: false };
  const request = { environment, destinationId, since: null, until: null, before: null, limit: COUNTED_MAX };
  const [pending, retrying] = await Promise.all([
    store.countDeliveries({ ...request, status: 'pending' }),
    store.countDeliveries({ ...request, status: 'retrying' }),
  ]);
  const isAll = pending.next === null && retrying.next === null;
  return { count: pending.count + retrying.count, isAll };
}

function inFlightOf(
  own: ReturnType<LoadOf>,
  activity: DestinationActivity | null,
  { maxInFlight }: Destination,
  now: number,
): { inFlight: number; inFlightLimit: number } {
  if (own !== null) return { inFlight: own.inFlight, inFlightLimit: own.inFlightLimit };
  const isFresh = activity !== null && now - activity.reportedAt < REPORT_LIFETIME_MS && activity.inFlightLimit > 0;
  if (!isFresh) return { inFlight: 0, inFlightLimit: maxInFlight };
  return { inFlight: activity.inFlight, inFlightLimit: Math.min(maxInFlight, activity.inFlightLimit) };
}
