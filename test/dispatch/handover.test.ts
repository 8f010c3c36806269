// What the dispatcher does when shards come and go: nothing starts without one, what is on the wire ends or is aborted
// without having happened, and a successor keeps to the rate of the one before.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OpenDelivery } from '../../src/model/delivery.ts';
import type { DestinationWithKeys } from '../../src/model/destination.ts';
import { SHARD_COUNT, idShard } from '../../src/model/id.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import { VirtualClock, settle } from '../sim/virtual-clock.ts';
import { openDelivery } from '../support/deliveries.ts';
import { destinationWith } from '../support/destinations.ts';
import { startDispatching } from '../support/dispatching.ts';

/** One destination on a node that may lose its lease (`isAlive`) or its shard (`since`). */
async function setUp(overrides: Partial<DestinationWithKeys> = {}) {
  const ids = createIds(new VirtualClock(), new SeededRandom(1));
  const destination = destinationWith({ id: ids.next('dst'), maxInFlight: 10, ...overrides });
  const shard = idShard(destination.id);
  const state = { isAlive: true, since: 0 as number | null };
  const dispatching = await startDispatching({
    destinationOf: (id) => (id === destination.id ? destination : undefined),
    ownership: {
      mayStart: () => state.since !== null && state.isAlive,
      isAlive: () => state.isAlive,
      ownedSince: () => state.since,
      ownedShards: () => (state.since === null ? [] : [shard]),
    },
    slots: 100,
  });
  const { clock } = dispatching;
  const delivery = (eventId = ids.next('evt')): OpenDelivery =>
    openDelivery({ id: ids.next('dlv', shard), eventId, destinationId: destination.id, dueAt: clock.now() });
  const offer = (count: number): void => {
    const eventId = ids.next('evt');
    dispatching.offer(Array.from({ length: count }, () => delivery(eventId)));
  };
  const shards = new Set([shard]);
  const resultCount = () => dispatching.storing.flatMap(({ results }) => results).length;
  return { ...dispatching, state, delivery, offer, shards, destination, resultCount };
}

describe('shards that go', () => {
  test('start nothing more; they are free when what was on the wire has been stored', async () => {
    const { clock, dispatcher, state, onWire, sentAt, resultCount, storing, offer, shards } = await setUp();
    offer(30);
    await settle();
    assert.equal(onWire.size, 10);
    let isFree = false;
    state.since = null;
    void dispatcher.release(shards, 2_000).then(() => (isFree = true));
    for (const { end } of [...onWire.values()]) end();
    await settle();
    assert.deepEqual([resultCount(), isFree], [10, false], 'the results are not stored yet');
    assert.deepEqual(dispatcher.busyShards().size, 0, 'they are not ours any more');
    for (const { answer } of storing) answer();
    await settle();
    await clock.run(3_000);
    assert.deepEqual([isFree, sentAt.length], [true, 10]);
    assert.equal(dispatcher.stats().waiting, 0);
  });

  test('abort what takes too long as if it had not happened', async () => {
    const { clock, dispatcher, state, onWire, resultCount, offer, shards } = await setUp();
    offer(3);
    await settle();
    state.since = null;
    const released = dispatcher.release(shards, 2_000);
    await clock.run(1_999);
    assert.equal(onWire.size, 3);
    await clock.runFor(released);
    assert.deepEqual([onWire.size, resultCount()], [0, 0]);
  });

  test('that are lost take their results with them, unless nobody has touched the delivery since', async () => {
    for (const isLost of [false, true]) {
      const { dispatcher, state, onWire, storing, resultCount, offer, shards, delivery } = await setUp();
      offer(2);
      await settle();
      const [first] = [...onWire.values()];
      first!.end();
      await settle();
      assert.equal(resultCount(), 1);
      if (isLost) {
        state.since = null;
        void dispatcher.release(shards, 0);
        await settle();
        assert.deepEqual([onWire.size, resultCount()], [0, 1], 'the other is aborted at once');
      }
      storing[0]!.answer({ result: 'conflict', current: delivery() });
      await settle();
      // Ours: decided again on what is there now. Lost: what the successor has touched is its own.
      assert.equal(resultCount(), isLost ? 1 : 2);
    }
  });
});

describe('shards that come', () => {
  test('are swept, and what is found goes out', async () => {
    const { clock, dispatcher, state, stored, onWire, delivery, shards } = await setUp();
    state.since = null;
    stored.push(delivery(), delivery());
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
      for (const { end } of [...onWire.values()]) end();
      for (const { answer } of storing.splice(0)) answer();
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
    dispatcher.pump();
    await settle();
    assert.equal(onWire.size, 4);
  });
});

describe('a wake-up', () => {
  test('brings what another node stored, also for a destination that nobody here has heard of', async () => {
    const { dispatcher, stored, onWire, delivery, destination, shards } = await setUp();
    stored.push(delivery());
    assert.equal(dispatcher.wake([{ destinationId: destination.id, dueAt: delivery().dueAt }]), true);
    await settle();
    assert.equal(onWire.size, 1);
    const shard = [...shards][0]!;
    const stranger = createIds(new VirtualClock(), new SeededRandom(2)).next('dst', shard);
    assert.equal(dispatcher.wake([{ destinationId: stranger, dueAt: delivery().dueAt }]), false);
    assert.ok(shard < SHARD_COUNT);
  });
});
