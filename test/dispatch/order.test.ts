// Who is next: by time (the wake heap), by fairness (the ready queues), and within a destination (its queue).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { DestinationQueue, Place } from '../../src/dispatch/destination-queue.ts';
import { ReadyQueues, Slots, WakeHeap, type ReadyPlace, type Standing, type Taker } from '../../src/dispatch/slots.ts';
import type { Mode } from '../../src/model/api-key.ts';
import { FORCED_DUE_AT, type OpenDelivery } from '../../src/model/delivery.ts';
import type { DestinationWithKeys } from '../../src/model/destination.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';
import { destinationWith } from '../support/destinations.ts';
import { openDelivery } from '../support/deliveries.ts';
import { canStart, nextLookAt } from '../support/queues.ts';

const NEVER = Number.POSITIVE_INFINITY;

describe('the wake heap', () => {
  test('calls back each item at the last time that was set for it, in order', async () => {
    const change = fc.tuple(fc.nat(9), fc.oneof(fc.integer({ min: 0, max: 500 }), fc.constant(NEVER)));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 60 }), async (changes) => {
        const clock = new VirtualClock();
        const items = Array.from({ length: 10 }, (_, id) => ({ id, place: new Place() }));
        const woken: { id: number; at: number }[] = [];
        const heap = new WakeHeap(clock, (due: typeof items) => {
          for (const { id } of due) woken.push({ id, at: clock.monotonic() });
        });
        const wanted = new Map<number, number>();
        for (const [id, at] of changes) {
          heap.schedule(items[id]!, at);
          wanted.set(id, at);
        }
        await clock.run(1_000);
        const expected = [...wanted].filter(([, at]) => at !== NEVER).toSorted(([, a], [, b]) => a - b);
        assert.deepEqual(new Set(woken.map(({ id }) => id)), new Set(expected.map(([id]) => id)));
        for (const { id, at } of woken) assert.ok(at >= wanted.get(id)! && at <= wanted.get(id)! + 1, `${id} at ${at}`);
        assert.equal(woken.length, expected.length, 'each once');
      }),
    );
  });
});

describe('the slots, whatever hangs on them', () => {
  const standings = fc.array(fc.constantFrom<Standing>('earner', 'newcomer', 'prober', 'other'), {
    minLength: 300,
    maxLength: 300,
  });
  /** Takes what is to be had by takers that never answer, so many times as it takes. */
  const fill = (slots: Slots, takers: readonly Taker[]): void => {
    for (const taker of takers) if (slots.isFree() && slots.areFor(taker)) slots.take(taker);
  };

  test('are there for live mode, however many of test mode hang', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.integer({ min: 4, max: 12 }), fc.integer({ min: 13, max: 100 })),
        standings,
        (max, hanging) => {
          for (const standing of ['earner', 'newcomer', 'prober'] as const) {
            const slots = new Slots(max);
            fill(
              slots,
              hanging.map((each) => ({ mode: 'test', standing: each })),
            );
            assert.ok(slots.isFree() && slots.areFor({ mode: 'live', standing }));
          }
        },
      ),
    );
  });

  test('are there for those that have answered, however many newcomers and probers hang', () => {
    const modes = fc.array(fc.constantFrom<Mode>('live', 'test'), { minLength: 300, maxLength: 300 });
    fc.assert(
      fc.property(fc.integer({ min: 16, max: 100 }), standings, modes, (max, hanging, modesOf) => {
        const slots = new Slots(max);
        const takers = hanging.map((standing, i) => ({ mode: modesOf[i]!, standing }));
        fill(
          slots,
          takers.filter(({ standing }) => standing !== 'earner'),
        );
        assert.ok(slots.isFree());
      }),
    );
  });

  test('are there for a prober, however many newcomers hang', () => {
    for (let max = 16; max <= 100; max++) {
      const slots = new Slots(max);
      fill(
        slots,
        Array.from({ length: 300 }, () => ({ mode: 'live', standing: 'newcomer' })),
      );
      assert.ok(slots.areFor({ mode: 'live', standing: 'prober' }));
    }
  });
});

