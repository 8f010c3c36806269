// What the service's clients do, as the API does it (without HTTP), and what they know: every answer they got.
import type { AcceptedEvent } from '../../src/accept/accept.ts';
import type { IncomingEvent } from '../../src/accept/incoming-event.ts';
import { parseBody } from '../../src/json/body.ts';
import { filterIdentity } from '../../src/match/filter/json.ts';
import type { ApiKey } from '../../src/model/api-key.ts';
import type { Destination } from '../../src/model/destination.ts';
import { ApiError } from '../../src/model/error.ts';
import type { ScheduledDelivery } from '../../src/model/event.ts';
import {
  formatId,
  type DeliveryId,
  type DestinationId,
  type EventId,
  type OperationId,
  type SubscriptionId,
} from '../../src/model/id.ts';
import type { Operation, OperationAction, OperationRequest } from '../../src/model/operation.ts';
import { createIds, type Ids } from '../../src/runtime/ids.ts';
import { StoreError } from '../../src/store/store.ts';
import { destinationWith } from '../support/destinations.ts';
import { bodyText } from './attempt-ledger.ts';
import type { Behaviour } from './receivers.ts';
import { RoutingLedger } from './routing-ledger.ts';
import type { World } from './world.ts';

export type DestinationSpec = Partial<Pick<Destination, 'retryPolicy' | 'maxInFlight' | 'ratePerSecond' | 'status'>>;
export type KnownDestination = { id: DestinationId; environment: number; url: string };
export type KnownSubscription = { id: SubscriptionId; environment: number; destinationId: DestinationId };
export type KnownEvent = { id: EventId; environment: number; createdAt: number; deliveries: DeliveryId[] };
export type Post = { environment: number; type: string; n: number; key?: string | null };

/** The answer to an event's POST. */
export type Answer = AcceptedEvent & { deliveries: ScheduledDelivery[] };

export class Clients {
  readonly destinations = new Map<DestinationId, KnownDestination>();
  readonly subscriptions = new Map<SubscriptionId, KnownSubscription>();
  readonly events = new Map<EventId, KnownEvent>();
  /** Every delivery that an answer promised, and of which event. */
  readonly promised = new Map<DeliveryId, EventId>();
  readonly routing = new RoutingLedger();
  /** Operations that were begun, each with its environment. */
  readonly operations = new Map<OperationId, number>();
  /** Deliveries that were born dead, as their answer said. */
  readonly bornDead = new Set<DeliveryId>();
  readonly #keys = new Map<string, { eventId: EventId; createdAt: number; content: string }>();
  readonly #world: World;
  readonly #ids: Ids;
  #posts = 0;

  constructor(world: World) {
    this.#world = world;
    this.#ids = createIds(world.clock, world.random.fork());
  }

  nextBody(): number {
    return this.#posts++;
  }

  /** The operation's result, or null where the service refused or was away: that is no fault. */
  async attempt<T>(operation: Promise<T>): Promise<T | null> {
    try {
      return await operation;
    } catch (error) {
      const isExpected = error instanceof StoreError || error instanceof ApiError;
      if (!isExpected)
        this.#world.violate(`an operation failed: ${error instanceof Error ? error.stack : String(error)}`);
      return null;
    }
  }

