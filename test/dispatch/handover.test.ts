// What the dispatcher does when shards come and go: nothing starts without one, what is on the wire ends or is aborted
// without having happened, and a successor keeps to the rate of the one before.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Dispatcher } from '../../src/dispatch/dispatcher.ts';
import { createRunner } from '../../src/dispatch/runner.ts';
import type { AttemptResult } from '../../src/model/attempt.ts';
import type { OpenDelivery } from '../../src/model/delivery.ts';
import type { DestinationWithKeys } from '../../src/model/destination.ts';
import { SHARD_COUNT, idShard } from '../../src/model/id.ts';
import type { DeliveryId, DestinationId } from '../../src/model/id.ts';
import { createClockTrust } from '../../src/runtime/clock-trust.ts';
import { createIds } from '../../src/runtime/ids.ts';
import type { AttemptToRecord } from '../../src/record/recorder.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import { VirtualClock, settle } from '../sim/virtual-clock.ts';

const SUCCESS: Omit<AttemptResult, 'startedAt'> = {
  outcome: 'succeeded',
  durationMs: 1,
  responseCode: 200,
  responseHeaders: [],
  responseBody: null,
  responseBodyTruncated: false,
  error: null,
  retryAfterAt: null,
};

/** A dispatcher with a real runner; requests end when the test says so, and results are stored when it says so. */
async function setUp(overrides: Partial<DestinationWithKeys> = {}) {
  const clock = new VirtualClock();
  const ids = createIds(clock, new SeededRandom(1));
  const destination: DestinationWithKeys = {
    id: ids.next('dst'),
    environment: 1,
    url: 'https://example.com/',
    name: null,
    status: 'active',
    pausedReason: null,
    retryPolicy: null,
    maxInFlight: 10,
    ratePerSecond: null,
    headers: {},
    metadata: '{}',
    createdAt: 0,
    updatedAt: 0,
    signingKeys: [],
    ...overrides,
  };
  const state = { isAlive: true, since: 0 as number | null, storeHas: [] as OpenDelivery[] };
  const ownership = {
    mayStart: () => state.since !== null && state.isAlive,
    isAlive: () => state.isAlive,
    ownedSince: () => state.since,
    ownedShards: () => (state.since === null ? [] : [idShard(destination.id)]),
  };
  const onWire = new Map<DeliveryId, () => void>();
  const sentAt: number[] = [];
  const recorded: AttemptToRecord[] = [];
  const storing: (() => void)[] = [];
  const runner = createRunner({
    perform: ({ deliveryId }, abort) =>
      new Promise((resolve) => {
        sentAt.push(clock.monotonic());
        const end = (result: Partial<AttemptResult>): void => {
          onWire.delete(deliveryId as DeliveryId);
          resolve({ ...SUCCESS, startedAt: clock.now(), ...result });
        };
        onWire.set(deliveryId as DeliveryId, () => end({}));
        abort!.addEventListener('abort', () => end({ outcome: 'cancelled' }));
      }),
    recorder: {
      isWriting: () => true,
      idle: () => Promise.resolve(),
      async record(attempt) {
        recorded.push(attempt);
        await new Promise<void>((resolve) => storing.push(resolve));
        return { decision: null };
      },
    },
    payloads: { put: () => undefined, done: () => undefined, get: () => new Uint8Array() },
    clockTrust: createClockTrust(clock, () => undefined),
    ownership,
    clock,
    modeOf: () => 'test',
    bodyRetentionMs: 1_000_000_000,
    failingAfterMs: 0,
    onFinished: () => undefined,
  });
  const dispatcher = new Dispatcher({
    store: {
      sweep: async () => {
        const found = state.storeHas.map(({ destinationId, dueAt }) => ({ destinationId, dueAt }));
        return { destinations: found.slice(0, 1), next: null };
      },
      refill: async (requests) =>
        requests.map(({ destinationId, exclude }) => {
          const deliveries = state.storeHas.filter(({ id }) => !exclude.includes(id));
          return { destinationId, deliveries, nextDueAt: null };
        }),
      readHealth: async () => [],
    },
    clock,
    payloads: { put: () => undefined, done: () => undefined, get: () => new Uint8Array() },
    runner,
    ownership,
    destinationOf: (id: DestinationId) => (id === destination.id ? destination : undefined),
    slots: 100,
    onError: (error) => assert.fail(String(error)),
  });
  await clock.runFor(dispatcher.start());
  const delivery = (): OpenDelivery => ({
    id: ids.next('dlv', idShard(destination.id)),
    environment: 1,
    eventId: ids.next('evt'),
    destinationId: destination.id,
    rev: 0,
    status: 'pending',
    dueAt: clock.now(),
    scheduledAt: null,
    fallbackStatus: null,
    schedulePosition: 0,
    attemptCount: 0,
  });
  const offer = (count: number): void => {
    const event = { id: ids.next('evt'), environment: 1, type: 'a.b', idempotencyKey: null };
    const deliveries = Array.from({ length: count }, delivery);
    dispatcher.offer(deliveries, { ...event, occurredAt: 0, createdAt: 0 }, new Uint8Array());
  };
  const shards = new Set([idShard(destination.id)]);
  return { clock, dispatcher, state, onWire, sentAt, recorded, storing, delivery, offer, shards, destination };
}