describe('the ready queues', () => {
  type Item = { name: string; mode: Mode; place: ReadyPlace<Item>; inFlight: { count: number } };
  const slots = (areFor: (taker: Taker) => boolean, modeWithFewer: Mode = 'live') => ({
    areFor,
    modeWithFewer: () => modeWithFewer,
  });
  const PLENTIFUL = slots(() => true);
  const SCARCE = slots(({ standing }) => standing !== 'other');
  const item = (name: string, count: number, mode: Mode = 'live'): Item => {
    const place = { readyAmong: null, readyBucket: -1, readyBefore: null, readyAfter: null };
    return { name, mode, place, inFlight: { count } };
  };

  test('give the one with the fewest on the wire, equals in turn', () => {
    const ready = new ReadyQueues<Item>();
    const items = [item('a', 2), item('b', 0), item('c', 0), item('d', 1)];
    for (const each of items) ready.update(each, 'earner');
    const order: string[] = [];
    for (let i = 0; i < 7; i++) {
      const first = ready.first(SCARCE)!;
      order.push(first.name);
      first.inFlight.count++;
      ready.update(first, 'earner');
    }
    assert.deepEqual(order, ['b', 'c', 'd', 'b', 'c', 'a', 'd']);
    for (const each of items) ready.update(each, null);
    assert.equal(ready.first(PLENTIFUL), null);
  });

  test('know of any comings and goings who came first of those with the fewest', () => {
    const move = fc.record({ at: fc.nat(4), count: fc.nat(2), isReady: fc.boolean() });
    fc.assert(
      fc.property(fc.array(move, { minLength: 30, maxLength: 60 }), (moves) => {
        const ready = new ReadyQueues<Item>();
        const items = Array.from({ length: 5 }, (_, i) => item(String(i), 0));
        let order: Item[] = [];
        for (const { at, count, isReady } of moves) {
          const one = items[at]!;
          const stays = isReady && order.includes(one) && one.inFlight.count === count;
          one.inFlight.count = count;
          ready.update(one, isReady ? 'earner' : null);
          if (!stays) order = [...order.filter((other) => other !== one), ...(isReady ? [one] : [])];
          const fewest = Math.min(...order.map(({ inFlight }) => inFlight.count));
          assert.equal(ready.first(SCARCE), order.find(({ inFlight }) => inFlight.count === fewest) ?? null);
        }
      }),
    );
  });

  test('give those who have earned it first, and the others only where there is plenty', () => {
    const ready = new ReadyQueues<Item>();
    const [earner, other] = [item('earner', 5), item('other', 1)];
    ready.update(earner, 'earner');
    ready.update(other, 'other');
    assert.equal(ready.first(PLENTIFUL), earner);
    ready.update(earner, 'other');
    assert.deepEqual([ready.first(PLENTIFUL), ready.first(SCARCE)], [other, null]);
    ready.update(other, null);
    assert.equal(ready.first(PLENTIFUL), earner);
  });

  test('give a newcomer its turn first, while slots are for it', () => {
    const ready = new ReadyQueues<Item>();
    const [earner, newcomer] = [item('earner', 0), item('newcomer', 0)];
    ready.update(earner, 'earner');
    ready.update(newcomer, 'newcomer');
    assert.equal(ready.first(SCARCE), newcomer);
    assert.equal(ready.first(slots(({ standing }) => standing !== 'newcomer')), earner);
  });

  test('give one that may not answer its turn before those with something on the wire, while slots are for it', () => {
    const ready = new ReadyQueues<Item>();
    const [earner, prober] = [item('earner', 0), item('prober', 0)];
    ready.update(prober, 'prober');
    ready.update(earner, 'earner');
    assert.equal(ready.first(SCARCE), earner);
    earner.inFlight.count++;
    ready.update(earner, 'earner');
    assert.equal(ready.first(SCARCE), prober);
    assert.equal(ready.first(slots(({ standing }) => standing === 'earner')), earner);
  });

  test('give of two modes the one with the fewest, of equals that of the mode with fewer', () => {
    const ready = new ReadyQueues<Item>();
    const [live, tested] = [item('live', 1), item('test', 1, 'test')];
    for (const each of [tested, live]) ready.update(each, 'earner');
    assert.equal(ready.first(slots(() => true, 'live')), live);
    assert.equal(ready.first(slots(() => true, 'test')), tested);
    live.inFlight.count++;
    ready.update(live, 'earner');
    assert.equal(ready.first(PLENTIFUL), tested);
    assert.equal(ready.first(slots(({ mode }) => mode === 'live')), live);
  });
});

