// The clock and the randomness that are handed in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBreaks, delay, systemClock } from '../../src/runtime/clock.ts';
import { randomDigits, type Random } from '../../src/runtime/random.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';

/** What Node can count: it sets a timer that is further away to 1 ms. */
const TIMER_DELAY_MAX_MS = 2 ** 31 - 1;

test('a timer further away than Node can count is not set to fire at once', (context) => {
  const { mock } = context.mock.method(globalThis, 'setTimeout');
  for (const delayMs of [10 * TIMER_DELAY_MAX_MS, Number.POSITIVE_INFINITY, -5]) {
    systemClock.setTimer(() => assert.fail('it was cancelled'), delayMs).cancel();
  }
  assert.deepEqual(
    mock.calls.map((call) => call.arguments[1]),
    [TIMER_DELAY_MAX_MS, TIMER_DELAY_MAX_MS, 0],
  );
});

test('the wall clock gives whole milliseconds, the other one never goes back', () => {
  assert.ok(Number.isInteger(systemClock.now()));
  const [first, second] = [systemClock.monotonic(), systemClock.monotonic()];
  assert.ok(second >= first);
});

test('a delay ends after its time, not before', async () => {
  const clock = new VirtualClock();
  let isOver = false;
  void delay(clock, 100).then(() => (isOver = true));
  await clock.run(99);
  assert.equal(isOver, false);
  await clock.run(1);
  assert.equal(isOver, true);
});

test('digits are as likely as each other, whatever the base', () => {
  const random = new SeededRandom(1);
  const counts = new Array<number>(62).fill(0);
  for (const digit of randomDigits(random, { count: 62_000, base: 62 })) counts[digit]!++;
  // 1,000 expected of each; of 256 values 62 goes in four times, so the first 8 would be a quarter likelier.
  assert.ok(Math.min(...counts) > 850 && Math.max(...counts) < 1_150, `${Math.min(...counts)}-${Math.max(...counts)}`);
});

test('bytes above the last whole multiple of the base are thrown away', () => {
  const pools = [Uint8Array.of(255, 248, 247), Uint8Array.of(0, 61, 62)];
  const random: Random = { bytes: () => pools.shift()!, fraction: () => 0 };
  assert.deepEqual(randomDigits(random, { count: 3, base: 62 }), [247 % 62, 0, 61]);
});

test('of those that share breaks one goes on in a turn, in the order in which they came', async () => {
  const turns: (() => void)[] = [];
  let now = 0;
  const takeBreak = createBreaks({ monotonic: () => now, afterTurn: (callback) => void turns.push(callback) }, 5);
  const steps: string[] = [];
  const work = async (name: string): Promise<void> => {
    for (let step = 0; step < 2; step++) {
      await takeBreak();
      steps.push(name);
      now += 5;
    }
  };
  now = 5;
  const all = Promise.all([work('a'), work('b'), work('c')]);
  const perTurn: string[] = [];
  while (turns.length > 0) {
    assert.equal(turns.length, 1);
    turns.shift()!();
    await new Promise((resolve) => setImmediate(resolve));
    perTurn.push(steps.splice(0).join(''));
  }
  await all;
  assert.deepEqual(perTurn, ['a', 'b', 'c', 'a', 'b', 'c']);
  now = 32;
  await takeBreak();
});
