// Valid values for store tests in few words, on a clock that the test sets: ids, and so ages, follow it.
import { createIds, type Ids } from '../../src/runtime/ids.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import type {
  DeadReason,
  DeliveryState,
  DeliveryStatus,
  DeliveryWithAttempts,
  OpenDelivery,
} from '../../src/model/delivery.ts';
import type { DestinationWithKeys, SigningKey } from '../../src/model/destination.ts';
import { idShard, type DeliveryId, type DestinationId, type EventId, type SubscriptionId } from '../../src/model/id.ts';
import type { ApiKey } from '../../src/model/api-key.ts';
import type { Subscription } from '../../src/model/subscription.ts';
import type { Decision } from '../../src/model/transitions.ts';
import type {
  DeliveryFilter,
  NewDelivery,
  NewEvent,
  ResultToRecord,
  ScheduledPageRequest,
  SendAgainRequest,
  Store,
} from '../../src/store/store.ts';
import { destinationWith } from '../support/destinations.ts';

export const START = Date.UTC(2026, 0, 1);
export const LIVE = 1;
export const TEST = 2;
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const NO_FILTER: DeliveryFilter = { eventId: null, destinationId: null, status: null, since: null, until: null };
export const MANY = { perDestinationMax: 1_000, perEnvironmentMax: 1_000_000 };

/** What the answer to an event's POST listed, of few deliveries. */
export function firstOf(environment: number, eventId: EventId): ScheduledPageRequest {
  return { environment, eventId, which: 'first', after: null };
}

/** `now` starts at START and moves only when the test says so. */
export class Scene {
  readonly store: Store;
  readonly ids: Ids;
  now = START;

  constructor(store: Store) {
    this.store = store;
    this.ids = createIds({ ...systemClock, now: () => this.now }, systemRandom);
  }

  pass(ms: number): number {
    this.now += ms;
    return this.now;
  }

  destination(overrides: Partial<DestinationWithKeys> = {}): DestinationWithKeys {
    return destinationWith({
      id: this.ids.next('dst'),
      environment: LIVE,
      url: 'https://receiver.example/hook',
      maxInFlight: 50,
      createdAt: this.now,
      updatedAt: this.now,
      signingKeys: [this.signingKey()],
      ...overrides,
    });
  }

  signingKey(): SigningKey {
    return { id: this.ids.next('sgk'), secret: systemRandom.bytes(32), createdAt: this.now, expiresAt: null };
  }

  subscription(destinationId: DestinationId, overrides: Partial<Subscription> = {}): Subscription {
    return {
      id: this.ids.next('sub'),
      environment: LIVE,
      destinationId,
      eventType: 'order.paid',
      filter: null,
      createdAt: this.now,
      ...overrides,
    };
  }

  apiKey(overrides: Partial<ApiKey> = {}): ApiKey {
    return {
      id: this.ids.next('key'),
      environment: LIVE,
      mode: 'live',
      name: null,
      scopes: ['publish', 'read'],
      prefix: 'pr_live_abcd',
      last4: 'wxyz',
      hash: systemRandom.bytes(32),
      createdAt: this.now,
      expiresAt: null,
      lastUsedAt: null,
      ...overrides,
    };
  }

  delivery(destinationId: DestinationId): NewDelivery {
    const id = this.ids.next('dlv', idShard(destinationId));
    return { id, destinationId, subscriptionId: this.ids.next('sub') };
  }

  async createDestination(overrides: Partial<DestinationWithKeys> = {}): Promise<DestinationId> {
    const destination = this.destination(overrides);
    await this.store.createDestination(destination, { max: 1_000_000 });
    return destination.id;
  }

  async createSubscription(destinationId: DestinationId, eventType = 'order.paid'): Promise<SubscriptionId> {
    const subscription = this.subscription(destinationId, { eventType });
    await this.store.createSubscription({ subscription, identity: systemRandom.bytes(32) }, MANY);
    return subscription.id;
  }

  async configVersion(environment = LIVE): Promise<number> {
    const environments = await this.store.readEnvironments();
    return environments.find((one) => one.environment === environment)!.configVersion;
  }

