// Group commit: what arrives while one batch is written makes the next, within limits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/runtime/clock.ts';
import { GroupCommit } from '../../src/runtime/group-commit.ts';
import type { Lane } from '../../src/model/lane.ts';

const LIMITS = {
  batch: { items: 4, units: 100, bytes: 100 },
  waiting: { items: 10, units: 1_000, bytes: 1_000 },
};

const SIDE_BY_SIDE: Lane = { batches: 2, itemsMin: 2, areParallel: true };
const BEHIND: Lane = { ...SIDE_BY_SIDE, areParallel: false };

/** A commit whose batches are written one at a time, each when the test says so. */
function heldCommit(limits = LIMITS, lane?: Lane) {
  const batches: number[][] = [];
  const releases: ((error?: Error) => void)[] = [];
  const commit = new GroupCommit<number, string>({
    limits,
    clock: systemClock,
    unitsOf: () => 0,
    bytesOf: (item) => item,
    lane,
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
  const commit = new GroupCommit<number, number>({
    clock: systemClock,
    limits: { ...LIMITS, batch: { ...LIMITS.batch, units: 10 } },
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
  const { commit, batches, release } = heldCommit(LIMITS, SIDE_BY_SIDE);
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

test('enough for a batch goes at once: nobody waits for the rest of the turn', async () => {
  const { commit, batches, release } = heldCommit(LIMITS, BEHIND);
  const all = [1, 2, 3].map((item) => commit.submit(item)!);
  assert.deepEqual(batches, [[1, 2]], 'before the turn ends');
  await turn();
  assert.equal(batches.length, 1, 'one alone is not worth a batch of its own');
  all.push(commit.submit(4)!);
  assert.deepEqual(batches[1], [3, 4]);
  all.push(commit.submit(5)!, commit.submit(6)!);
  await turn();
  assert.equal(batches.length, 2, 'no more than two at a time');
  release();
  await turn();
  assert.deepEqual(batches[2], [5, 6]);
  release();
  release();
  assert.deepEqual(await Promise.all(all), ['1!', '2!', '3!', '4!', '5!', '6!']);
});

type Item = { of: number; name: string; units?: number };

/** Of two queues; every batch is written when the test says so. */
function sharedCommit(lane?: Lane) {
  const batches: string[] = [];
  const releases: (() => void)[] = [];
  const commit = new GroupCommit<Item, string>({
    limits: { batch: { items: 10, units: 10, bytes: 10 }, waiting: { items: 12, units: 120, bytes: 120 } },
    clock: systemClock,
    queueOf: ({ of }) => of,
    unitsOf: ({ units = 0 }) => units,
    bytesOf: () => 0,
    lane,
    write: (items) => {
      batches.push(items.map(({ name }) => name).join(' '));
      return new Promise((resolve) => releases.push(() => resolve(items.map(({ name }) => name))));
    },
  });
  const submit = (of: number, name: string, units?: number) =>
    commit.submit({ of, name, ...(units === undefined ? {} : { units }) });
  /** Lets what is being written be finished, one batch after the other, until nothing is left. */
  const finish = async (): Promise<void> => {
    const isIdle = commit.idle().then(() => true);
    while (!(await Promise.race([isIdle, turn().then(() => false)]))) releases.shift()?.();
  };
  return { submit, batches, finish, release: () => releases.shift()!() };
}

test('what one queue has waiting delays another by the batch that is being written', async () => {
  const { submit, batches, release, finish } = sharedCommit();
  for (const name of ['A', 'B', 'C', 'D']) void submit(1, name, 8);
  await turn();
  void submit(2, 'x', 1);
  release();
  await turn();
  assert.deepEqual(batches, ['A', 'x'], 'and its own is not made long by the other');
  void submit(2, 'y', 1);
  await finish();
  assert.deepEqual(batches, ['A', 'x', 'B', 'y', 'C', 'D'], 'turn by turn');
});

test('queues share a batch evenly, each in its own order', async () => {
  const { submit, batches, finish } = sharedCommit();
  for (const name of ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I']) void submit(1, name);
  for (const name of ['x', 'y']) void submit(2, name);
  await finish();
  assert.deepEqual(batches, ['A B C D E F G H x y', 'I']);
});

test('one queue cannot fill what may wait: it holds as much as it leaves free', async () => {
  const { submit, finish } = sharedCommit();
  const accepted = (of: number): number => Array.from({ length: 30 }, () => submit(of, 'one')).filter(Boolean).length;
  assert.deepEqual([accepted(1), accepted(2), accepted(3)], [12, 6, 3]);
  await finish();
});

test('units that wait are bounded, too', async () => {
  const { submit, finish } = sharedCommit();
  assert.notEqual(submit(1, 'A', 100), null);
  assert.equal(submit(1, 'B', 21), null);
  assert.notEqual(submit(1, 'C', 20), null);
  assert.notEqual(submit(2, 'x', 60), null);
  await finish();
});

test('one behind the other, a queue of which nothing is being written waits as any', async () => {
  const { submit, batches, finish } = sharedCommit(BEHIND);
  void submit(1, 'A');
  await turn();
  void submit(2, 'x');
  await turn();
  assert.deepEqual(batches, ['A']);
  void submit(3, 'y');
  assert.deepEqual(batches, ['A', 'x y']);
  await finish();
});

test('a queue of which nothing is being written does not wait for company', async () => {
  const { submit, batches, finish } = sharedCommit(SIDE_BY_SIDE);
  void submit(1, 'A', 8);
  await turn();
  void submit(1, 'B', 8);
  await turn();
  assert.deepEqual(batches, ['A']);
  void submit(2, 'x');
  await turn();
  assert.deepEqual(batches, ['A', 'x']);
  await finish();
  assert.deepEqual(batches, ['A', 'x', 'B']);
});
