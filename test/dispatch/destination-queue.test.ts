// What a destination's queue must get right when answers cross: commits and refills, forced attempts and results,
// changes and bodies that are still being read.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DestinationQueue } from '../../src/dispatch/destination-queue.ts';
import type { AttemptUnderWay } from '../../src/dispatch/in-flight.ts';
import { FORCED_DUE_AT, type OpenDelivery } from '../../src/model/delivery.ts';
import type { DestinationWithKeys } from '../../src/model/destination.ts';
import type { DeliveryId } from '../../src/model/id.ts';
import { destinationWith } from '../support/destinations.ts';
import { openDelivery } from '../support/deliveries.ts';
import { canStart, nextLookAt } from '../support/queues.ts';

const NOW = 1_800_000_000_000;
const CAPACITY = 1_000;
const at = (ms = 0) => ({ now: NOW + ms, monotonic: ms });

const idOf = (n: number): DeliveryId => `dlv_${String(n).padStart(4, '0')}`;

function delivery(n: number, overrides: Partial<OpenDelivery> = {}): OpenDelivery {
  return openDelivery({ id: idOf(n), dueAt: NOW, ...overrides });
}

const forced = (n: number): OpenDelivery =>
  delivery(n, { rev: 1, status: 'retrying', dueAt: FORCED_DUE_AT, fallbackStatus: 'pending', scheduledAt: NOW });

function queueOf(overrides: Partial<DestinationWithKeys> = {}): DestinationQueue {
  return new DestinationQueue({ destination: destinationWith(overrides), mode: 'live' }, null, at());
}

/** Starts all that may start; how many. */
function startAll(queue: DestinationQueue, instant = at()): AttemptUnderWay[] {
  const started: AttemptUnderWay[] = [];
  while (canStart(queue, instant)) started.push(queue.start(instant));
  return started;
}

const refilled = (...deliveries: OpenDelivery[]) => ({ deliveries, nextDueAt: null });

describe('a new delivery', () => {
  test('that a refill brought before the answer to its commit is there once', () => {
    const queue = queueOf();
    queue.backlog.noteStored(NOW);
    queue.backlog.beginRefill();
    queue.endRefill(refilled(delivery(1)), CAPACITY, at());
    queue.offer(delivery(1), CAPACITY, at());
    assert.equal(startAll(queue).length, 1);
    queue.offer(delivery(1), CAPACITY, at());
    assert.equal(startAll(queue).length, 0, 'nor while it is on the wire');
  });

  test('whose clock was set back goes out at once all the same', () => {
    const queue = queueOf();
    queue.offer(delivery(1, { dueAt: NOW + 3_600_000 }), CAPACITY, at());
    assert.equal(startAll(queue).length, 1);
  });

  test('beyond the capacity is left in the store', () => {
    const queue = queueOf();
    for (let n = 0; n < 20; n++) queue.offer(delivery(n), 16, at());
    assert.equal(queue.backlog.waitingCount(), 16);
    assert.equal(queue.backlog.refillWanted(queue.appetite(16, at())), 0, 'while it is full');
    for (let n = 0; n < 12; n++) queue.start(at());
    assert.equal(queue.backlog.refillWanted(queue.appetite(16, at())), 12);
  });
});