  /** An event for these destinations, matched against the configuration as it is. */
  async event(to: readonly DestinationId[], overrides: Partial<NewEvent> = {}): Promise<NewEvent> {
    const environment = overrides.environment ?? LIVE;
    return {
      id: this.ids.next('evt'),
      environment,
      type: 'order.paid',
      idempotencyKey: null,
      occurredAt: this.now,
      traceparent: null,
      createdAt: this.now,
      dueAt: this.now,
      body: new TextEncoder().encode('{"amount":1.0}'),
      configVersion: await this.configVersion(environment),
      idempotency: null,
      deliveries: to.map((id) => this.delivery(id)),
      ...overrides,
    };
  }

  async accept(to: readonly DestinationId[], overrides: Partial<NewEvent> = {}): Promise<NewEvent> {
    const event = await this.event(to, overrides);
    await this.store.acceptEvents([event]);
    return event;
  }

  /** One event with one delivery; both ids. */
  async acceptOne(to: DestinationId): Promise<{ eventId: EventId; id: DeliveryId }> {
    const event = await this.accept([to]);
    return { eventId: event.id, id: event.deliveries[0]!.id };
  }

  /** What dispatching would hold of an unfinished delivery. */
  async open(destinationId: DestinationId, id: DeliveryId): Promise<OpenDelivery> {
    const request = { destinationId, dueBy: Number.MAX_SAFE_INTEGER, dueFrom: 0, limit: 1_000, exclude: [] };
    const [refill] = await this.store.refill([request]);
    const open = refill!.deliveries.find((delivery) => delivery.id === id);
    if (open === undefined) throw new Error(`${id} is not unfinished`);
    return open;
  }

  record(...results: ResultToRecord[]): ReturnType<Store['recordResults']> {
    return this.store.recordResults({ results, health: [], now: this.now });
  }

  list(filter: Partial<DeliveryFilter> = {}): ReturnType<Store['listDeliveries']> {
    const all = { ...NO_FILTER, ...filter };
    return this.store.listDeliveries({ environment: LIVE, filter: all, before: null, limit: 100 });
  }

  read(id: DeliveryId): Promise<DeliveryWithAttempts | null> {
    return this.store.readDelivery({ environment: LIVE, id });
  }

  sendAgain(id: DeliveryId): SendAgainRequest {
    return { environment: LIVE, id, now: this.now, bodyCutoff: 0 };
  }

  async unfinishedCount(): Promise<number> {
    const { unfinished } = await this.store.readStats();
    return unfinished.reduce((sum, one) => sum + one.count, 0);
  }
}

export function attempt(overrides: Partial<ResultToRecord['attempt']> = {}): ResultToRecord['attempt'] {
  return {
    trigger: 'schedule',
    outcome: 'succeeded',
    startedAt: START,
    durationMs: 12,
    responseCode: 200,
    responseHeaders: '[["content-type","text/plain"]]',
    responseBody: new TextEncoder().encode('ok'),
    responseBodyTruncated: false,
    error: null,
    ...overrides,
  };
}

const UNDECIDED = {
  deadReason: null,
  completedAt: null,
  dueAt: null,
  scheduledAt: null,
  fallbackStatus: null,
  schedulePosition: 0,
  pauseDestination: null,
};

export const succeed = (at = START): Decision => ({ ...UNDECIDED, status: 'succeeded', completedAt: at });

export const retryAt = (dueAt: number, schedulePosition = 1): Decision => ({
  ...UNDECIDED,
  status: 'retrying',
  dueAt,
  schedulePosition,
});

export const die = (deadReason: DeadReason = 'exhausted', at = START): Decision => ({
  ...UNDECIDED,
  status: 'dead',
  deadReason,
  completedAt: at,
});

/** A forced attempt of a finished delivery failed: it is again what it was. */
export const fallBack = (
  status: DeliveryStatus,
  { deadReason, completedAt }: Pick<DeliveryState, 'deadReason' | 'completedAt'>,
): Decision => ({ ...UNDECIDED, status, deadReason, completedAt });

export function result(id: DeliveryId, rev: number, decision: Decision | null): ResultToRecord {
  return { id, rev, attempt: attempt(), decision };
}
