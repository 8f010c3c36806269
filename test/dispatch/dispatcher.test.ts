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
import { openDelivery } from '../support/deliveries.ts';

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
async function setUp(options: { slots?: number; mayRun?: () => boolean } = {}) {
  const { slots = 16, mayRun = () => true } = options;
  const clock = new VirtualClock();
  const running = new Map<DeliveryId, { destination: DestinationId; freeWire: () => void; end: () => void }>();
  const runner: Runner = {
    mayRun,
    attempt: (queue, { delivery }, freeWire) =>
      new Promise((resolve) => {
        const end = (): void => {
          running.delete(delivery.id);
          resolve({ dueAt: null });
        };
        running.set(delivery.id, { destination: queue.id, freeWire, end });
      }),
    abandon: () => undefined,
  };
  const dispatcher = new Dispatcher({
    ownership: soleOwnership,
    store: {
      sweep: async () => ({ destinations: [], next: null }),
      refill: async (requests) =>
        requests.map(({ destinationId }) => ({ destinationId, deliveries: [], nextDueAt: null })),
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
  const offer = (destinationId: DestinationId, count: number): void => {
    const event = {
      id: 'evt_1',
      environment: 1,
      type: 'a.b',
      idempotencyKey: null,
      occurredAt: 0,
      createdAt: 0,
    } as const;
    const deliveries = Array.from({ length: count }, (): OpenDelivery => {
      const id = `dlv_${String(made++).padStart(8, '0')}` as const;
      return openDelivery({ id, destinationId, dueAt: clock.now() });
    });
    dispatcher.offer(deliveries, event, new Uint8Array());
  };
  const onWire = (id: DestinationId): number => [...running.values()].filter((one) => one.destination === id).length;
  return { dispatcher, clock, offer, onWire, running };
}

describe('memory', () => {
  test('one destination takes a thousand places, and all together no more than the bound', async () => {
    const { dispatcher, offer } = await setUp({ mayRun: () => false });
    offer('dst_0', 3_000);
    assert.equal(dispatcher.stats().waiting, 1_000);
    for (let n = 1; n < 150; n++) offer(`dst_${n}`, 1_500);
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
