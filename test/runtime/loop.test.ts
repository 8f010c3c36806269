// The one shape of background loops: never two steps at a time, errors do not end it, a stop is waited for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLoop, type StepResult } from '../../src/runtime/loop.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';

function loopOf(step: () => Promise<StepResult>) {
  const clock = new VirtualClock();
  const errors: unknown[] = [];
  const loop = createLoop({ name: 'test', clock, intervalMs: 1_000, step, onError: (error) => errors.push(error) });
  return { clock, loop, errors };
}

test('steps follow at the interval, at once when there is more, and go on after a failure', async () => {
  const answers: (StepResult | Error)[] = ['idle', 'more', 'more', new Error('away'), 'idle'];
  const times: number[] = [];
  const { clock, loop, errors } = loopOf(async () => {
    times.push(Math.round(clock.monotonic() / 100) * 100);
    const answer = answers.shift() ?? 'idle';
    if (answer instanceof Error) throw answer;
    return answer;
  });
  loop.start();
  await clock.run(3_500);
  assert.deepEqual(times, [0, 1_000, 1_000, 1_000, 2_000, 3_000]);
  assert.equal(errors.length, 1);
});

test('a wake during a step brings another one at once, and not two together', async () => {
  let running = 0;
  let steps = 0;
  let finish = () => {};
  const { clock, loop } = loopOf(async () => {
    assert.equal(++running, 1);
    steps++;
    await new Promise<void>((resolve) => (finish = resolve));
    running--;
    return 'idle';
  });
  loop.start();
  await clock.run(5);
  loop.wake();
  loop.wake();
  await clock.run(5);
  assert.equal(steps, 1);
  finish();
  await clock.run(5);
  assert.equal(steps, 2);
});

test('stop waits for the step under way, and none follows', async () => {
  let finish = () => {};
  let steps = 0;
  const { clock, loop } = loopOf(async () => {
    steps++;
    await new Promise<void>((resolve) => (finish = resolve));
    return 'more';
  });
  loop.start();
  await clock.run(5);
  let isStopped = false;
  const stopping = loop.stop().then(() => (isStopped = true));
  await clock.run(5);
  assert.equal(isStopped, false);
  finish();
  await stopping;
  loop.wake();
  await clock.run(10_000);
  assert.equal(steps, 1);
});
