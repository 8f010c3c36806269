// The loops of retention: what is past its age goes, in steps with pauses, and a failure does not end them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRetentionLoops } from '../../src/maintain/retention.ts';
import { createClockTrust } from '../../src/runtime/clock-trust.ts';
import { StoreError, type StepReport } from '../../src/store/store.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';

const DAY_MS = 86_400_000;

/** Loops whose steps are answered from a list, then with nothing to do. */
function setUp({ bodyRetentionMs = 30 * DAY_MS, answers = [] as (StepReport | Error)[] } = {}) {
  const clock = new VirtualClock();
  const steps: { name: string; at: number; cutoff: number | null; budgetMs: number }[] = [];
  const errors: string[] = [];
  const counts = { erased: 0, pruned: 0 };
  const step =
    (name: string) =>
    async (request: { cutoff?: number; budgetMs: number }): Promise<StepReport> => {
      const { cutoff, budgetMs } = request;
      steps.push({ name, at: clock.monotonic(), cutoff: cutoff === undefined ? null : clock.now() - cutoff, budgetMs });
      const answer = name === 'erase' ? answers.shift() : undefined;
      if (answer instanceof Error) throw answer;
      return answer ?? { changed: 0, more: false };
    };
  const retention = createRetentionLoops({
    store: { eraseBodies: step('erase'), pruneRows: step('prune'), endDeletedDeliveries: step('end') },
    clock,
    clockTrust: createClockTrust(clock, () => undefined),
    bodyRetentionMs,
    rowRetentionMs: 90 * DAY_MS,
    onErased: (count) => (counts.erased += count),
    onPruned: (count) => (counts.pruned += count),
    onError: (_error, name) => errors.push(name),
    onEnded: () => {},
    isOldDataOurs: () => true,
  });
  for (const loop of retention.loops) loop.start();
  const times = (name: string): number[] => steps.filter((one) => one.name === name).map(({ at }) => at);
  return { clock, steps, errors, counts, retention, times };
}

test('each kind has its own age, and looks once a minute', async () => {
  const { clock, steps, times } = setUp();
  await clock.run(150_000);
  const ages = Object.fromEntries(steps.map(({ name, cutoff }) => [name, cutoff]));
  assert.deepEqual(ages, { erase: 30 * DAY_MS, prune: 90 * DAY_MS, end: null });
  for (const name of ['erase', 'prune', 'end']) assert.equal(times(name).length, 3, name);
});

test('a short retention is looked after more often', async () => {
  const { clock, times } = setUp({ bodyRetentionMs: 20_000 });
  await clock.run(10_000);
  assert.ok(times('erase').length >= 9);
});

test('while there is more it goes on after a pause, in small steps, and counts', async () => {
  const answers = [3, 4, 5].map((changed) => ({ changed, more: true }));
  const { clock, times, counts, steps } = setUp({ answers });
  await clock.run(1_000);
  const [first, ...rest] = times('erase');
  assert.deepEqual(
    rest.map((at, i) => Math.round(at - first!) === 10 * (i + 1)),
    [true, true, true],
  );
  assert.deepEqual(counts, { erased: 12, pruned: 0 });
  assert.ok(steps.every(({ budgetMs }) => budgetMs <= 5));
});

test('a step that fails is reported, and tried again at the next interval', async () => {
  const { clock, times, errors } = setUp({ answers: [new StoreError('unavailable', 'away')] });
  await clock.run(61_000);
  assert.deepEqual(errors, ['erase-bodies']);
  assert.equal(times('erase').length, 2);
});

test('a deletion is followed up at once', async () => {
  const { clock, times, retention } = setUp();
  await clock.run(1_000);
  retention.wakeEndDeleted();
  await clock.run(10);
  assert.equal(times('end').length, 2);
});

test('a clock that jumps ahead erases nothing, and once it is set right all goes on', async () => {
  const { clock, steps, times } = setUp();
  await clock.run(1_000);
  clock.setWallClock(40 * DAY_MS);
  await clock.run(600_000);
  assert.deepEqual([times('erase').length, times('prune').length], [1, 1]);
  assert.ok(times('end').length >= 10, 'what has no age is done');
  clock.setWallClock(-40 * DAY_MS);
  await clock.run(61_000);
  assert.deepEqual([times('erase').length, times('prune').length], [2, 2]);
  assert.ok(steps.every(({ cutoff }) => cutoff === null || cutoff >= 30 * DAY_MS));
});

test('a clock that stays where it jumped to is believed after a day', async () => {
  const { clock, times } = setUp();
  await clock.run(1_000);
  clock.setWallClock(40 * DAY_MS);
  await clock.run(DAY_MS - 61_000);
  assert.equal(times('erase').length, 1);
  await clock.run(180_000);
  assert.ok(times('erase').length > 1);
});