describe('shards that go', () => {
  test('start nothing more; they are free when what was on the wire has been stored', async () => {
    const { clock, dispatcher, state, onWire, sentAt, recorded, storing, offer, shards } = await setUp();
    offer(30);
    await settle();
    assert.equal(onWire.size, 10);
    let isFree = false;
    state.since = null;
    void dispatcher.release(shards, 2_000).then(() => (isFree = true));
    for (const end of [...onWire.values()]) end();
    await settle();
    assert.deepEqual([recorded.length, isFree], [10, false], 'the results are not stored yet');
    assert.deepEqual(dispatcher.busyShards().size, 0, 'they are not ours any more');
    for (const store of storing) store();
    await settle();
    await clock.run(3_000);
    assert.deepEqual([isFree, sentAt.length], [true, 10]);
    assert.equal(dispatcher.stats().waiting, 0);
  });

  test('abort what takes too long as if it had not happened', async () => {
    const { clock, dispatcher, state, onWire, recorded, offer, shards } = await setUp();
    offer(3);
    await settle();
    state.since = null;
    const released = dispatcher.release(shards, 2_000);
    await clock.run(1_999);
    assert.equal(onWire.size, 3);
    await clock.runFor(released);
    assert.deepEqual([onWire.size, recorded.length], [0, 0]);
  });

  test('that are lost take their results with them, unless nobody has touched the delivery since', async () => {
    const { dispatcher, state, onWire, recorded, offer, shards } = await setUp();
    offer(2);
    await settle();
    const [first] = [...onWire.values()];
    first!();
    await settle();
    assert.equal(recorded[0]!.isOurs(), true);
    state.since = null;
    void dispatcher.release(shards, 0);
    await settle();
    assert.equal(recorded[0]!.isOurs(), false, 'its result is being stored: a successor may have been there before');
    assert.deepEqual([onWire.size, recorded.length], [0, 1], 'the other is aborted at once');
  });
});

describe('shards that come', () => {
  test('are swept, and what is found goes out', async () => {
    const { clock, dispatcher, state, onWire, delivery, shards } = await setUp();
    state.since = null;
    state.storeHas = [delivery(), delivery()];
    await clock.run(61_000);
    assert.equal(onWire.size, 0);
    await clock.runFor(dispatcher.load(shards, () => (state.since = clock.monotonic())));
    await clock.runFor(dispatcher.sweep([...shards]));
    await settle();
    assert.equal(onWire.size, 2);
  });

  test('keep to a rate that the owner before may have used up', async () => {
    const { clock, dispatcher, state, sentAt, onWire, storing, offer, shards } = await setUp({ ratePerSecond: 10 });
    await clock.run(60_000);
    state.since = clock.monotonic();
    await clock.runFor(dispatcher.load(shards));
    offer(5);
    for (let i = 0; i < 100; i++) {
      await clock.run(10);
      for (const end of [...onWire.values()]) end();
      for (const store of storing.splice(0)) store();
    }
    const since = sentAt.map((at) => Math.round(at - state.since!));
    assert.ok(since[0]! >= 100, `the first went out after ${since[0]} ms`);
    assert.equal(sentAt.length, 5);
  });
});

describe('a lease that has run out', () => {
  test('holds everything back, and nothing is forgotten', async () => {
    const { clock, dispatcher, state, onWire, offer } = await setUp();
    state.isAlive = false;
    offer(4);
    await clock.run(5_000);
    assert.equal(onWire.size, 0);
    state.isAlive = true;
    dispatcher.resume();
    await settle();
    assert.equal(onWire.size, 4);
  });
});

describe('a wake-up', () => {
  test('brings what another node stored, also for a destination that nobody here has heard of', async () => {
    const { dispatcher, state, onWire, delivery, destination, shards } = await setUp();
    state.storeHas = [delivery()];
    assert.equal(dispatcher.wake([destination.id], { isForced: false }), true);
    await settle();
    assert.equal(onWire.size, 1);
    const shard = [...shards][0]!;
    const stranger = createIds(new VirtualClock(), new SeededRandom(2)).next('dst', shard);
    assert.equal(dispatcher.wake([stranger], { isForced: false }), false);
    assert.ok(shard < SHARD_COUNT);
  });
});
