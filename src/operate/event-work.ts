// New deliveries of old events, matched against the subscriptions as they are now: as accept/replay.ts does for one.
import { handOn, matchDeliveries, toStoredBody, type OnScheduled } from '../accept/deliveries.ts';
import type { Configuration } from '../configuration/follower.ts';
import type { Event } from '../model/event.ts';
import { toTypeSelection } from '../model/event-type.ts';
import type { EventId } from '../model/id.ts';
import type { Observer } from '../model/observer.ts';
import type { OperationRequest } from '../model/operation.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Ids } from '../runtime/ids.ts';
import type { NewDelivery, OperationReplays, Store } from '../store/store.ts';
import type { Pace } from './pace.ts';
import {
  NOTHING_FOUND,
  together,
  untilOf,
  type Advanced,
  type Found,
  type Place,
  type Taken,
  type Task,
  type Work,
} from './work.ts';

type EventRequest = Extract<OperationRequest, { kind: 'event_replay' }>;

const EVENTS_PER_PAGE = 100;
/** A step's transaction makes about this many at most, unless one event alone makes more. */
const MADE_PER_STEP = 100;
/** The bodies of a step are kept until what they make is handed on. */
const BYTES_PER_STEP = 2 * 1024 * 1024;

type EventWorkOptions = {
  store: Pick<Store, 'listEvents' | 'readEvent' | 'readSucceeded'>;
  clock: Clock;
  ids: Ids;
  configurationOf: (environment: number) => Configuration;
  /** Loads configuration changes made elsewhere. */
  catchUp: (environment: number) => Promise<void>;
  bodyRetentionMs: number;
  /** Deliveries that the replay of one event may make. */
  maxFanout: number;
  onScheduled: OnScheduled;
  observer: Pick<Required<Observer>, 'scheduled'>;
};

/** What one event would make. `isTooMany`: more than one replay may, and so nothing. */
type Plan = {
  event: Event;
  body: Uint8Array;
  configVersion: number;
  deliveries: NewDelivery[];
  isTooMany: boolean;
};

export function createEventWork(options: EventWorkOptions): Work {
  return {
    async count(task, place) {
      const { events, next } = await readPage(options, task, place);
      let found = NOTHING_FOUND;
      // One at a time: of an event with its body and its deliveries there is one in memory.
      for (const event of events) found = together(found, foundIn(await planEvent(options, task, event)));
      return { found, next };
    },
    async take(task, place, pace): Promise<Taken> {
      const { events, next } = await readPage(options, task, place);
      const { plans, lastId, waitMs } = await takeFirst(options, task, { events, pace });
      const made = plans.filter(({ deliveries }) => deliveries.length > 0);
      const failed = plans.filter(({ isTooMany }) => isTooMany).length;
      return {
        step: made.length + failed === 0 ? null : { sendAgain: null, replays: toReplays(made), failed },
        next: lastId === (events.at(-1)?.id ?? null) ? next : { list: 0, before: lastId ?? place.before },
        waitMs,
        onStored(stored, now) {
          const isTooOld = new Set<string>(stored.tooOld);
          for (const plan of made) if (!isTooOld.has(plan.event.id)) handOnPlan(options, plan, stored, now);
        },
      };
    },
  };
}

/** Events, and the subscriptions that they are matched against as they are by then, whichever node changed them. */
async function readPage(options: EventWorkOptions, task: Task, { before }: Place) {
  const { store, clock, catchUp, bodyRetentionMs } = options;
  const { since, eventType } = task.request as EventRequest;
  await catchUp(task.environment);
  const page = await store.listEvents({
    environment: task.environment,
    type: eventType === null ? null : toTypeSelection(eventType),
    // What is older has no body any more.
    since: Math.max(since ?? 0, clock.now() - bodyRetentionMs),
    until: untilOf(task),
    before: before as EventId | null,
    limit: EVENTS_PER_PAGE,
  });
  return { events: page.rows, next: page.next === null ? null : { list: 0, before: page.next } };
}

/** The plans of the first events, which are taken whole; `lastId`: of the last that has had its turn. */
async function takeFirst(
  options: EventWorkOptions,
  task: Task,
  { events, pace }: { events: readonly Event[]; pace: Pace },
): Promise<{ plans: Plan[]; lastId: EventId | null; waitMs: number }> {
  const { clock } = options;
  const plans: Plan[] = [];
  let [madeCount, bytes] = [0, 0];
  let lastId: EventId | null = null;
  for (const event of events) {
    if (madeCount >= MADE_PER_STEP || bytes >= BYTES_PER_STEP) break;
    const plan = await planEvent(options, task, event);
    const at = clock.monotonic();
    const full = plan?.deliveries.find(({ destinationId }) => !pace.allows(destinationId, at));
    if (full !== undefined) return { plans, lastId, waitMs: pace.waitMs(full.destinationId, at) };
    lastId = event.id;
    if (plan === null) continue;
    for (const { destinationId } of plan.deliveries) pace.charge(destinationId, at);
    madeCount += plan.deliveries.length;
    bytes += plan.body.length;
    plans.push(plan);
  }
  return { plans, lastId, waitMs: 0 };
}

function toReplays(made: readonly Plan[]): OperationReplays | null {
  if (made.length === 0) return null;
  return {
    configVersion: Math.min(...made.map(({ configVersion }) => configVersion)),
    events: made.map(({ event, deliveries }) => ({ id: event.id, deliveries })),
  };
}

/** Null: its body has been erased. */
async function planEvent(
  options: EventWorkOptions,
  { environment, request }: Task,
  event: Event,
): Promise<Plan | null> {
  const { store, configurationOf, ids, maxFanout } = options;
  const { destinationIds, missingOnly } = request as EventRequest;
  const body = (await store.readEvent({ environment, id: event.id }))?.body ?? null;
  if (body === null) return null;
  const scope = { ids, max: maxFanout, ...(destinationIds && { destinationIds: new Set<string>(destinationIds) }) };
  const stored = { type: event.type, body: toStoredBody(body) };
  const matched = await matchDeliveries(configurationOf(environment), stored, scope);
  if (matched === null) return { event, body, configVersion: 0, deliveries: [], isTooMany: true };
  const isMatched = matched.deliveries.length > 0;
  const reached = missingOnly && isMatched ? await store.readSucceeded({ environment, eventId: event.id }) : [];
  const hasSucceeded = new Set<string>(reached);
  const deliveries = matched.deliveries.filter(({ destinationId }) => !hasSucceeded.has(destinationId));
  return { event, body, configVersion: matched.configVersion, deliveries, isTooMany: false };
}

/** An event that would make too many counts as one, which fails. */
function foundIn(plan: Plan | null): Found {
  if (plan === null) return NOTHING_FOUND;
  const { event, deliveries, isTooMany } = plan;
  const count = isTooMany ? 1 : deliveries.length;
  return count === 0 ? NOTHING_FOUND : { count, oldest: event.createdAt, newest: event.createdAt };
}

function handOnPlan(options: EventWorkOptions, plan: Plan, stored: Advanced, now: number): void {
  const { event, body, deliveries } = plan;
  const isDead = new Set<string>(stored.backlogFull);
  const backlogFull = deliveries.map(({ id }) => id).filter((id) => isDead.has(id));
  handOn(options, { origin: 'replay', event, body, deliveries, dueAt: now }, { ...stored, backlogFull });
}
