// A store with every kind of row in it, and everything that its interface shows of one.
import assert from 'node:assert/strict';
import type { DeliveryId, DestinationId, EventId } from '../../src/model/id.ts';
import type { Operation } from '../../src/model/operation.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import type { Store } from '../../src/store/store.ts';
import { DAY, HOUR, LIVE, MANY, START, TEST, attempt, die, result, retryAt, succeed, type Scene } from './scene.ts';

const ENVIRONMENTS = [LIVE, TEST];
const FINGERPRINT = new Uint8Array(32).fill(3);
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** The key that `fill` leaves taken. */
export const TAKEN_KEY = 'order-1-paid';

/** Ends at START + 41 days and some hours. */
export async function fill(scene: Scene, bodyBytes = 100_000): Promise<void> {
  await configure(scene);
  await makeHistory(scene, bodyBytes);
  await count(scene);
}

const ALL_LIVE = { span: 'hour', environment: LIVE, kind: 'environment', subject: '' } as const;

async function count({ store, now }: Scene): Promise<void> {
  const { rows } = await store.listDestinations({ environment: LIVE, status: null, before: null, limit: 100 });
  const { id } = rows[0]!;
  const counted = { at: now, writer: 2 ** 47, counts: systemRandom.bytes(300) };
  await store.writeCounts([
    { ...ALL_LIVE, ...counted },
    { ...ALL_LIVE, kind: 'destination', subject: id, ...counted },
    { ...ALL_LIVE, span: 'minute', kind: 'event_type', subject: 'order.paid', ...counted },
  ]);
  const lastFailure = { at: now, outcome: 'reset', responseCode: null, error: 'by \u0000 “host”' } as const;
  const times = { reportedAt: now, lastAttemptAt: now, lastSuccessAt: null };
  await store.writeActivity([
    { destinationId: id, environment: LIVE, ...times, lastFailure, inFlight: 1, inFlightLimit: 25 },
  ]);
}

async function configure(scene: Scene): Promise<void> {
  const { store } = scene;
  await store.createApiKey(scene.apiKey({ name: 'Büro \u0000 ✓' }));
  const key = scene.apiKey({ environment: TEST, mode: 'test', expiresAt: START + DAY });
  await store.createApiKey(key);
  await store.touchApiKeys([{ id: key.id, lastUsedAt: START + 5 }]);
  const rich = scene.destination({
    name: 'Büro \u0000 ✓',
    retryPolicy: { schedule_seconds: [5, 60], jitter: 0 },
    ratePerSecond: 0.1,
    headers: { 'X-Token': 's3cret' },
    signatureStyle: 'svix',
    metadata: '{"a":[1,2]}',
  });
  await store.createDestination(rich, { max: 100 });
  const rotation = { key: scene.signingKey(), previousExpiresAt: START + DAY, now: scene.pass(HOUR) };
  await store.rotateSigningKey({ environment: LIVE, id: rich.id, ...rotation });
  await store.createDestination(scene.destination({ environment: TEST }), { max: 100 });
  const subscription = scene.subscription(rich.id, { eventType: 'order.**', filter: '{"$.a":{"$gte":1}}' });
  await store.createSubscription({ subscription, identity: systemRandom.bytes(32) }, MANY);
  const gone = await scene.createSubscription(rich.id);
  await store.deleteSubscription({ environment: LIVE, id: gone });
}

async function makeHistory(scene: Scene, bodyBytes: number): Promise<void> {
  const { store } = scene;
  const [usual, paused, deleted] = [
    await scene.createDestination(),
    await scene.createDestination(),
    await scene.createDestination(),
  ];
  // Erased: only the rows are left of it.
  const old = await scene.accept([usual, usual]);
  await scene.record(...old.deliveries.map(({ id }) => result(id, 0, succeed())));
  scene.pass(40 * DAY);
  while ((await store.eraseBodies({ cutoff: scene.now - DAY, now: scene.now, budgetMs: 100 })).more);
  const body = systemRandom.bytes(bodyBytes);
  const event = await scene.accept([usual, usual, usual, usual, usual, paused, deleted, deleted], {
    body,
    idempotencyKey: TAKEN_KEY,
    idempotency: { fingerprint: FINGERPRINT, expiresAt: scene.now + DAY },
    traceparent: TRACEPARENT,
  });
  const [succeeded, dead, retrying, forced, forcedAfterDeath] = event.deliveries.map(({ id }) => id);
  scene.pass(HOUR);
  await store.recordResults({
    results: [
      result(succeeded!, 0, succeed(scene.now)),
      result(dead!, 0, die('gone', scene.now)),
      { ...result(retrying!, 0, retryAt(scene.now + DAY)), attempt: attempt(REFUSED) },
      result(forcedAfterDeath!, 0, die('exhausted', scene.now)),
    ],
    health: [{ destinationId: usual, failingSince: START, failureCount: 7, heldUntil: scene.now + HOUR }],
    now: scene.now,
  });
  for (const id of [forced!, forcedAfterDeath!]) await store.retryDelivery(scene.sendAgain(id));
  const pause = { environment: LIVE, id: paused, change: { status: 'paused' as const }, now: scene.now };
  await store.updateDestination(pause);
  await store.deleteDestination({ environment: LIVE, id: deleted, now: scene.now });
  await operate(scene, usual, dead!);
  await scene.accept([], { environment: TEST, type: 'nobody.listens' });
  scene.pass(DAY);
}

