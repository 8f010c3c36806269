// Group commit: what arrives while one batch is written makes the next, within limits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/runtime/clock.ts';
import { createGroupCommit } from '../../src/runtime/group-commit.ts';

const LIMITS = { itemsMax: 4, unitsMax: 100, bytesMax: 100, waitingMax: 10, waitingBytesMax: 1_000 };

/** A commit whose batches are written one at a time, each when the test says so. */
function heldCommit(limits = LIMITS, concurrency = 1) {
  const batches: number[][] = [];
  const releases: ((error?: Error) => void)[] = [];
  const commit = createGroupCommit<number, string>({
    limits,
    clock: systemClock,
    unitsOf: () => 0,
    bytesOf: (item) => item,
    concurrency,
    write: (items) => {
      batches.push(items);
      return new Promise((resolve, reject) => {
        releases.push((error) => (error === undefined ? resolve(items.map((item) => `${item}!`)) : reject(error)));
      });
    },
  });
  return { commit, batches, release: (error?: Error) => releases.shift()!(error) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('an idle one writes at once; what comes meanwhile goes together', async () => {
  const { commit, batches, release } = heldCommit();
  const first = commit.submit(1)!;
  await turn();
  const rest = [2, 3].map((item) => commit.submit(item)!);
  await turn();
  assert.deepEqual(batches, [[1]]);
  release();
  assert.equal(await first, '1!');
  await turn();
  assert.deepEqual(batches, [[1], [2, 3]]);
  release();
  assert.deepEqual(await Promise.all(rest), ['2!', '3!']);
});

test('a batch is bounded in items and in weight; what is heavier than all goes alone', async () => {
  const { commit, batches, release } = heldCommit();
  const all = [60, 60, 500, 1, 1, 1, 1, 1].map((item) => commit.submit(item)!);
  for (let i = 0; i < 5; i++) {
    await turn();
    release();
  }
  await Promise.all(all);
  assert.deepEqual(batches, [[60], [60], [500], [1, 1, 1, 1], [1]]);
});

test('a batch is bounded in units, too', async () => {
  const batches: number[][] = [];
  const commit = createGroupCommit<number, number>({
    clock: systemClock,
    limits: { ...LIMITS, unitsMax: 10 },
    unitsOf: (item) => item,
    bytesOf: () => 0,
    write: async (items) => {
      batches.push(items);
      return items;
    },
  });
  await Promise.all([6, 4, 1, 50].map((item) => commit.submit(item)!));
  assert.deepEqual(batches, [[6, 4], [1], [50]]);
});

test('too much that waits is refused at once, by number and by bytes', () => {
  const { commit } = heldCommit();
  for (let i = 0; i < 10; i++) assert.notEqual(commit.submit(1), null);
  assert.equal(commit.submit(1), null);
  const heavy = heldCommit().commit;
  assert.notEqual(heavy.submit(900), null);
  assert.equal(heavy.submit(200), null);
});

test('what could not be written is everyone’s error, and the next batch goes on', async () => {
  const { commit, release } = heldCommit();
  const failed = [1, 2].map((item) => commit.submit(item)!);
  await turn();
  release(new Error('no room'));
  for (const result of await Promise.allSettled(failed)) assert.equal(result.status, 'rejected');
  const next = commit.submit(3)!;
  await turn();
  release();
  assert.equal(await next, '3!');
  await commit.idle();
});

test('several are written side by side once enough is waiting, and each answers its own', async () => {
  const { commit, batches, release } = heldCommit({ ...LIMITS, itemsMax: 10 }, 2);
  const first = commit.submit(1)!;
  await turn();
  const second = commit.submit(2)!;
  await turn();
  assert.deepEqual(batches, [[1]], 'one alone is not worth a batch of its own');
  const third = commit.submit(3)!;
  await turn();
  assert.deepEqual(batches, [[1], [2, 3]]);
  const rest = [4, 5, 6].map((item) => commit.submit(item)!);
  await turn();
  assert.equal(batches.length, 2, 'no more than two at a time');
  release();
  assert.equal(await first, '1!');
  await turn();
  assert.deepEqual(batches[2], [4, 5, 6]);
  release();
  assert.deepEqual(await Promise.all([second, third]), ['2!', '3!']);
  let isIdle = false;
  const idle = commit.idle().then(() => (isIdle = true));
  await turn();
  assert.equal(isIdle, false);
  release();
  assert.deepEqual(await Promise.all(rest), ['4!', '5!', '6!']);
  await idle;
});
