// What the dispatcher shares out over all destinations: memory and slots. How it behaves in time is in test/sim.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OpenDelivery } from '../../src/model/delivery.ts';
import type { DestinationId } from '../../src/model/id.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import { settle, VirtualClock } from '../sim/virtual-clock.ts';
import { openDelivery } from '../support/deliveries.ts';
import { destinationWith } from '../support/destinations.ts';
import { ALL_OURS, startDispatching } from '../support/dispatching.ts';

/** Any destination there may be, on a node that has its lease unless the test says otherwise. */
async function setUp({ slots = 16, isAlive = () => true }: { slots?: number; isAlive?: () => boolean } = {}) {
  const dispatching = await startDispatching({
    destinationOf: (id) => destinationWith({ id }),
    ownership: { ...ALL_OURS, isAlive },
    slots,
  });
  const { clock } = dispatching;
  let made = 0;
  const offer = (destinationId: DestinationId, count: number): void => {
    const deliveries = Array.from({ length: count }, (): OpenDelivery => {
      const id = `dlv_${String(made++).padStart(8, '0')}` as const;
      return openDelivery({ id, eventId: EVENT, destinationId, dueAt: clock.now() });
    });
    dispatching.offer(deliveries);
  };
  const onWireOf = (wanted: DestinationId): number =>
    [...dispatching.onWire.values()].filter(({ destinationId }) => destinationId === wanted).length;
  return { ...dispatching, offer, offerAll: dispatching.offer, onWireOf };
}

/** Its id says that it is of today. */
const EVENT = createIds(new VirtualClock(), new SeededRandom(1)).next('evt');

describe('memory', () => {
  test('one destination takes a thousand places, and all together no more than the bound', async () => {
    const { dispatcher, offer } = await setUp({ isAlive: () => false });
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
    const { dispatcher, offer } = await setUp({ isAlive: () => false });
    offer('dst_1', 500);
    offer('dst_2', 5);
    dispatcher.destinationDeleted('dst_1');
    assert.deepEqual(dispatcher.stats(), { onWire: 0, waiting: 5, queues: 1 });
  });
});

describe('what waits in the store behind a thousand others', () => {
  test('is sent without its body being read', async () => {
    const { clock, sent, onWire, storing, stored, payloadReads, offer, offerAll } = await setUp({ slots: 4 });
    const eventId = createIds(clock, new SeededRandom(2)).next('evt');
    const last = openDelivery({ id: 'dlv_last', eventId, destinationId: 'dst_1', dueAt: clock.now() });
    offer('dst_1', 1_100);
    await settle();
    offerAll([last]);
    stored.push(last);
    while (!sent.includes(last.id)) {
      for (const { end } of onWire.values()) end();
      await settle();
      for (const { answer } of storing.splice(0)) answer();
      await clock.run(1);
    }
    assert.deepEqual(payloadReads, []);
  });
});

describe('very many deliveries of one event', () => {
  test('are offered some a turn; what a refill brings meanwhile is not sent twice', async () => {
    const { dispatcher, clock, sent, onWire, storing, stored, offerAll } = await setUp();
    const late = openDelivery({ id: 'dlv_late', eventId: EVENT, destinationId: 'dst_late', dueAt: clock.now() });
    const turns: (() => void)[] = [];
    clock.afterTurn = (callback) => void turns.push(callback);
    const takeTurns = async (): Promise<void> => {
      while (turns.length > 0) turns.shift()!();
      await settle();
    };
    offerAll([
      ...Array.from({ length: 500 }, (_, n) => openDelivery({ ...late, id: `dlv_${n}`, destinationId: 'dst_first' })),
      late,
    ]);
    assert.equal(dispatcher.stats().queues, 1);
    const rest = turns.splice(0);
    stored.push(late);
    await clock.run(10);
    dispatcher.wake([late]);
    await clock.run(10);
    stored.pop();
    onWire.get('dlv_late')!.end();
    await settle();
    await takeTurns();
    for (const { answer } of storing.splice(0)) answer();
    await settle();
    turns.push(...rest);
    await takeTurns();
    assert.equal(sent.filter((id) => id === 'dlv_late').length, 1);
  });
});

