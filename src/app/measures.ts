// What is counted where: the metrics that several parts have in common, or that are read only when somebody looks.
import type { Answer } from '../api/services.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import { SHARD_COUNT, idTime } from '../model/id.ts';
import type { Observer } from '../model/observer.ts';
import type { Ownership } from '../model/ownership.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { StoreStats } from '../store/store.ts';
import type { Base } from './base.ts';

const STATS_LIFETIME_MS = 5_000;

export function labelsOf({ method, route, status }: Answer) {
  return { method, route, status: String(status) };
}

/** Counts what the core does. */
export function createMeter(metrics: Metrics): Observer {
  return {
    scheduled({ origin, deliveries }) {
      if (origin === 'event') metrics.eventsAccepted.inc();
      metrics.deliveriesScheduled.inc(deliveries.length);
    },
    attempted({ delivery, result, decision }) {
      metrics.attempts.count({ outcome: result.outcome });
      metrics.attemptSeconds.observe(result.durationMs / 1000);
      if (delivery.attemptCount === 0) metrics.deliverySeconds.observe((result.startedAt - idTime(delivery.id)) / 1000);
      if (decision !== null && decision.dueAt === null) metrics.deliveriesFinished.count({ status: decision.status });
    },
  };
}

type Watched = {
  dispatcher: Dispatcher;
  ownership: Ownership;
  hub: { readonly openCount: number };
  countRunning: () => number;
};

export function watchParts(parts: Base & Watched): void {
  const { settings, metrics, clock, store, host, dispatcher, ownership, hub, countRunning } = parts;
  const statsOf = cacheFor(clock, STATS_LIFETIME_MS, () => store.readStats(ownership.ownedShards()));
  const limit = settings.METRICS_PER_DESTINATION;
  const backlogsOf = cacheFor(clock, STATS_LIFETIME_MS, () => {
    const shards = ownership.ownedShards();
    return store.findBacklogs({ min: 1, limit, ...(shards === undefined ? {} : { shards }) });
  });
  const oldestDueAt = cacheFor(clock, STATS_LIFETIME_MS, () => findOldestDue(dispatcher));
  metrics.watch({
    onWire: () => dispatcher.stats().onWire,
    waiting: () => dispatcher.stats().waiting,
    unfinished: async () => sumOf(await statsOf()),
    shardsOwned: () => ownership.ownedShards()?.length ?? SHARD_COUNT,
    storedBytes: async () => (await statsOf()).storedBytes ?? 0,
    eventLoopDelaySeconds: host.eventLoopDelaySeconds,
    oldestDueSeconds: () => Math.max(0, clock.now() - oldestDueAt()) / 1000,
    streamsOpen: () => hub.openCount,
    operationsRunning: countRunning,
    largestBacklogs: () => (limit === 0 ? Promise.resolve([]) : backlogsOf()),
  });
}

/** Unix ms; infinite: none is due. */
function findOldestDue(dispatcher: Dispatcher): number {
  let oldest = Number.POSITIVE_INFINITY;
  for (const { overdueSince } of dispatcher.listLoads()) oldest = Math.min(oldest, overdueSince ?? oldest);
  return oldest;
}

/** Unfinished deliveries of every environment. */
export function sumOf({ unfinished }: StoreStats): number {
  return unfinished.reduce((sum, { count }) => sum + count, 0);
}

/** Reads again only when what was read is older than `lifetimeMs`: a scrape must not load the store. */
function cacheFor<T>(clock: Clock, lifetimeMs: number, read: () => T): () => T {
  let cached: { value: T; readAt: number } | null = null;
  return () => {
    const now = clock.monotonic();
    if (cached === null || now - cached.readAt > lifetimeMs) cached = { value: read(), readAt: now };
    return cached.value;
  };
}