  async createDestination(
    environment: number,
    behaviour: Behaviour,
    spec: DestinationSpec = {},
  ): Promise<DestinationId> {
    const id = this.#ids.next('dst');
    const url = this.#newUrl(behaviour);
    const { service, clock } = this.#world;
    const createdAt = clock.now();
    const destination = destinationWith({
      id,
      environment,
      url,
      maxInFlight: 50,
      createdAt,
      updatedAt: createdAt,
      signingKeys: [{ id: this.#ids.next('sgk'), secret: new Uint8Array(32), createdAt, expiresAt: null }],
      ...spec,
      pausedReason: spec.status === 'paused' ? 'manual' : null,
    });
    await service.api.store.createDestination(destination, { max: 1_000_000 });
    this.destinations.set(id, { id, environment, url });
    await this.#confirm(environment, id);
    return id;
  }

  /** Gives it a URL of its own: what was on the wire goes on at the old one. */
  async moveDestination(id: DestinationId, behaviour: Behaviour): Promise<void> {
    const url = this.#newUrl(behaviour);
    await this.patchDestination(id, { url });
    const known = this.destinations.get(id);
    if (known !== undefined) known.url = url;
  }

  async patchDestination(id: DestinationId, change: DestinationSpec & { url?: string }): Promise<void> {
    const { environment } = this.destinations.get(id)!;
    const { service, clock } = this.#world;
    const changed = await service.api.store.updateDestination({ environment, id, change, now: clock.now() });
    if (changed !== null) await this.#confirm(environment, id);
  }

  async deleteDestination(id: DestinationId): Promise<void> {
    const { environment } = this.destinations.get(id)!;
    const { service, clock } = this.#world;
    const subscriptions = this.routing.idsOf(id);
    this.routing.removalAsked(subscriptions);
    const isDeleted = await service.api.store.deleteDestination({ environment, id, now: clock.now() });
    if (!isDeleted) return;
    this.destinations.delete(id);
    for (const subscription of subscriptions) this.subscriptions.delete(subscription as SubscriptionId);
    await this.#confirm(environment, id);
    this.routing.removed(subscriptions);
  }

  async subscribe(
    destinationId: DestinationId,
    pattern: string,
    filter: string | null = null,
  ): Promise<SubscriptionId | null> {
    const { environment } = this.destinations.get(destinationId)!;
    const { service, clock } = this.#world;
    const id = this.#ids.next('sub');
    const createdAt = clock.now();
    const subscription = { id, environment, destinationId, eventType: pattern, filter, createdAt };
    const identity = Buffer.from(`${pattern} ${filter === null ? '' : filterIdentity(filter)} ${id}`);
    this.routing.asked({ id, environment, destinationId, pattern, filter });
    const limits = { perDestinationMax: 1_000, perEnvironmentMax: 1_000_000 };
    const { result } = await service.api.store.createSubscription({ subscription, identity }, limits);
    if (result !== 'created') return null;
    this.subscriptions.set(id, { id, environment, destinationId });
    await this.#confirm(environment, null);
    this.routing.confirmed(id);
    return id;
  }

  async unsubscribe(id: SubscriptionId): Promise<void> {
    const { environment } = this.subscriptions.get(id)!;
    const { service } = this.#world;
    this.routing.removalAsked([id]);
    const isDeleted = await service.api.store.deleteSubscription({ environment, id });
    if (!isDeleted) return;
    this.subscriptions.delete(id);
    await this.#confirm(environment, null);
    this.routing.removed([id]);
  }

  async post({ environment, type, n, key = null }: Post): Promise<Answer | null> {
    const text = bodyText(n);
    const body = { bytes: Buffer.from(text), parse: () => parseBody(text) };
    const incoming: IncomingEvent = {
      environment,
      type,
      body,
      idempotencyKey: key,
      occurredAt: null,
      traceparent: null,
    };
    const postedAt = this.routing.moment();
    const accepted = await this.#accept(incoming, `${type} ${n}`);
    if (accepted === null) return null;
    const { event, deliveries, isRepeat } = accepted;
    if (!isRepeat) {
      const subscriptionIds = deliveries.map(({ subscriptionId }) => subscriptionId);
      const answeredAt = this.routing.moment();
      const routed = { environment, type, body: body.parse(), postedAt, answeredAt, subscriptionIds };
      const fault = this.routing.findFault(routed);
      if (fault !== null) this.#world.violate(`${event.id}: ${fault}`);
    }
    const ids = deliveries.map(({ id }) => id);
    this.events.set(event.id, { id: event.id, environment, createdAt: event.createdAt, deliveries: ids });
    for (const { id, status } of deliveries) {
      this.promised.set(id, event.id);
      if (!isRepeat && status === 'dead') this.bornDead.add(id);
    }
    if (key !== null) this.#noteKey(`${environment} ${key}`, accepted, `${type} ${n}`);
    return accepted;
  }

  async #accept(incoming: IncomingEvent, content: string): Promise<Answer | null> {
    const { acceptor, store } = this.#world.service.api;
    try {
      const accepted = await acceptor.accept(incoming);
      if (!accepted.isRepeat) return accepted;
      const { environment, id: eventId } = accepted.event;
      const deliveries = await store.readScheduledDeliveries({ environment, eventId, which: 'first', after: null });
      return { ...accepted, deliveries };
    } catch (error) {
      const holder = this.#keys.get(`${incoming.environment} ${incoming.idempotencyKey}`);
      const isConflict = error instanceof ApiError && error.code === 'idempotency_key_conflict';
      if (isConflict && holder?.content === content) this.#world.violate('a conflict with the very same request');
      if (isConflict || error instanceof StoreError || (error instanceof ApiError && error.code === 'unavailable'))
        return null;
      throw error;
    }
  }

  #noteKey(key: string, { event, isRepeat }: AcceptedEvent, content: string): void {
    const holder = this.#keys.get(key);
    const isHeld = holder !== undefined && event.createdAt < holder.createdAt + 24 * 3_600_000;
    if (isHeld && holder.content !== content) this.#world.violate(`key ${key}: another event was accepted under it`);
    if (isHeld && holder.eventId !== event.id) this.#world.violate(`key ${key}: two events were accepted under it`);
    // The answer that came first may be the one that arrives last.
    if (!isRepeat || holder === undefined)
      this.#keys.set(key, { eventId: event.id, createdAt: event.createdAt, content });
  }

