// Refilling: many destinations in one read, one read at a time, and never a tight loop.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DestinationQueue } from '../../src/dispatch/destination-queue.ts';
import { Refiller } from '../../src/dispatch/refiller.ts';
import type { DestinationId } from '../../src/model/id.ts';
import type { Refill, RefillRequest } from '../../src/store/store.ts';
import { destinationWith } from '../support/destinations.ts';
import { settle, VirtualClock } from '../sim/virtual-clock.ts';

const clock = new VirtualClock();
const instant = () => ({ now: clock.now(), monotonic: clock.monotonic() });

function queueOf(id: DestinationId, storedDueAt = 0): DestinationQueue {
  const queue = new DestinationQueue({ destination: destinationWith({ id }), mode: 'live' }, null, instant());
  queue.backlog.noteStored(storedDueAt);
  return queue;
}

/** Reads end when the test says so. */
function heldRefiller() {
  const reads: { requests: RefillRequest[]; end: (error?: Error) => void }[] = [];
  const refilled: number[] = [];
  const errors: unknown[] = [];
  const refiller = new Refiller({
    store: {
      refill: (requests) =>
        new Promise((resolve, reject) => {
          const nothing = requests.map(({ destinationId }): Refill => ({
            destinationId,
            deliveries: [],
            nextDueAt: null,
          }));
          reads.push({ requests, end: (error) => (error === undefined ? resolve(nothing) : reject(error)) });
        }),
    },
    clock,
    roomOf: () => 1_000,
    onRefilled: (queues) => {
      refilled.push(queues.length);
      for (const queue of queues)
        if (queue.backlog.refillWanted(queue.appetite(1_000, instant())) > 0) refiller.want(queue);
    },
    onError: (error) => errors.push(error),
  });
  return { refiller, reads, refilled, errors };
}

test('queues that ask together are read together, a hundred at most, one read at a time', async () => {
  const { refiller, reads, refilled } = heldRefiller();
  const queues = Array.from({ length: 150 }, (_, n) => queueOf(`dst_${n}`));
  for (const queue of queues) refiller.want(queue);
  refiller.want(queues[0]!);
  await settle();
  assert.deepEqual(
    reads.map(({ requests }) => requests.length),
    [100],
  );
  // Of 2,000 rows each has a share; whoever has more to fetch comes round again.
  assert.equal(reads[0]!.requests[0]!.limit, 20);
  reads[0]!.end();
  await settle();
  assert.deepEqual(
    reads.map(({ requests }) => requests.length),
    [100, 50],
  );
  reads[1]!.end();
  await settle();
  assert.deepEqual(refilled, [100, 50]);
});

test('a read begins at what is known to be in the store, wherever that is', async () => {
  const { refiller, reads } = heldRefiller();
  const [known, forced] = [queueOf('dst_1', clock.now() - 5_000), queueOf('dst_2')];
  refiller.want(known);
  refiller.want(forced);
  await settle();
  assert.deepEqual(
    reads[0]!.requests.map(({ dueFrom }) => dueFrom),
    [clock.now() - 5_000, 0],
  );
  // What turns out to be there earlier lowers it again.
  reads[0]!.end();
  await settle();
  known.backlog.noteStored(clock.now() - 500_000);
  refiller.want(known);
  await settle();
  assert.equal(reads[1]!.requests[0]!.dueFrom, clock.now() - 500_000);
});

test('one that has nothing to fetch by its turn is passed over', async () => {
  const { refiller, reads } = heldRefiller();
  const [deleted, wanting] = [queueOf('dst_1'), queueOf('dst_2')];
  refiller.want(deleted);
  refiller.want(wanting);
  deleted.end('deleted');
  await settle();
  assert.deepEqual(
    reads[0]!.requests.map(({ destinationId }) => destinationId),
    ['dst_2'],
  );
});

test('a read that fails is tried again after a moment', async () => {
  const { refiller, reads, errors } = heldRefiller();
  refiller.want(queueOf('dst_1'));
  await settle();
  reads[0]!.end(new Error('away'));
  await clock.run(249);
  assert.equal(reads.length, 1);
  await clock.run(1);
  assert.equal(reads.length, 2);
  assert.equal(errors.length, 1);
  reads[1]!.end();
});

test('nothing is read after a stop', async () => {
  const { refiller, reads } = heldRefiller();
  refiller.stop();
  refiller.want(queueOf('dst_1'));
  await settle();
  assert.equal(reads.length, 0);
});
