// How the service is doing just now: the rates of the last minute, what waits, and which destinations are in trouble.
// What costs more than adding up is kept for a second, however many ask.
import { isFailing, stateOf, summaryOf, type DestinationCondition, type DestinationState } from '../model/condition.ts';
import type { Destination, DestinationHealth } from '../model/destination.ts';
import type { DestinationId } from '../model/id.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Store } from '../store/store.ts';
import { HOUR_MS, MINUTE_MS, type Counter } from './counter.ts';
import { readConditions, type LoadOf } from './health.ts';
import { addPulses, decodePulse, type Activity, type Pulse } from './activity.ts';
import type { PausedDestinations } from './paused.ts';
import type { CountsReader } from './reader.ts';

const SURVEY_LIFETIME_MS = 1_000;
const TROUBLES_MAX = 20;
/** Paused or failing destinations that nothing waits for: so many are looked at for deliveries that died. */
const QUIET_EXAMINED_MAX = 50;
/** Other processes tell every ten seconds how they are doing. */
const PULSE_LIFETIME_MS = 25_000;
const PULSES_MAX = 1_000;
/** Pending and retrying deliveries are counted as far as this; then one of the two is known from the other. */
const COUNTED_MAX = 50_000;
const IDS_PER_READ = 500;

type NowParts = {
  store: Pick<
    Store,
    'cluster' | 'readHealth' | 'readStats' | 'readCounts' | 'readConditions' | 'countUnfinished' | 'countOpen'
  >;
  clock: Clock;
  counter: Counter;
  activity: Activity;
  reader: CountsReader;
  paused: PausedDestinations;
  /** Of this process. */
  pulseOf: (environment: number) => Pulse;
  destinationsOf: (environment: number) => ReadonlyMap<DestinationId, Destination>;
  loadOf: LoadOf;
};

type Trouble = {
  destinationId: DestinationId;
  name: string | null;
  state: DestinationState;
  summary: string;
  unfinished: number;
  oldestDueAt: number | null;
};

type Survey = {
  pending: number;
  retrying: number;
  held: number;
  dead24h: number;
  destinations: { active: number; paused: number; failing: number };
  troubles: Trouble[];
};

export function createNow(parts: NowParts) {
  const surveys = new Map<number, { survey: Promise<Survey>; at: number }>();

  const surveyOf = (environment: number): Promise<Survey> => {
    const at = parts.clock.monotonic();
    const known = surveys.get(environment);
    if (known !== undefined && at - known.at < SURVEY_LIFETIME_MS) return known.survey;
    const survey = makeSurvey(parts, environment);
    surveys.set(environment, { survey, at });
    // One that failed is not to be told again.
    survey.catch(() => surveys.delete(environment));
    return survey;
  };

  return async (environment: number) => {
    const [survey, pulse] = await Promise.all([surveyOf(environment), readPulses(parts, environment)]);
    const { events, attempts, succeeded, inFlight, oldestDueAt } = pulse;
    return {
      eventsPerSecond: events / 60,
      attemptsPerSecond: attempts / 60,
      successRate: attempts === 0 ? null : succeeded / attempts,
      inFlight,
      oldestDueAt,
      ...survey,
    };
  };
}

/** This process's, and the last one of each other. */
async function readPulses({ store, clock, counter, pulseOf }: NowParts, environment: number): Promise<Pulse> {
  const now = clock.now();
  const rows = await store.readCounts({
    span: 'minute',
    environment,
    kind: 'pulse',
    subject: '',
    since: now - PULSE_LIFETIME_MS,
    // Others' clocks are a little ahead; what is further ahead was told before a clock was set back.
    until: now + PULSE_LIFETIME_MS,
    after: null,
    limit: PULSES_MAX,
  });
  const last = new Map(rows.map(({ writer, counts }) => [writer, counts]));
  last.delete(counter.writer);
  const others = [...last.values()].flatMap((counts) => decodePulse(counts) ?? []);
  // The embedded store has one server at a time: another writer's pulse is of the process before, whose requests ended
  // with it.
  const told = store.cluster === undefined ? others.map((one) => ({ ...one, inFlight: 0, oldestDueAt: null })) : others;
  return addPulses([pulseOf(environment), ...told]);
}