  /** One attempt now. Resolves with whether it was scheduled. */
  retry(id: DeliveryId): Promise<boolean> {
    return this.#sendAgain('retryDelivery', id);
  }

  replayDead(id: DeliveryId): Promise<boolean> {
    return this.#sendAgain('replayDead', id);
  }

  async #sendAgain(method: 'retryDelivery' | 'replayDead', id: DeliveryId): Promise<boolean> {
    const { service, clock, settings } = this.#world;
    const { environment } = this.events.get(this.promised.get(id)!)!;
    const now = clock.now();
    const result = await service.api.store[method]({ environment, id, now, bodyCutoff: now - settings.BODY_RETENTION });
    if (result.result === 'scheduled' && result.open !== null) service.api.dispatch(result.open, result);
    return result.result === 'scheduled';
  }

  async replayEvent(id: EventId): Promise<DeliveryId[]> {
    const { environment, deliveries } = this.events.get(id)!;
    const { acceptor } = this.#world.service.api;
    const rows = Array.from(await acceptor.replay({ environment, eventId: id, destinationIds: null }));
    for (const row of rows) {
      deliveries.push(row.id);
      this.promised.set(row.id, id);
      if (row.status === 'dead') this.bornDead.add(row.id);
    }
    return rows.map((row) => row.id);
  }

  /** Begins an operation; null: it was refused, or the service was away. */
  async operate(environment: number, request: OperationRequest): Promise<Operation | null> {
    const caller = { id: this.#ids.next('key'), environment } as ApiKey;
    const begun = await this.attempt(this.#world.service.api.operations.begin(caller, request));
    if (begun !== null) this.operations.set(begun.id, environment);
    return begun;
  }

  /** Null: it has ended. */
  async tell(id: OperationId, action: OperationAction): Promise<Operation | null> {
    const caller = { environment: this.operations.get(id)! } as ApiKey;
    return this.attempt(this.#world.service.api.operations.change(caller, id, action));
  }

  readOperation(id: OperationId): Promise<Operation | null> {
    const { store } = this.#world.service.api;
    return this.attempt(store.readOperation({ environment: this.operations.get(id)!, id }));
  }

  /** Everything committed before is in force after. */
  async #confirm(environment: number, id: DestinationId | null): Promise<void> {
    const confirm = id === null ? null : this.#world.attempts.destinations.get(id)?.confirmer();
    await this.#world.service.api.confirmChange({ environment, destinationId: id });
    confirm?.(this.#world.clock.monotonic());
  }

  #newUrl(behaviour: Behaviour): string {
    const url = `https://${formatId('req', this.#world.random.bytes(16)).slice(4)}.example/`;
    this.#world.receivers.set(url, behaviour);
    return url;
  }
}
