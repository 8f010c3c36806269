// What the dispatcher shares out over all destinations: memory and slots. How it behaves in time is in test/sim.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Dispatcher } from '../../src/dispatch/dispatcher.ts';
import { soleOwnership } from '../../src/cluster/sole-node.ts';
import type { Runner } from '../../src/dispatch/runner.ts';
import type { OpenDelivery } from '../../src/model/delivery.ts';
import type { DestinationWithKeys } from '../../src/model/destination.ts';
import type { DeliveryId, DestinationId } from '../../src/model/id.ts';
import { settle, VirtualClock } from '../sim/virtual-clock.ts';

function destination(id: DestinationId): DestinationWithKeys {
  return {
    id,
    environment: 1,
    url: 'https://example.com/',
    name: null,
    status: 'active',
    pausedReason: null,
    retryPolicy: null,
    maxInFlight: 1_000,
    ratePerSecond: null,
    headers: {},
    metadata: '{}',
    createdAt: 0,
    updatedAt: 0,
    signingKeys: [],
  };
}

/** A dispatcher whose attempts end when the test says so, over a store with nothing in it. */
async function setUp(options: { slots?: number; mayRun?: () => boolean; refill?: () => OpenDelivery[] } = {}) {
  const { slots = 16, mayRun = () => true, refill = () => [] } = options;
  const clock = new VirtualClock();
  const running = new Map<DeliveryId, { destination: DestinationId; freeWire: () => void; end: () => void }>();
  const sent: DeliveryId[] = [];
  const runner: Runner = {
    mayRun,
    attempt: (queue, { delivery }, freeWire) =>
      new Promise((resolve) => {
        const end = (): void => {
          running.delete(delivery.id);
          resolve({ dueAt: null });
        };
        running.set(delivery.id, { destination: queue.id, freeWire, end });
        sent.push(delivery.id);
      }),
    abandon: () => undefined,
  };
  const dispatcher = new Dispatcher({
    ownership: soleOwnership,
    store: {
      sweep: async () => ({ destinations: [], next: null }),
      refill: async (requests) =>
        requests.map(({ destinationId }) => ({ destinationId, deliveries: refill(), nextDueAt: null })),
      readHealth: async () => [],
    },
    clock,
    payloads: { put: () => undefined, done: () => undefined, get: () => new Uint8Array() },
    runner,
    destinationOf: destination,
    slots,
    onError: (error) => assert.fail(String(error)),
  });
  await clock.runFor(dispatcher.start());

  let made = 0;
  const offerAll = (deliveries: OpenDelivery[]): void => {
    const times = { occurredAt: 0, createdAt: 0 };
    const event = { id: 'evt_1', environment: 1, type: 'a.b', idempotencyKey: null, ...times } as const;
    dispatcher.offer(deliveries, event, new Uint8Array());
  };
  const offer = (destinationId: DestinationId, count: number): void =>
    offerAll(
      Array.from({ length: count }, () => openDelivery(`dlv_${String(made++).padStart(8, '0')}`, destinationId)),
    );
  const onWire = (id: DestinationId): number => [...running.values()].filter((one) => one.destination === id).length;
  return { dispatcher, clock, offer, offerAll, onWire, running, sent };
}

function openDelivery(id: DeliveryId, destinationId: DestinationId): OpenDelivery {
  return {
    id,
    environment: 1,
    eventId: 'evt_1',
    destinationId,
    rev: 0,
    status: 'pending',
    dueAt: new VirtualClock().now(),
    scheduledAt: null,
    fallbackStatus: null,
    schedulePosition: 0,
    attemptCount: 0,
  };
}