const NOW = 1_800_000_000_000;
const at = (ms = 0) => ({ now: NOW + ms, monotonic: ms });

function destination(overrides: Partial<DestinationWithKeys> = {}): DestinationWithKeys {
  return destinationWith({ maxInFlight: 2, ...overrides });
}

function open(number: number, overrides: Partial<OpenDelivery> = {}): OpenDelivery {
  return openDelivery({ id: `dlv_${String(number).padStart(4, '0')}`, dueAt: NOW, ...overrides });
}

function queueOf(overrides: Partial<DestinationWithKeys> = {}): DestinationQueue {
  return new DestinationQueue({ destination: destination(overrides), mode: 'live' }, null, at());
}

/** One that has begun to read what the store has of it. */
function refilling(): DestinationQueue {
  const queue = queueOf();
  queue.backlog.noteStored(NOW);
  queue.backlog.beginRefill();
  return queue;
}

const CAPACITY = 1_000;
const forced = { dueAt: FORCED_DUE_AT, fallbackStatus: 'retrying', status: 'retrying' } as const;

describe('a destination’s queue', () => {
  test('starts the earliest due first, a forced one before all', () => {
    const queue = queueOf({ maxInFlight: 10 });
    queue.offer(open(2), CAPACITY, at());
    queue.offer(open(1, { dueAt: NOW - 10 }), CAPACITY, at());
    queue.backlog.force(open(3, forced));
    const order = [1, 2, 3].map(() => queue.start(at()).delivery.id);
    assert.deepEqual(order, ['dlv_0003', 'dlv_0001', 'dlv_0002']);
  });

  test('never has more on the wire than max_in_flight, forced ones included', () => {
    const queue = queueOf();
    for (const number of [1, 2, 3]) queue.offer(open(number), CAPACITY, at());
    queue.start(at());
    const attempt = queue.start(at());
    assert.equal(canStart(queue, at()), false);
    queue.backlog.force(open(4, forced));
    assert.equal(canStart(queue, at()), false);
    queue.inFlight.end(attempt);
    assert.equal(canStart(queue, at()), true);
  });

  test('that is paused starts forced ones only, and holds the rest in the store', () => {
    const queue = queueOf();
    queue.offer(open(1), CAPACITY, at());
    queue.change(destination({ status: 'paused', pausedReason: 'manual' }), at());
    assert.equal(queue.backlog.waitingCount(), 0);
    queue.offer(open(2), CAPACITY, at());
    assert.equal(queue.backlog.waitingCount(), 0);
    assert.equal(queue.backlog.refillWanted(queue.appetite(1_000, at())), 0);
    queue.backlog.force(open(3, forced));
    assert.equal(queue.start(at()).delivery.id, 'dlv_0003');
    queue.change(destination(), at());
    assert.ok(
      queue.backlog.refillWanted(queue.appetite(1_000, at())) > 0,
      'what is held is fetched when it is active again',
    );
  });

  test('with older work in the store takes no new work ahead of it', () => {
    const queue = queueOf();
    queue.backlog.noteStored(NOW - 1_000);
    queue.offer(open(1), CAPACITY, at());
    assert.equal(queue.backlog.waitingCount(), 0);
    queue.backlog.beginRefill();
    queue.endRefill({ deliveries: [open(0, { dueAt: NOW - 1_000 }), open(1)], nextDueAt: null }, CAPACITY, at());
    assert.equal(queue.backlog.waitingCount(), 2);
    queue.offer(open(2), CAPACITY, at());
    assert.equal(queue.backlog.waitingCount(), 3, 'nothing is in the store any more');
  });

  test('looks again for what another node stored while a refill was read', () => {
    const queue = refilling();
    queue.backlog.noteStored(NOW);
    queue.endRefill({ deliveries: [], nextDueAt: null }, CAPACITY, at());
    assert.ok(queue.backlog.refillWanted(queue.appetite(1_000, at())) > 0);
  });

  test('keeps what comes while a refill is read, behind what that brings, where nothing older is left', () => {
    const queue = refilling();
    for (const number of [1, 2]) assert.equal(queue.offer(open(number), CAPACITY, at()), false);
    queue.endRefill({ deliveries: [open(0, { dueAt: NOW - 1 }), open(1)], nextDueAt: NOW + 1 }, CAPACITY, at());
    assert.deepEqual(queue.backlog.listInMemory(0), ['dlv_0000', 'dlv_0001', 'dlv_0002']);
    assert.equal(queue.backlog.refillWanted(queue.appetite(1_000, at())), 0, 'no refill after a refill without an end');
  });

  test('leaves what comes while a refill is read to the store, where older work is left or no room', () => {
    const behind = refilling();
    behind.offer(open(1), CAPACITY, at());
    behind.endRefill({ deliveries: [open(0)], nextDueAt: NOW }, CAPACITY, at());
    assert.deepEqual(behind.backlog.listInMemory(0), ['dlv_0000']);

    const unknown = refilling();
    unknown.offer(open(1), CAPACITY, at());
    unknown.endRefill(null, CAPACITY, at());
    assert.equal(unknown.backlog.waitingCount(), 0);

    const full = refilling();
    for (let number = 1; number <= CAPACITY + 5; number++) full.offer(open(number), CAPACITY, at());
    full.endRefill({ deliveries: [open(0)], nextDueAt: null }, CAPACITY, at());
    assert.equal(full.backlog.waitingCount(), CAPACITY);
    full.start(at());
    for (let left = full.backlog.waitingCount(); left > 0; left--) full.backlog.take();
    assert.ok(full.backlog.refillWanted(full.appetite(CAPACITY, at())) > 0, 'they are looked for there');
  });

  test('does not keep what was sent, held or given away while a refill was read', () => {
    const sent = refilling();
    sent.offer(open(1), CAPACITY, at());
    sent.backlog.force(open(1, forced));
    sent.inFlight.end(sent.start(at()));
    sent.backlog.settle('dlv_0001', null);
    sent.endRefill({ deliveries: [], nextDueAt: null }, CAPACITY, at());
    assert.equal(sent.backlog.waitingCount(), 0);

    const paused = refilling();
    paused.offer(open(1), CAPACITY, at());
    paused.change(destination({ status: 'paused', pausedReason: 'manual' }), at());
    paused.endRefill({ deliveries: [], nextDueAt: null }, CAPACITY, at());
    assert.equal(paused.backlog.waitingCount(), 0);

    const given = refilling();
    given.offer(open(1), CAPACITY, at());
    given.end('released');
    given.endRefill({ deliveries: [open(1)], nextDueAt: null }, CAPACITY, at());
    assert.ok(given.backlog.isEmpty());
  });

  test('does not take from a refill what was recorded while it was read', () => {
    const queue = queueOf();
    queue.offer(open(1), CAPACITY, at());
    queue.start(at());
    queue.backlog.noteStored(NOW);
    queue.backlog.beginRefill();
    queue.backlog.settle('dlv_0001', null);
    queue.endRefill({ deliveries: [open(1)], nextDueAt: null }, CAPACITY, at());
    assert.equal(queue.backlog.waitingCount(), 0, 'the row may be from before');
  });

  test('waits for a retry until it is due, and not longer', () => {
    const queue = queueOf();
    queue.backlog.noteStored(NOW + 5_000);
    assert.equal(queue.backlog.refillWanted(queue.appetite(1_000, at(4_999))), 0);
    assert.equal(nextLookAt(queue, at(1_000)), 5_000);
    assert.ok(queue.backlog.refillWanted(queue.appetite(1_000, at(5_000))) > 0);
  });

  test('is not forgotten while its rate limit remembers', () => {
    const queue = queueOf({ ratePerSecond: 1 });
    queue.offer(open(1), CAPACITY, at());
    queue.send(queue.start(at()), at());
    queue.backlog.settle('dlv_0001', null);
    assert.equal(queue.isIdle(at(10)), false);
    assert.equal(queue.isIdle(at(1_000)), true);
  });

  test('that is held by a 429 starts nothing but forced ones until then', () => {
    const stored = { destinationId: 'dst_1', failingSince: null, failureCount: 0, heldUntil: NOW + 60_000 } as const;
    const queue = new DestinationQueue({ destination: destination(), mode: 'live' }, stored, at());
    queue.offer(open(1), CAPACITY, at());
    assert.equal(canStart(queue, at()), false);
    assert.equal(nextLookAt(queue, at()), 60_000);
    queue.backlog.force(open(2, forced));
    assert.equal(queue.start(at()).delivery.id, 'dlv_0002');
    assert.equal(canStart(queue, at(60_000)), true);
  });
});
