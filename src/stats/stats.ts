// Stats put together: observers that count, a loop that stores what they counted, another that removes what is old, and
// the answers to who asks. `counter.ts` is where counting happens, `writer.ts` where it becomes rows.
import { stateOf, type DestinationState } from '../model/condition.ts';
import type { Destination, DestinationStatus, DestinationLoad } from '../model/destination.ts';
import type { DestinationId } from '../model/id.ts';
import type { Observer } from '../model/observer.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLoop, type BackgroundStep, type Loop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Page, PageRequest, Store } from '../store/store.ts';
import { Activity, LastMinute, type Pulse } from './activity.ts';
import { Counter, HOUR_MS } from './counter.ts';
import { readConditions, readHealthOf, type Health, type LoadOf } from './health.ts';
import { createNow } from './now.ts';
import { PausedDestinations } from './paused.ts';
import { HOURS_KEPT_MS, MINUTES_KEPT_MS, createCountsReader, type Subject } from './reader.ts';
import { readSeries, type SeriesRequest } from './series.ts';
import { createStatsWriter } from './writer.ts';

const WRITE_INTERVAL_MS = 10_000;
const PRUNE_INTERVAL_MS = 60_000;
const PRUNE_BUDGET_MS = 5;
const BETWEEN_STEPS_MS = 10;
/** Of a list by state: so many destinations are looked at for one page, which may be short therefore. */
const EXAMINED_MAX = 1_000;
const EXAMINED_AT_ONCE = 100;

type StatsOptions = {
  store: Store;
  clock: Clock;
  random: Random;
  environments: readonly number[];
};

/** What is there only when the rest of the service is. */
type StatsSurroundings = {
  destinationsOf: (environment: number) => ReadonlyMap<DestinationId, Destination>;
  listLoads: () => Iterable<DestinationLoad>;
  loadOf: (id: DestinationId) => DestinationLoad | null;
  /** Of several processes one removes what is old. */
  isOldDataOurs: () => boolean;
  onError: (error: unknown, where: BackgroundStep) => void;
};

type Stats = ReturnType<typeof createStats>;
/** What the API asks. */
export type StatsAnswers = ReturnType<Stats['connect']>['answers'];

export function createStats({ store, clock, random, environments }: StatsOptions) {
  const counter = new Counter(clock, random);
  const activity = new Activity();
  const lastMinute = new LastMinute(clock);
  const paused = new PausedDestinations();
  const reader = createCountsReader(store, counter, clock);

  return {
    observers: [counter, activity, lastMinute, paused] satisfies Observer[] as Observer[],

    connect(surroundings: StatsSurroundings) {
      const { destinationsOf, listLoads, loadOf } = surroundings;
      const pulseOf = (environment: number): Pulse => {
        const pulse = { ...lastMinute.sum(environment), inFlight: 0, oldestDueAt: Number.POSITIVE_INFINITY };
        for (const { destination, inFlight, overdueSince } of listLoads()) {
          if (destination.environment !== environment) continue;
          pulse.inFlight += inFlight;
          pulse.oldestDueAt = Math.min(pulse.oldestDueAt, overdueSince ?? Number.POSITIVE_INFINITY);
        }
        return { ...pulse, oldestDueAt: Number.isFinite(pulse.oldestDueAt) ? pulse.oldestDueAt : null };
      };
      const onWire = () =>
        [...listLoads()]
          .filter(({ inFlight }) => inFlight > 0)
          .map(({ destination: { id, environment }, inFlight, inFlightLimit }) => {
            return { destinationId: id, environment, inFlight, inFlightLimit };
          });
      const write = createStatsWriter({ store, clock, environments, counter, activity, pulseOf, onWire });
      const parts = { store, clock, counter, activity, reader, paused, pulseOf, destinationsOf, loadOf };
      return {
        /** Stores all that was counted. Rejects where the store cannot take it. */
        write,
        loops: createStatsLoops({ store, clock, write }, surroundings),
        answers: {
          series: (subject: Subject | null, request: SeriesRequest) => readSeries(reader, subject, request, clock),
          now: createNow(parts),
          health: (destination: Destination): Promise<Health> => readHealthOf(parts, destination),
          listByState: (request: StateRequest) => listByState(parts, request),
        },
      };
    },
  };
}

type LoopParts = { store: Store; clock: Clock; write: () => Promise<void> };

function createStatsLoops({ store, clock, write }: LoopParts, { isOldDataOurs, onError }: StatsSurroundings): Loop[] {
  return [
    createLoop({
      name: 'write-stats',
      clock,
      intervalMs: WRITE_INTERVAL_MS,
      onError,
      step: async () => {
        await write();
        return 'idle';
      },
    }),
    createLoop({
      name: 'prune-stats',
      clock,
      intervalMs: PRUNE_INTERVAL_MS,
      betweenStepsMs: BETWEEN_STEPS_MS,
      onError,
      step: async () => {
        if (!isOldDataOurs()) return 'idle';
        const now = clock.now();
        // An hour more than is asked for, which begins in the middle of one.
        const minutes = now - MINUTES_KEPT_MS - HOUR_MS;
        const hours = now - HOURS_KEPT_MS - HOUR_MS;
        const { more } = await store.pruneCounts({ minutes, hours, budgetMs: PRUNE_BUDGET_MS });
        return more ? 'more' : 'idle';
      },
    }),
  ];
}

type StateRequest = {
  environment: number;
  state: DestinationState;
  status: DestinationStatus | null;
} & PageRequest<DestinationId>;

/** Newest first. A page ends early when many were looked at in vain; the next goes on there. */
async function listByState(
  parts: { store: Store; clock: Clock; activity: Activity; loadOf: LoadOf },
  { environment, state, status, before, limit }: StateRequest,
): Promise<Page<Destination, DestinationId>> {
  const wanted = state === 'paused' ? 'paused' : 'active';
  if (status !== null && status !== wanted) return { rows: [], next: null };
  const rows: Destination[] = [];
  let position = before;
  for (let examined = 0; examined < EXAMINED_MAX; examined += EXAMINED_AT_ONCE) {
    const request = { environment, status: wanted, before: position, limit: EXAMINED_AT_ONCE } as const;
    const page = await parts.store.listDestinations(request);
    const conditions = await readConditions(parts, page.rows);
    const now = parts.clock.now();
    for (const [i, destination] of page.rows.entries()) {
      const { activity, ...health } = conditions[i]!;
      const lastAttemptAt = activity?.lastAttemptAt ?? null;
      if (stateOf({ destination, health, lastAttemptAt, now }) !== state) continue;
      rows.push(destination);
      const isLast = i === page.rows.length - 1 && page.next === null;
      if (rows.length === limit) return { rows, next: isLast ? null : destination.id };
    }
    if (page.next === null) return { rows, next: null };
    position = page.next;
  }
  return { rows, next: position };
}