describe('a forced attempt', () => {
  test('of a delivery that waits takes its place at the head, with the new revision', () => {
    const queue = queueOf();
    for (const n of [1, 2, 3]) queue.offer(delivery(n), CAPACITY, at());
    queue.backlog.force(forced(3));
    const started = startAll(queue).map((attempting) => attempting.delivery);
    assert.deepEqual(
      started.map(({ id, rev }) => [id, rev]),
      [
        [idOf(3), 1],
        [idOf(1), 0],
        [idOf(2), 0],
      ],
    );
  });

  test('of a delivery that is under way starts nothing more; if that is not sent, the store is asked', () => {
    const queue = queueOf();
    queue.offer(delivery(1), CAPACITY, at());
    const [attempting] = startAll(queue);
    queue.backlog.force(forced(1));
    assert.equal(startAll(queue).length, 0);
    queue.change(destinationWith({ status: 'paused', pausedReason: 'manual' }), at());
    assert.ok(queue.isHeldBack(attempting!.delivery, at()), 'it was started as a scheduled one');
    queue.inFlight.end(attempting!);
    queue.backlog.settle(idOf(1), NOW);
    assert.equal(queue.backlog.refillBounds(queue.appetite(CAPACITY, at())).dueBy, FORCED_DUE_AT);
    assert.ok(queue.backlog.refillWanted(queue.appetite(CAPACITY, at())) > 0);
  });

  test('is fetched from the store though the queue is full', () => {
    const stored = { destinationId: 'dst_1', failingSince: null, failureCount: 0, heldUntil: NOW + 60_000 } as const;
    const queue = new DestinationQueue({ destination: destinationWith(), mode: 'live' }, stored, at());
    for (let n = 0; n < CAPACITY; n++) queue.offer(delivery(n), CAPACITY, at());
    queue.backlog.noteStored(FORCED_DUE_AT);
    assert.ok(queue.backlog.refillWanted(queue.appetite(CAPACITY, at())) > 0);
    assert.equal(queue.backlog.refillBounds(queue.appetite(CAPACITY, at())).dueBy, FORCED_DUE_AT);
    queue.backlog.beginRefill();
    queue.endRefill({ deliveries: [forced(5_000)], nextDueAt: NOW }, CAPACITY, at());
    assert.equal(startAll(queue)[0]!.delivery.id, idOf(5_000));
    assert.equal(queue.backlog.refillWanted(queue.appetite(CAPACITY, at())), 0, 'what is not forced has no room');
  });

  test('among many waits in the store, so that memory stays bounded', () => {
    const queue = queueOf({ maxInFlight: 1 });
    for (let n = 0; n < CAPACITY; n++) queue.offer(delivery(n), CAPACITY, at());
    startAll(queue);
    for (let n = 2_000; n < 3_000; n++) queue.backlog.force(forced(n));
    assert.ok(queue.backlog.waitingCount() <= CAPACITY + 100);
    assert.equal(queue.backlog.refillWanted(queue.appetite(CAPACITY, at())), 0);
    for (let n = 0; n < 100; n++) {
      for (const attempting of queue.inFlight.list()) {
        queue.inFlight.end(attempting);
        queue.backlog.settle(attempting.delivery.id, null);
      }
      startAll(queue);
    }
    assert.ok(queue.backlog.refillWanted(queue.appetite(CAPACITY, at())) > 0, 'the rest of the forced ones come next');
  });
});

describe('between the start and the sending', () => {
  test('a token of the rate is set aside, and taken when the request goes out', () => {
    const queue = queueOf({ ratePerSecond: 20 });
    for (let n = 0; n < 10; n++) queue.offer(delivery(n), CAPACITY, at());
    const reading = startAll(queue);
    assert.equal(reading.length, 2, 'a burst of two');
    // Their bodies come late; the bucket is full, but they have not been counted yet.
    assert.equal(startAll(queue, at(1_000)).length, 0);
    for (const attempting of reading) queue.send(attempting, at(1_000));
    assert.equal(startAll(queue, at(1_000)).length, 0);
    assert.equal(startAll(queue, at(1_050)).length, 1);
  });

  test('what is not sent gives its token back', () => {
    const queue = queueOf({ ratePerSecond: 1 });
    queue.offer(delivery(1), CAPACITY, at());
    queue.offer(delivery(2), CAPACITY, at());
    const started = startAll(queue);
    assert.equal(started.length, 1);
    queue.inFlight.end(started[0]!);
    assert.equal(startAll(queue).length, 1);
  });

  test('a pause, a hold or a lower limit holds it back', () => {
    const queue = queueOf();
    for (const n of [1, 2]) queue.offer(delivery(n), CAPACITY, at());
    const [first, second] = startAll(queue);
    assert.equal(queue.isHeldBack(first!.delivery, at()), false);
    queue.send(first!, at());
    queue.change(destinationWith({ maxInFlight: 1 }), at());
    assert.equal(queue.isHeldBack(second!.delivery, at()), true);
    queue.change(destinationWith({ status: 'paused', pausedReason: 'manual' }), at());
    assert.equal(queue.isHeldBack(second!.delivery, at()), true);
    assert.equal(queue.isHeldBack(forced(2), at()), false, 'but not a forced one');
  });

  test('what could not be sent rests the whole destination, forced attempts too', () => {
    const queue = queueOf();
    queue.offer(delivery(1), CAPACITY, at());
    queue.pace.rest(at());
    queue.backlog.force(forced(2));
    assert.equal(canStart(queue, at(249)), false);
    assert.equal(nextLookAt(queue, at()), 250);
    assert.equal(startAll(queue, at(250)).length, 2);
  });
});

