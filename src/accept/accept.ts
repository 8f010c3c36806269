// Accepting an event: match it in memory, store it with its deliveries in one shared transaction, answer.
// The promise of the 202 is kept here: nothing is answered before the commit.
import type { Delivery } from '../model/delivery.ts';
import { ApiError } from '../model/error.ts';
import { IDEMPOTENCY_WINDOW_MS } from '../model/event.ts';
import type { Event, ScheduledDelivery } from '../model/event.ts';
import { idTime } from '../model/id.ts';
import type { EventId } from '../model/id.ts';
import type { GroupCommit } from '../runtime/group-commit.ts';
import { StoreError } from '../store/store.ts';
import type { AcceptResult, NewEvent, Store } from '../store/store.ts';
import { createAcceptBatches } from './batch.ts';
import { matchDeliveries, toOpenDeliveries } from './deliveries.ts';
import { fingerprintOf } from './idempotency.ts';
import type { IncomingEvent } from './incoming-event.ts';
import { createReplay } from './replay.ts';
import type { ReplayOptions } from './replay.ts';
import { STALE_TRIES_MAX, staleTooOften } from './stale.ts';

/** `isRepeat`: the idempotency key named an event accepted before; nothing new was stored. */
export type AcceptedEvent = { event: Event; deliveries: ScheduledDelivery[]; isRepeat: boolean };

export interface Acceptor {
  /** Rejects with ApiError `idempotency_key_conflict` or `unavailable`, or with the store's StoreError. */
  accept(incoming: IncomingEvent): Promise<AcceptedEvent>;
  /** New deliveries for an old event. ApiError `event_not_found`, `event_too_old`, `destination_not_subscribed`. */
  replay(request: { environment: number; eventId: EventId; destinationIds: string[] | null }): Promise<Delivery[]>;
  /** Resolves when all that was submitted is committed or refused. */
  idle(): Promise<void>;
}

export type AcceptorOptions = ReplayOptions & {
  store: Pick<Store, 'acceptEvents' | 'lanes' | 'readScheduledDeliveries'>;
  onAccepted: (deliveryCount: number) => void;
  onRefused: (reason: 'queue_full' | 'store') => void;
};

export function createAcceptor(options: AcceptorOptions): Acceptor {
  return new BatchingAcceptor(options);
}

class BatchingAcceptor implements Acceptor {
  readonly replay: Acceptor['replay'];
  readonly #options: AcceptorOptions;
  readonly #batches: GroupCommit<NewEvent, AcceptResult>;

  constructor(options: AcceptorOptions) {
    this.#options = options;
    this.#batches = createAcceptBatches(options);
    this.replay = createReplay(options);
  }

  async accept(incoming: IncomingEvent): Promise<AcceptedEvent> {
    const fingerprint = incoming.idempotencyKey === null ? null : fingerprintOf(incoming);
    const { candidate, result } = await this.#matchAndStore(incoming, fingerprint);
    if (result.result === 'accepted') return this.#announce(candidate, result.backlogFull);
    if (!Buffer.from(fingerprint!).equals(result.fingerprint)) throw keyConflict();
    return this.#repeat(incoming, result.eventId);
  }

  idle(): Promise<void> {
    return this.#batches.idle();
  }

  /** Matching raced a change of the configuration? Then match again, against what is there now. */
  async #matchAndStore(incoming: IncomingEvent, fingerprint: Uint8Array | null) {
    for (let tries = 0; tries < STALE_TRIES_MAX; tries++) {
      const candidate = await this.#build(incoming, fingerprint);
      const result = await this.#submit(candidate);
      if (result.result !== 'stale') return { candidate, result };
      await this.#options.catchUp(incoming.environment);
    }
    throw staleTooOften();
  }

  async #build(incoming: IncomingEvent, fingerprint: Uint8Array | null): Promise<NewEvent> {
    const { configurationOf, ids } = this.#options;
    const matched = await matchDeliveries(configurationOf(incoming.environment), incoming, ids);
    const id = ids.next('evt');
    return {
      ...describeEvent(id, incoming),
      body: incoming.body.bytes,
      idempotency: fingerprint === null ? null : { fingerprint, expiresAt: idTime(id) + IDEMPOTENCY_WINDOW_MS },
      ...matched,
    };
  }

  async #submit(candidate: NewEvent): Promise<Exclude<AcceptResult, { result: 'failed' }>> {
    const { onRefused } = this.#options;
    const result = this.#batches.submit(candidate);
    if (result === null) {
      onRefused('queue_full');
      throw new ApiError('unavailable', 'too many events wait to be stored; try again', { retryAfterSeconds: 1 });
    }
    try {
      const stored = await result;
      if (stored.result === 'failed') throw stored.error;
      return stored;
    } catch (error) {
      if (error instanceof StoreError) onRefused('store');
      throw error;
    }
  }

  #announce(event: NewEvent, backlogFull: readonly string[]): AcceptedEvent {
    const isDead = new Set(backlogFull);
    const open = event.deliveries.filter(({ id }) => !isDead.has(id));
    if (open.length > 0) this.#options.onScheduled(toOpenDeliveries(event, open), event, event.body);
    this.#options.onAccepted(event.deliveries.length);
    const deliveries = event.deliveries.map((delivery): ScheduledDelivery => ({
      ...delivery,
      status: isDead.has(delivery.id) ? 'dead' : 'pending',
    }));
    return { event, deliveries, isRepeat: false };
  }

  /** The answer that the key's first event got, with statuses as they are now. */
  async #repeat(incoming: IncomingEvent, eventId: EventId): Promise<AcceptedEvent> {
    const { environment } = incoming;
    const deliveries = await this.#options.store.readScheduledDeliveries({ environment, eventId });
    return { event: describeEvent(eventId, incoming), deliveries, isRepeat: true };
  }
}

function keyConflict(): ApiError {
  return new ApiError(
    'idempotency_key_conflict',
    'idempotency_key was used within 24 hours for an event with another type, occurred_at or body; use a new key',
    { param: '/idempotency_key' },
  );
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
  };
}
