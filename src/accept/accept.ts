// Accepting an event: match it in memory, store it with its deliveries in one shared transaction, answer.
// The promise of the 202 is kept here: nothing is answered before the commit.
import type { Delivery } from '../model/delivery.ts';
import { ApiError } from '../model/error.ts';
import { IDEMPOTENCY_WINDOW_MS, type Event, type RefusalReason, type ScheduledDelivery } from '../model/event.ts';
import { idTime, type EventId } from '../model/id.ts';
import {
  andThen,
  createAcceptBatches,
  handOn,
  matchDeliveries,
  STALE_TRIES_MAX,
  staleTooOften,
  type Allowance,
} from './deliveries.ts';
import type { GroupCommit } from '../runtime/group-commit.ts';
import { StoreError, type AcceptResult, type NewDelivery, type NewEvent, type Store } from '../store/store.ts';
import { fingerprintOf, type IncomingEvent } from './incoming-event.ts';
import { createReplays, type EventReplay, type ReplayOptions, type Replays } from './replay.ts';

export type AcceptedEvent =
  | { isRepeat: false; event: Event; deliveries: ScheduledDelivery[] }
  /** The idempotency key named an event accepted before; nothing new was stored. The store has its deliveries. */
  | { isRepeat: true; event: Event };

/** An event that was matched and waits to be stored. */
type BegunEvent = { deliveryCount: number; stored: Promise<AcceptedEvent> };

type AcceptorOptions = ReplayOptions & {
  store: Pick<Store, 'acceptEvents' | 'readKeyHolder'>;
  onRefused: (reason: RefusalReason) => void;
};

/** One event on its way: as it came in, and what it may take of its request's allowance. */
type Accepting = { incoming: IncomingEvent; fingerprint: Uint8Array | null; allowance: Allowance | null };

type Accepted = Extract<AcceptResult, { result: 'accepted' }>;
type Submitted = { candidate: NewEvent; result: Promise<AcceptResult> };

export class Acceptor {
  readonly #options: AcceptorOptions;
  readonly #batches: GroupCommit<NewEvent, AcceptResult>;
  readonly #replays: Replays;

  constructor(options: AcceptorOptions) {
    this.#options = options;
    this.#batches = createAcceptBatches(options);
    this.#replays = createReplays(options);
  }

  /**
   * Throws or rejects with ApiError `idempotency_key_conflict`, `over_fanout_limit` or `unavailable`, or with the
   * store's StoreError.
   */
  accept(incoming: IncomingEvent): Promise<AcceptedEvent> {
    const begun = this.begin(incoming, null);
    return begun instanceof Promise ? begun.then(({ stored }) => stored) : begun.stored;
  }

  /**
   * The same for one of many, whose turn it is when the one before has begun: the event is matched then, and waits to
   * be stored. `stored` answers as `accept` does, and may reject at any time from then on.
   */
  begin(incoming: IncomingEvent, allowance: Allowance | null): BegunEvent | Promise<BegunEvent> {
    const fingerprint = incoming.idempotencyKey === null ? null : fingerprintOf(incoming);
    const accepting = { incoming, fingerprint, allowance };
    return andThen(this.#matchAndSubmit(accepting), (first) => {
      return { deliveryCount: first.candidate.deliveries.length, stored: this.#finish(accepting, first) };
    });
  }

  /**
   * New deliveries for an old event. ApiError `event_not_found`, `event_too_old`, `destination_not_subscribed`,
   * `over_fanout_limit`, `unavailable`.
   */
  replay(request: EventReplay): Promise<Iterable<Delivery>> {
    return this.#replays.replay(request);
  }

  /** Resolves when all that was submitted is committed or refused. */
  async idle(): Promise<void> {
    await Promise.all([this.#batches.idle(), this.#replays.idle()]);
  }

  /** Matching raced a change of the configuration? Then match again, against what is there now. */
  async #finish(accepting: Accepting, first: Submitted): Promise<AcceptedEvent> {
    let submitted = first;
    for (let tries = 1; ; tries++) {
      const { candidate } = submitted;
      const settled = await submitted.result;
      if (settled.result === 'accepted') return this.#schedule(candidate, settled);
      // What was not stored takes nothing of the allowance.
      accepting.allowance?.giveBack(candidate.deliveries.length);
      if (settled.result === 'failed') {
        if (settled.error instanceof StoreError) this.#options.onRefused('store');
        throw settled.error;
      }
      if (settled.result === 'duplicate') return toRepeat(accepting, settled);
      if (tries === STALE_TRIES_MAX) throw staleTooOften();
      await this.#options.catchUp(accepting.incoming.environment);
      submitted = await this.#matchAndSubmit(accepting);
    }
  }

  #matchAndSubmit(accepting: Accepting): Submitted | Promise<Submitted> {
    accepting.allowance?.assertOpen();
    return andThen(this.#build(accepting), (candidate) =>
      candidate === null ? this.#matchAgain(accepting) : this.#submit(accepting, candidate),
    );
  }