describe('a turn', () => {
  test('starts 64 attempts at most, however many answers come in it', async () => {
    // 192 for newcomers.
    const { clock, onWire, offer } = await setUp({ slots: 236 });
    const turns: (() => void)[] = [];
    clock.afterTurn = (callback) => void turns.push(callback);
    const takeTurn = async (): Promise<void> => {
      for (const callback of turns.splice(0)) callback();
      await settle();
    };
    for (let n = 0; n < 192; n++) offer(`dst_${n}`, 5);
    await settle();
    const counts = [onWire.size];
    for (let i = 0; i < 3; i++) {
      await takeTurn();
      counts.push(onWire.size);
    }
    assert.deepEqual(counts, [64, 128, 192, 192]);
    for (const { end } of [...onWire.values()]) end();
    await settle();
    assert.equal(onWire.size, 64);
    await takeTurn();
    assert.equal(onWire.size, 128);
  });
});

describe('slots', () => {
  test('are for everybody up to the half; the others go to newcomers, and to those who have earned them', async () => {
    const { clock, offer, onWire, onWireOf, storing } = await setUp();
    offer('dst_hangs', 100);
    assert.equal(onWireOf('dst_hangs'), 8);
    offer('dst_b', 100);
    offer('dst_c', 100);
    assert.deepEqual([onWireOf('dst_b'), onWireOf('dst_c')], [1, 1]);
    for (const expected of [2, 4, 7]) {
      for (const { destinationId, end } of [...onWire.values()]) if (destinationId === 'dst_b') end();
      await clock.run(1);
      for (const { answer } of storing.splice(0)) answer();
      await clock.run(1);
      assert.equal(onWireOf('dst_b'), expected, 'twice as many with every round of answers');
    }
    assert.deepEqual([onWireOf('dst_hangs'), onWireOf('dst_c')], [8, 1]);
  });

  test('are left to others by those that answer nothing, but for an eighth to find out when they do', async () => {
    const { clock, offer, onWire, onWireOf, storing } = await setUp({ slots: 32 });
    const silent = Array.from({ length: 40 }, (_, n) => `dst_silent${n}` as const);
    const countSilent = (): number =>
      [...onWire.values()].filter(({ destinationId }) => destinationId.startsWith('dst_silent')).length;
    const store = async (): Promise<void> => {
      await clock.run(1);
      for (const { answer } of storing.splice(0)) answer();
      await clock.run(1_000);
    };
    // Nothing was known of them: each had its slot.
    for (const id of silent) offer(id, 3);
    while (countSilent() > 0 && onWire.size > 16) {
      for (const { end } of [...onWire.values()]) end({ outcome: 'timed_out', responseCode: null });
      await store();
    }
    assert.equal(countSilent(), 16, 'what is plentiful is theirs too');
    offer('dst_well', 100);
    for (let n = 0; n < 4; n++) {
      for (const { destinationId, end } of [...onWire.values()]) if (destinationId === 'dst_well') end();
      await store();
    }
    assert.equal(onWireOf('dst_well'), 16, 'and the others are there for one that answers');
    for (const { destinationId, end } of [...onWire.values()]) {
      if (destinationId !== 'dst_well') end({ outcome: 'timed_out', responseCode: null });
      await store();
    }
    assert.deepEqual([countSilent(), onWireOf('dst_well')], [4, 16]);
  });

  test('are kept for those that have answered: newcomers that hang cannot have all of them', async () => {
    const { clock, offer, onWire, onWireOf, storing } = await setUp({ slots: 32 });
    const endWell = async (): Promise<void> => {
      for (const { destinationId, end } of [...onWire.values()]) if (destinationId === 'dst_well') end();
      await clock.run(1);
      for (const { answer } of storing.splice(0)) answer();
      await clock.run(1);
    };
    offer('dst_well', 1);
    await endWell();
    for (let n = 0; n < 100; n++) offer(`dst_new${n}`, 3);
    assert.equal(onWire.size, 26, 'four are left to probes, two to those that have answered');
    // What it had earned is forgotten, but not that it answers.
    await clock.run(5_000);
    offer('dst_well', 20);
    for (const expected of [1, 2, 4, 6]) {
      assert.equal(onWireOf('dst_well'), expected);
      await endWell();
    }
    assert.equal(onWire.size, 32);
  });

  test('even out as they become free', async () => {
    const { clock, offer, onWire, onWireOf, storing } = await setUp();
    offer('dst_a', 100);
    offer('dst_b', 100);
    for (let i = 0; i < 80; i++) {
      onWire.values().next().value!.end();
      await clock.run(1);
      for (const { answer } of storing.splice(0)) answer();
      await clock.run(1);
    }
    assert.ok(Math.abs(onWireOf('dst_a') - onWireOf('dst_b')) <= 1, `${onWireOf('dst_a')} and ${onWireOf('dst_b')}`);
  });

  test('are free as soon as the request has ended, while its result is still being stored', async () => {
    const { offer, onWire, sentAt, dispatcher } = await setUp({ slots: 4 });
    offer('dst_a', 20);
    assert.equal(onWire.size, 2);
    onWire.values().next().value!.end();
    await settle();
    assert.equal(sentAt.length - 1, dispatcher.stats().onWire, 'one is being stored');
    assert.ok(dispatcher.stats().onWire > 1);
    // But no more than twice the slots may be under way in all.
    while (onWire.size > 0) {
      for (const { end } of [...onWire.values()]) end();
      await settle();
    }
    assert.equal(sentAt.length, 8);
  });

  test('are filled over several turns: a large fan-out must not hold up the event loop', async () => {
    const { offerAll, clock, onWire } = await setUp({ slots: 1_000 });
    const made = { eventId: EVENT, dueAt: clock.now() };
    offerAll(
      Array.from({ length: 300 }, (_, n) => openDelivery({ ...made, id: `dlv_${n}`, destinationId: `dst_${n}` })),
    );
    const atOnce = onWire.size;
    assert.ok(atOnce > 0 && atOnce <= 100, `${atOnce} starts in one turn`);
    await settle();
    assert.equal(onWire.size, 300);
  });

  test('of receivers that hang are few; one that answers again is found, and gets its backlog', async () => {
    const { clock, offer, onWire, onWireOf, sent, storing } = await setUp({ slots: 1_000 });
    offer('dst_a', 500);
    await settle();
    assert.equal(onWireOf('dst_a'), 20);
    await clock.run(15_000);
    assert.equal(sent.length, 29, 'one more every 1.6 s');
    const late = [...onWire.values()];
    const answerAll = async (): Promise<void> => {
      for (const request of [...onWire.values()]) if (!late.includes(request)) request.end();
      await clock.run(5);
      for (const { answer } of storing.splice(0)) answer();
      await clock.run(5);
    };
    while (onWire.size === late.length) await clock.run(100);
    const wellAt = clock.monotonic();
    while (sent.length < 500) await answerAll();
    assert.ok(clock.monotonic() - wellAt < 1_000, `all were sent ${clock.monotonic() - wellAt} ms later`);
    assert.equal(onWireOf('dst_a') >= late.length, true, 'whatever becomes of those that hang');
  });

  test('are not used while the lease has run out, and are when it is renewed', async () => {
    let isAlive = false;
    const { dispatcher, offer, onWireOf } = await setUp({ isAlive: () => isAlive });
    offer('dst_a', 5);
    assert.equal(onWireOf('dst_a'), 0);
    isAlive = true;
    dispatcher.pump();
    assert.equal(onWireOf('dst_a'), 5);
  });
});