async function makeSurvey(parts: NowParts, environment: number): Promise<Survey> {
  const { store, clock, reader, paused } = parts;
  const now = clock.now();
  const destinations = parts.destinationsOf(environment);
  const health = (await store.readHealth()).filter(({ destinationId }) => destinations.has(destinationId));
  const pausedIds = paused.of(environment);
  const failing = health.filter((one) => !pausedIds.has(one.destinationId) && isFailing(one, now));
  const heldIds = health
    .filter(({ heldUntil }) => heldUntil !== null && heldUntil > now)
    .map((one) => one.destinationId);
  const all = { environment, kind: 'environment', subject: '' } as const;
  const [waiting, held, day, troubles] = await Promise.all([
    countWaiting(store, environment),
    countUnfinished(store, [...new Set([...pausedIds, ...heldIds])]),
    reader.total(all, { since: now - 24 * HOUR_MS, until: now + 1 }),
    findTroubles(parts, destinations, { pausedIds, failing }),
  ]);
  return {
    ...waiting,
    held: held.reduce((sum, count) => sum + count, 0),
    dead24h: day.deliveriesDead,
    destinations: {
      active: destinations.size - pausedIds.size,
      paused: pausedIds.size,
      failing: failing.length,
    },
    troubles,
  };
}

type Counted = Awaited<ReturnType<Store['countOpen']>>;

/**
 * As far as they were counted; beyond that from all that is unfinished, which each of several nodes knows but roughly.
 * Where both are very many, the pending ones are told too few.
 */
async function countWaiting(store: NowParts['store'], environment: number) {
  const count = (status: 'pending' | 'retrying') => store.countOpen({ environment, status, max: COUNTED_MAX });
  const [pending, retrying] = await Promise.all([count('pending'), count('retrying')]);
  if (pending.isAll && retrying.isAll) return { pending: pending.count, retrying: retrying.count };
  const { unfinished } = await store.readStats();
  const all = unfinished.find((one) => one.environment === environment)?.count ?? 0;
  const rest = (told: Counted, other: Counted): number => Math.max(told.count, all - other.count);
  if (retrying.isAll) return { pending: rest(pending, retrying), retrying: retrying.count };
  return { pending: pending.count, retrying: rest(retrying, pending) };
}

/** In the order of the ids. */
async function countUnfinished(store: NowParts['store'], ids: readonly DestinationId[]): Promise<number[]> {
  const counts: number[] = [];
  for (let i = 0; i < ids.length; i += IDS_PER_READ)
    counts.push(...(await store.countUnfinished(ids.slice(i, i + IDS_PER_READ))));
  return counts;
}

type Candidates = { pausedIds: ReadonlySet<DestinationId>; failing: readonly DestinationHealth[] };

/**
 * Failing ones first, each kind by how much waits. In trouble is what fails or is paused while something waits for it,
 * or has died in the last hour.
 */
async function findTroubles(
  parts: NowParts,
  destinations: ReadonlyMap<DestinationId, Destination>,
  { pausedIds, failing }: Candidates,
): Promise<Trouble[]> {
  const examined: Trouble[] = [];
  for (const ids of [failing.map((one) => one.destinationId), [...pausedIds]]) {
    if (examined.length >= TROUBLES_MAX) break;
    examined.push(...(await examine(parts, destinations, ids)));
  }
  return examined.slice(0, TROUBLES_MAX);
}

/** All of them may be in trouble at once: what is costly to know is asked of those that are told. */
async function examine(
  parts: NowParts,
  destinations: ReadonlyMap<DestinationId, Destination>,
  ids: readonly DestinationId[],
): Promise<Trouble[]> {
  const now = parts.clock.now();
  const counts = await countUnfinished(parts.store, ids);
  const all = ids.flatMap((id, i) => {
    const destination = destinations.get(id);
    return destination === undefined ? [] : { destination, unfinished: counts[i]! };
  });
  const told = all
    .filter(({ unfinished }) => unfinished > 0)
    .sort((a, b) => b.unfinished - a.unfinished)
    .slice(0, TROUBLES_MAX)
    .map(({ destination }) => destination);
  for (const { destination } of all.filter(({ unfinished }) => unfinished === 0).slice(0, QUIET_EXAMINED_MAX)) {
    if (told.length >= TROUBLES_MAX) break;
    if (await hasDied(parts, destination, now)) told.push(destination);
  }
  const conditions = await readConditions(parts, told);
  return told.map((destination, i) => toTrouble(destination, conditions[i]!, now));
}

async function hasDied({ reader }: NowParts, { environment, id }: Destination, now: number): Promise<boolean> {
  const subject = { environment, kind: 'destination', subject: id } as const;
  const hour = await reader.total(subject, { since: now - HOUR_MS + MINUTE_MS, until: now + 1 });
  return hour.deliveriesDead > 0;
}

function toTrouble(destination: Destination, condition: DestinationCondition, now: number): Trouble {
  const { activity, dueAt, unfinished } = condition;
  const state = stateOf({ destination, health: condition, lastAttemptAt: activity?.lastAttemptAt ?? null, now });
  return {
    destinationId: destination.id,
    name: destination.name,
    state,
    summary: summaryOf({ state, destination, condition, now }),
    unfinished,
    oldestDueAt: dueAt !== null && dueAt <= now ? dueAt : null,
  };
}