describe('memory', () => {
  test('one destination takes a thousand places, and all together no more than the bound', async () => {
    const { dispatcher, offer } = await setUp({ mayRun: () => false });
    offer('dst_0', 3_000);
    await settle();
    assert.equal(dispatcher.stats().waiting, 1_000);
    for (let n = 1; n < 150; n++) offer(`dst_${n}`, 1_500);
    await settle();
    // Past 100,000 each destination keeps a foothold of sixteen.
    const { waiting } = dispatcher.stats();
    assert.ok(waiting >= 100_000 && waiting <= 100_000 + 150 * 16, `${waiting} wait`);
  });

  test('what is deleted gives its places back', async () => {
    const { dispatcher, offer } = await setUp({ mayRun: () => false });
    offer('dst_1', 500);
    offer('dst_2', 5);
    dispatcher.destinationDeleted('dst_1');
    assert.deepEqual(dispatcher.stats(), { onWire: 0, waiting: 5, queues: 1 });
  });
});

describe('very many deliveries of one event', () => {
  test('are offered some a turn; what a refill brings meanwhile is not sent twice', async () => {
    const late = openDelivery('dlv_late', 'dst_late');
    const stored = [[late], []];
    const { dispatcher, clock, sent, running, offerAll } = await setUp({ refill: () => stored.shift()! });
    const turns: (() => void)[] = [];
    clock.afterTurn = (callback) => void turns.push(callback);
    offerAll([...Array.from({ length: 500 }, (_, n) => openDelivery(`dlv_${n}`, 'dst_first')), late]);
    assert.equal(dispatcher.stats().queues, 1);
    await clock.run(10);
    dispatcher.wake(['dst_late'], { isForced: false });
    await clock.run(10);
    running.get('dlv_late')!.end();
    await settle();
    while (turns.length > 0) turns.shift()!();
    await settle();
    assert.equal(stored.length, 0, 'the store was asked again');
    assert.equal(sent.filter((id) => id === 'dlv_late').length, 1);
  });
});

describe('slots', () => {
  test('go to whoever has the fewest on the wire; the last quarter to those with hardly any', async () => {
    const { offer, onWire } = await setUp();
    offer('dst_a', 100);
    assert.equal(onWire('dst_a'), 12, 'one alone has three quarters');
    offer('dst_b', 100);
    assert.equal(onWire('dst_b'), 3, 'another, which had none, takes from the rest while it has hardly any');
    offer('dst_c', 100);
    assert.equal(onWire('dst_c'), 1, 'and the last');
  });

  test('even out as they become free', async () => {
    const { clock, offer, onWire, running } = await setUp();
    offer('dst_a', 100);
    offer('dst_b', 100);
    for (let i = 0; i < 40; i++) {
      running.values().next().value!.end();
      await clock.run(1);
    }
    assert.ok(Math.abs(onWire('dst_a') - onWire('dst_b')) <= 1, `${onWire('dst_a')} and ${onWire('dst_b')}`);
  });

  test('are free as soon as the request has ended, while its result is still being stored', async () => {
    const { offer, onWire, running, dispatcher } = await setUp({ slots: 4 });
    offer('dst_a', 10);
    assert.equal(onWire('dst_a'), 3);
    running.values().next().value!.freeWire();
    assert.equal(onWire('dst_a'), 4, 'three on the wire, one being stored');
    assert.equal(dispatcher.stats().onWire, 3);
    // But no more than twice the slots may be under way in all.
    for (const { freeWire } of running.values()) freeWire();
    assert.equal(running.size, 8);
  });

  test('are filled over several turns: a large fan-out must not hold up the event loop', async () => {
    const { offer, running } = await setUp({ slots: 1_000 });
    offer('dst_a', 300);
    const atOnce = running.size;
    assert.ok(atOnce > 0 && atOnce <= 100, `${atOnce} starts in one turn`);
    await settle();
    assert.equal(running.size, 300);
  });

  test('are not used while results cannot be stored, and are when they can be again', async () => {
    let mayRun = false;
    const { dispatcher, offer, onWire } = await setUp({ mayRun: () => mayRun });
    offer('dst_a', 5);
    assert.equal(onWire('dst_a'), 0);
    mayRun = true;
    dispatcher.resume();
    assert.equal(onWire('dst_a'), 5);
  });
});