describe('a destination that gets another url', () => {
  /** Two requests are on the wire and a third delivery waits when the url changes. */
  async function changeUrl() {
    const dispatching = await setUp();
    const { dispatcher, offer, onWire } = dispatching;
    const before = destinationWith({ id: 'dst_1', maxInFlight: 2 });
    dispatcher.destinationChanged(before);
    offer('dst_1', 1);
    await settle();
    dispatcher.destinationChanged(before);
    offer('dst_1', 2);
    await settle();
    assert.equal(onWire.size, 2);
    const [first, second] = [...onWire.values()];
    return {
      ...dispatching,
      first: first!,
      second: second!,
      change: () => dispatcher.destinationChanged({ ...before, url: 'https://new.example.com/' }),
    };
  }

  test('is not paused by a 410 of the one before', async () => {
    const { dispatcher, change, first, storing, onWire, sent } = await changeUrl();
    change();
    first.end({ outcome: 'bad_status', responseCode: 410 });
    await settle();
    const { decision } = storing[0]!.results[0]!;
    assert.deepEqual([decision!.status, decision!.pauseDestination], ['retrying', null]);
    assert.equal(sent.length, 3, 'the next one goes out');
    assert.equal(onWire.size, 2);
    assert.equal(dispatcher.loadOf('dst_1')!.inFlightLimit, 2);
  });

  test('is neither held nor slowed down by what the one before said, then or since', async () => {
    const { dispatcher, clock, change, first, second, sent } = await changeUrl();
    const tooMany = { outcome: 'bad_status', responseCode: 429, retryAfterAt: clock.now() + 60_000 } as const;
    first.end(tooMany);
    await settle();
    assert.equal(sent.length, 2, 'it is held');
    assert.equal(dispatcher.loadOf('dst_1')!.inFlightLimit, 1);
    change();
    second.end(tooMany);
    await settle();
    assert.equal(sent.length, 3);
    assert.equal(dispatcher.loadOf('dst_1')!.inFlightLimit, 2);
  });
});