  /** It matched more than an event may have deliveries. A subscription may have been deleted on another node since. */
  async #matchAgain(accepting: Accepting): Promise<Submitted> {
    await this.#options.catchUp(accepting.incoming.environment);
    const candidate = await this.#build(accepting);
    return candidate === null ? this.#refuseFanout(accepting) : this.#submit(accepting, candidate);
  }

  #submit({ allowance }: Accepting, candidate: NewEvent): Submitted {
    allowance?.take(candidate.deliveries.length);
    const result = this.#batches.submit(candidate);
    if (result !== null) return { candidate, result };
    allowance?.giveBack(candidate.deliveries.length);
    this.#options.onRefused('queue_full');
    throw new ApiError('unavailable', 'too many events wait to be stored; try again', { retryAfterSeconds: 1 });
  }

  /** Null: it matches more subscriptions than one event may have deliveries. */
  #build({ incoming, fingerprint }: Accepting): NewEvent | null | Promise<NewEvent | null> {
    const { configurationOf, clock, ids, maxFanout } = this.#options;
    const configuration = configurationOf(incoming.environment);
    return andThen(matchDeliveries(configuration, incoming, { ids, max: maxFanout }), (matched) => {
      if (matched === null) return null;
      const { configVersion, deliveries } = matched;
      return toNewEvent(incoming, { id: ids.next('evt'), dueAt: clock.now(), fingerprint, deliveries, configVersion });
    });
  }

  /** Unless its key names an event that was accepted before, when it matched less: that is answered as ever. */
  async #refuseFanout({ incoming, fingerprint }: Accepting): Promise<Submitted> {
    const { store, ids, maxFanout, clock } = this.#options;
    const { environment, idempotencyKey: key } = incoming;
    const holder = key === null ? null : await store.readKeyHolder({ environment, key, now: clock.now() });
    if (holder === null) throw overFanout(maxFanout);
    const parts = { id: ids.next('evt'), dueAt: 0, fingerprint, deliveries: [], configVersion: 0 };
    return { candidate: toNewEvent(incoming, parts), result: Promise.resolve({ result: 'duplicate', ...holder }) };
  }

  #schedule(event: NewEvent, accepted: Accepted): AcceptedEvent {
    const { body, deliveries: made, dueAt } = event;
    const dead = handOn(this.#options, { origin: 'event', event, body, deliveries: made, dueAt }, accepted);
    const deliveries = made.map(({ id, destinationId, subscriptionId }): ScheduledDelivery => {
      const status = dead.size > 0 && dead.has(id) ? 'dead' : 'pending';
      return { id, destinationId, subscriptionId, status };
    });
    return { isRepeat: false, event, deliveries };
  }
}

function overFanout(max: number): ApiError {
  return new ApiError(
    'over_fanout_limit',
    `this event would make more than ${max} deliveries, and nothing was stored; narrow the subscriptions that match ` +
      'it, or raise MAX_FANOUT',
  );
}

function toRepeat(
  { incoming, fingerprint }: Accepting,
  holder: { eventId: EventId; fingerprint: Uint8Array },
): AcceptedEvent {
  if (Buffer.from(fingerprint!).equals(holder.fingerprint)) {
    return { isRepeat: true, event: describeEvent(holder.eventId, incoming) };
  }
  throw new ApiError(
    'idempotency_key_conflict',
    'idempotency_key was used within 24 hours for an event with another type, occurred_at or body; use a new key',
    { param: '/idempotency_key' },
  );
}

type EventParts = {
  id: EventId;
  dueAt: number;
  fingerprint: Uint8Array | null;
  deliveries: NewDelivery[];
  configVersion: number;
};

function toNewEvent(incoming: IncomingEvent, parts: EventParts): NewEvent {
  const { id, dueAt, fingerprint, deliveries, configVersion } = parts;
  const event = describeEvent(id, incoming);
  const idempotency = fingerprint === null ? null : { fingerprint, expiresAt: event.createdAt + IDEMPOTENCY_WINDOW_MS };
  return { ...event, body: incoming.body.bytes, dueAt, configVersion, idempotency, deliveries };
}

/** An event's own fields, from its request and the id it got. */
function describeEvent(id: EventId, incoming: IncomingEvent): Event {
  const createdAt = idTime(id);
  return {
    id,
    environment: incoming.environment,
    type: incoming.type,
    idempotencyKey: incoming.idempotencyKey,
    occurredAt: incoming.occurredAt?.time ?? createdAt,
    createdAt,
    traceparent: incoming.traceparent,
  };
}