/** One operation that has ended, and one that goes on. */
async function operate({ store, ids, now }: Scene, destinationId: DestinationId, dead: DeliveryId): Promise<void> {
  for (const end of ['done', null] as const) {
    const range = { since: START, until: null, perSecond: 100 };
    const operation: Operation = {
      id: ids.next('op'),
      environment: LIVE,
      request: { kind: 'destination_recovery', destinationId, ...range },
      status: 'running',
      rev: 0,
      position: '{"list":0}',
      total: 2,
      done: 0,
      failed: 0,
      skipped: 0,
      createdAt: now,
      updatedAt: now,
      finishedAt: null,
      createdBy: ids.next('key'),
    };
    await store.createOperation({ operation, identity: systemRandom.bytes(32) }, { unfinishedMax: 100 });
    const nothing = { counted: 0, failed: 0, sendAgain: null, replays: null };
    await store.advanceOperation({ ...nothing, operation, now, position: dead, end, bodyCutoff: 0 });
  }
}

const REFUSED = {
  outcome: 'connect_failed' as const,
  responseCode: null,
  responseHeaders: null,
  responseBody: null,
  error: 'refused by \u0000 “host”',
};

/** What the interface shows, by question. */
export async function readEverything(store: Store): Promise<Record<string, unknown>> {
  const perEnvironment = await Promise.all(ENVIRONMENTS.map((environment) => readEnvironment(store, environment)));
  return {
    environments: await store.readEnvironments(),
    apiKeys: await store.readApiKeys(),
    health: await store.readHealth(),
    sweep: await readSweep(store),
    counts: await store.readCounts({ ...ALL_LIVE, since: null, until: null, after: null, limit: 100 }),
    unfinished: (await store.readStats()).unfinished.toSorted((a, b) => a.environment - b.environment),
    perEnvironment,
  };
}

async function readEnvironment(store: Store, environment: number) {
  const page = { environment, before: null, limit: 1_000 };
  const everything = { eventId: null, destinationId: null, status: null, since: null, until: null };
  const destinations = (await store.listDestinations({ ...page, status: null })).rows;
  const deliveries = (await store.listDeliveries({ ...page, filter: everything })).rows;
  const events = (await store.listEvents({ ...page, type: null, since: null, until: null })).rows;
  const each = <Id, Row>(ids: Id[], read: (id: Id) => Promise<Row>): Promise<Row[]> => Promise.all(ids.map(read));
  return {
    operations: await store.listOperations(page),
    changes: await store.readChanges({ environment, after: 0, limit: 10_000 }),
    destinations: await each(
      destinations.map(({ id }) => id),
      (id: DestinationId) => store.readDestination({ environment, id }),
    ),
    subscriptions: await store.listSubscriptions({ ...page, destinationId: null }),
    events: await each(
      events.map(({ id }) => id),
      (id: EventId) => store.readEvent({ environment, id }),
    ),
    conditions: await store.readConditions(destinations.map(({ id }) => id)),
    payloads: await store.readPayloads(events.map(({ id }) => id)),
    deliveries: await each(
      deliveries.map(({ id }) => id),
      (id: DeliveryId) => readHistory(store, environment, id),
    ),
    refills: await store.refill(destinations.map(({ id: destinationId }) => refillOf(destinationId))),
  };
}

/** Headers as values: so the layouts have them, whatever form the store gives them in. */
async function readHistory(store: Store, environment: number, id: DeliveryId) {
  const found = await store.readDelivery({ environment, id });
  const attempts = found?.attempts.map(({ responseHeaders, ...rest }) => {
    return { ...rest, responseHeaders: responseHeaders === null ? null : (JSON.parse(responseHeaders) as unknown) };
  });
  return { ...found, attempts };
}

const refillOf = (destinationId: DestinationId) => {
  return { destinationId, dueBy: Number.MAX_SAFE_INTEGER, dueFrom: 0, limit: 100, exclude: [] };
};

/** Each adapter has an order of its own. */
async function readSweep(store: Store): Promise<unknown> {
  const { destinations, next } = await store.sweep({ after: null, limit: 1_000 });
  assert.equal(next, null);
  return destinations.toSorted((a, b) => (a.destinationId < b.destinationId ? -1 : 1));
}
