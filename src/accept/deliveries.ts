// From the subscriptions that matched to deliveries: what the store is given, in which transactions, and what dispatch
// can start.
import type { Configuration } from '../configuration/follower.ts';
import { parseBody } from '../json/body.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import { ApiError } from '../model/error.ts';
import { idShard, type DeliveryId } from '../model/id.ts';
import type { Event } from '../model/event.ts';
import type { Observer, Scheduled } from '../model/observer.ts';
import { born } from '../model/transitions.ts';
import type { Clock } from '../runtime/clock.ts';
import { GroupCommit } from '../runtime/group-commit.ts';
import type { Ids } from '../runtime/ids.ts';
import type {
  AcceptResult,
  NewDelivery,
  NewEvent,
  ReplayRequest,
  ReplayResult,
  Store,
  ToHandOver,
} from '../store/store.ts';
import type { EventBody } from './incoming-event.ts';

/** What an event makes, and the version of the configuration that says so. */
export type MatchedDeliveries = { configVersion: number; deliveries: NewDelivery[] };

/**
 * One delivery for each matching subscription; its id carries its destination's shard. Null: there would be more than
 * `max`. `destinationIds`: of these destinations only. At once, but where matching takes a while, as a large event's
 * may: that may reject with ApiError `unavailable`.
 */
export function matchDeliveries(
  configuration: Configuration,
  event: { type: string; body: EventBody },
  { ids, max, destinationIds }: { ids: Ids; max: number; destinationIds?: ReadonlySet<string> | undefined },
): MatchedDeliveries | null | Promise<MatchedDeliveries | null> {
  let configVersion = configuration.version;
  const onLate = (): void => void (configVersion = configuration.version);
  const found = configuration.matcher.match(event.type, event.body, { max, destinationIds }, onLate);
  return andThen(found, (matches) => {
    if (matches.length > max) return null;
    const deliveries = matches.map(({ id, destinationId }) => ({
      id: ids.next('dlv', idShard(destinationId)),
      destinationId,
      subscriptionId: id,
    }));
    return { configVersion, deliveries };
  });
}

/** Called after the commit, with what can be sent at once; with what may be under way already if the store says so. */
export type OnScheduled = (
  deliveries: OpenDelivery[],
  of: { event: Event; body: Uint8Array },
  from: ToHandOver,
) => void;

/** The body of an event that was accepted before. */
export function toStoredBody(bytes: Uint8Array): EventBody {
  return { bytes, parse: () => parseBody(new TextDecoder().decode(bytes)) };
}

const NONE: ReadonlySet<string> = new Set();

/** After the commit of new deliveries: hands on those to send, and tells who watches. Returns which were born dead. */
export function handOn(
  { onScheduled, observer }: { onScheduled: OnScheduled; observer: Pick<Required<Observer>, 'scheduled'> },
  { origin, event, body, deliveries, dueAt }: Omit<Scheduled, 'backlogFull'>,
  stored: { backlogFull: readonly DeliveryId[] } & ToHandOver,
): ReadonlySet<string> {
  const backlogFull = stored.backlogFull.length === 0 ? NONE : new Set<string>(stored.backlogFull);
  const open = backlogFull === NONE ? deliveries : deliveries.filter(({ id }) => !backlogFull.has(id));
  if (open.length > 0) onScheduled(toOpenDeliveries(event, dueAt, open), { event, body }, stored);
  observer.scheduled({ origin, event, body, deliveries, backlogFull, dueAt });
  return backlogFull;
}

/** As the store has them right after their insertion: due at once. */
function toOpenDeliveries(event: Event, dueAt: number, deliveries: readonly NewDelivery[]): OpenDelivery[] {
  const { id: eventId, environment } = event;
  return deliveries.map(({ id, destinationId }) => {
    return { ...born(dueAt), id, environment, eventId, destinationId, rev: 0, attemptCount: 0 };
  });
}