describe('a refill', () => {
  test('that ends after the destination was deleted brings nothing back', () => {
    const queue = queueOf();
    queue.backlog.noteStored(NOW);
    queue.backlog.beginRefill();
    queue.end('deleted');
    queue.endRefill(refilled(delivery(1)), CAPACITY, at());
    assert.deepEqual([queue.backlog.waitingCount(), queue.backlog.listInMemory(0)], [0, []]);
  });

  test('does not bring a second time what was forced while it was read', () => {
    const queue = queueOf();
    queue.backlog.noteStored(NOW);
    queue.backlog.beginRefill();
    queue.backlog.force(forced(1));
    queue.endRefill(refilled(delivery(1), delivery(2)), CAPACITY, at());
    const started = startAll(queue).map((attempting) => [attempting.delivery.id, attempting.delivery.rev]);
    assert.deepEqual(started, [
      [idOf(1), 1],
      [idOf(2), 0],
    ]);
  });

  test('is told what of that in memory it would meet: due from its bound on, or forced, on the wire or not', () => {
    const queue = queueOf();
    for (const n of [1, 2, 3, 4]) queue.offer(delivery(n, { dueAt: NOW + n }), CAPACITY, at(4));
    queue.start(at(4));
    queue.backlog.force(forced(1));
    queue.backlog.force(forced(4));
    assert.deepEqual(queue.backlog.listInMemory(NOW + 3).sort(), [idOf(1), idOf(3), idOf(4)]);
    assert.deepEqual(queue.backlog.listInMemory(0).length, 4);
  });

  test('that ends after a pause brings forced ones only; the rest is looked for later', () => {
    const queue = queueOf();
    queue.backlog.noteStored(FORCED_DUE_AT);
    queue.backlog.beginRefill();
    queue.change(destinationWith({ status: 'paused', pausedReason: 'manual' }), at());
    queue.endRefill(refilled(forced(1), delivery(2)), CAPACITY, at());
    assert.deepEqual(queue.backlog.listInMemory(0), [idOf(1)]);
    queue.change(destinationWith(), at());
    assert.ok(queue.backlog.refillWanted(queue.appetite(CAPACITY, at())) > 0);
  });

  test('that failed is wanted again', () => {
    const queue = queueOf();
    queue.backlog.noteStored(NOW);
    queue.backlog.beginRefill();
    assert.equal(queue.backlog.refillWanted(queue.appetite(CAPACITY, at())), 0, 'not twice at a time');
    queue.endRefill(null, CAPACITY, at());
    assert.ok(queue.backlog.refillWanted(queue.appetite(CAPACITY, at())) > 0);
  });
});

describe('a pause that a result brings', () => {
  test('holds at once, until the change comes back or the result turns out not to pause', () => {
    const queue = queueOf();
    for (const n of [1, 2]) queue.offer(delivery(n), CAPACITY, at());
    queue.setPausing(true);
    assert.equal(canStart(queue, at()), false);
    queue.setPausing(false);
    assert.equal(canStart(queue, at()), true);
    queue.setPausing(true);
    queue.change(destinationWith({ status: 'paused', pausedReason: 'gone' }), at());
    assert.equal(queue.backlog.waitingCount(), 0);
    queue.change(destinationWith(), at());
    assert.ok(queue.backlog.refillWanted(queue.appetite(CAPACITY, at())) > 0);
  });
});
