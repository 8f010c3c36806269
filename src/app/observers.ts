// What metrics and the log hear of events and attempts, and the metrics that are read only when somebody looks.
import type { Answer } from '../api/services.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import { SHARD_COUNT, idTime, type DestinationId } from '../model/id.ts';
import { endedBy, type EndedUnsent, type FinishedAttempt, type Observer, type Scheduled } from '../model/observer.ts';
import type { Ownership } from '../model/ownership.ts';
import type { Clock } from '../runtime/clock.ts';
import { LineLimit } from '../runtime/line-limit.ts';
import type { Log } from '../runtime/log.ts';
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
    scheduled({ origin, deliveries, backlogFull }) {
      if (origin === 'event') metrics.eventsAccepted.inc();
      metrics.deliveriesScheduled.inc(deliveries.length);
      if (backlogFull.size > 0) metrics.deliveriesFinished.count({ status: 'dead' }, backlogFull.size);
    },
    attempted(finished) {
      const { delivery, result } = finished;
      metrics.attempts.count({ outcome: result.outcome });
      metrics.attemptSeconds.observe(result.durationMs / 1000);
      if (delivery.attemptCount === 0) metrics.deliverySeconds.observe((result.startedAt - idTime(delivery.id)) / 1000);
      const status = endedBy(finished);
      if (status !== null) metrics.deliveriesFinished.count({ status });
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

// What the log says of attempts and of deliveries that end without one. The history is in the store, so at `info` only
// what somebody may have to act on gets a line: a delivery that ends dead, and failed attempts, as many a second as a
// person could read.

export class AttemptLog {
  readonly #log: Log;
  readonly #failures: LineLimit<DestinationId>;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#failures = new LineLimit(clock, (destination, leftOut) =>
      log.info({ destination, left_out: leftOut }, 'more attempts failed'),
    );
  }

  note(finished: FinishedAttempt): void {
    const isDead = finished.decision?.status === 'dead';
    const isFailed = finished.result.outcome !== 'succeeded';
    if (isDead) this.#log.info(describe(finished), 'delivery dead');
    else if (isFailed && this.#failures.isTold(finished.delivery.destinationId))
      this.#log.info(describe(finished), 'attempt failed');
    else if (this.#log.isLevelEnabled('debug')) this.#log.debug(describe(finished), 'attempt');
  }

  /** Of a backlog that is full: each delivery that it had no room for. */
  noteBornDead({ event, deliveries, backlogFull }: Pick<Scheduled, 'event' | 'deliveries' | 'backlogFull'>): void {
    if (backlogFull.size === 0) return;
    for (const { id, destinationId } of deliveries) {
      if (!backlogFull.has(id)) continue;
      const of = { delivery: id, event: event.id, destination: destinationId };
      this.#log.info({ ...of, status: 'dead', dead_reason: 'backlog_full' }, 'delivery dead');
    }
  }

  /** One line for those of a destination that a step has ended: a deleted one may have had millions. */
  noteEnded(ended: readonly EndedUnsent[]): void {
    for (const { destinationId, deadReason, count } of ended) {
      const of = { destination: destinationId, count };
      this.#log.info({ ...of, status: 'dead', dead_reason: deadReason }, 'deliveries dead without an attempt');
    }
  }

  /** To be called at a stop: of failed attempts without a line, how many there were. */
  flush(): void {
    this.#failures.flush();
  }
}

function describe({ delivery, trigger, result, decision }: FinishedAttempt): Record<string, unknown> {
  return {
    delivery: delivery.id,
    event: delivery.eventId,
    destination: delivery.destinationId,
    attempt: delivery.attemptCount + 1,
    trigger,
    outcome: result.outcome,
    code: result.responseCode,
    error: result.error,
    ms: Math.round(result.durationMs),
    status: decision?.status ?? 'unchanged',
    dead_reason: decision?.deadReason ?? undefined,
  };
}