/** How often a match may be overtaken by a change of the configuration before we give up and say 503. */
export const STALE_TRIES_MAX = 50;

export function staleTooOften(): ApiError {
  return new ApiError('unavailable', 'subscriptions change too fast to match this event; try again', {
    retryAfterSeconds: 1,
  });
}

// How many deliveries the events of one request may schedule, all together. Once an event does not fit, it and all
// events after it are refused: whoever sent them sends that rest again.

export class Allowance {
  readonly #max: number;
  #left: number;
  #isSpent = false;

  constructor(max: number) {
    this.#max = max;
    this.#left = max;
  }

  /** Throws ApiError `unavailable` if an event did not fit before: then nothing more need be matched. */
  assertOpen(): void {
    if (!this.#isSpent) return;
    throw new ApiError(
      'unavailable',
      `one request schedules at most ${this.#max} deliveries; send this event and those after it in another request`,
      { retryAfterSeconds: 1 },
    );
  }

  /** For an event that is about to be stored. Throws like `assertOpen`. */
  take(deliveryCount: number): void {
    this.#isSpent ||= deliveryCount > this.#left;
    this.assertOpen();
    this.#left -= deliveryCount;
  }

  /** Of an event that was not stored after all. */
  giveBack(deliveryCount: number): void {
    this.#left += deliveryCount;
  }
}

// The shared transactions of accepting: requests that arrive while one is being written make the next. Environments
// take turns in them, so that nothing that one of them sends keeps another waiting for longer than one transaction.

/** Events, their deliveries, the bytes of their bodies. An event with more than all deliveries goes alone. */
const BATCH_MAX = { items: 250, units: 2_500, bytes: 2 * 1024 * 1024 };
/**
 * Beyond this the answer is 503 at once: a queue that only grows helps nobody. Of one environment while no other has
 * anything waiting; all together less than twice as much. A delivery takes about 110 bytes.
 */
const WAITING_MAX = { items: 20_000, units: 500_000, bytes: 64 * 1024 * 1024 };
const WAITING_REPLAYS_MAX = 1_000;

export function createAcceptBatches(options: {
  store: Pick<Store, 'acceptEvents' | 'lanes'>;
  clock: Clock;
}): GroupCommit<NewEvent, AcceptResult> {
  const { store, clock } = options;
  return new GroupCommit({
    clock,
    lane: store.lanes?.accepting,
    limits: { batch: BATCH_MAX, waiting: WAITING_MAX },
    queueOf: (event) => event.environment,
    unitsOf: (event) => event.deliveries.length,
    bytesOf: (event) => event.body.length,
    // What keeps a whole batch from being stored is each event's own failure.
    write: (events) =>
      store.acceptEvents(events).catch((error: unknown) => events.map(() => ({ result: 'failed', error }))),
  });
}

/** A transaction each. All at once they would stand before the next accept in the store's own queue. */
export function createReplayTurns(options: {
  store: Pick<Store, 'replayEvent' | 'lanes'>;
  clock: Clock;
}): GroupCommit<ReplayRequest, ReplayResult> {
  const { store, clock } = options;
  const lane = store.lanes?.accepting;
  return new GroupCommit({
    clock,
    lane: lane?.areParallel ? { ...lane, itemsMin: 1 } : undefined,
    limits: { batch: { ...BATCH_MAX, items: 1 }, waiting: { ...WAITING_MAX, items: WAITING_REPLAYS_MAX } },
    queueOf: (replay) => replay.environment,
    unitsOf: (replay) => replay.deliveries.length,
    bytesOf: () => 0,
    write: async ([replay]) => [await store.replayEvent(replay!)],
  });
}

// What is mostly there at once, and now and then has to be waited for: a promise for each would cost every event
// several turns of the microtask queue and a kilobyte of garbage.

/** `next` of a value: at once if that is there. */
export function andThen<Value, Next>(
  value: Value | Promise<Value>,
  next: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}
