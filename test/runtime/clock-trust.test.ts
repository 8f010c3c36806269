// When the wall clock may be believed: not when it has just jumped ahead.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClockTrust } from '../../src/runtime/clock-trust.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function setUp() {
  const clock = new VirtualClock();
  const jumps: number[] = [];
  return { clock, jumps, trust: createClockTrust(clock, (byMs) => jumps.push(byMs)) };
}

test('a clock that runs, drifts, or is set back is believed', async () => {
  const { clock, jumps, trust } = setUp();
  for (const byMs of [0, 5_000, 50_000, 50_000, -DAY_MS]) {
    await clock.run(HOUR_MS);
    clock.setWallClock(byMs);
    assert.equal(trust.isSettled(), true);
  }
  assert.deepEqual(jumps, []);
});

test('one that jumps ahead is not, until it is set back or a day has passed; each jump is told once', async () => {
  const { clock, jumps, trust } = setUp();
  for (const isSetBack of [true, false]) {
    clock.setWallClock(DAY_MS);
    for (let i = 0; i < 5; i++, await clock.run(HOUR_MS)) assert.equal(trust.isSettled(), false);
    if (isSetBack) clock.setWallClock(-DAY_MS);
    else await clock.run(DAY_MS);
    assert.equal(trust.isSettled(), true);
  }
  assert.deepEqual(jumps, [DAY_MS, DAY_MS]);
});

test('a second jump begins the wait anew', async () => {
  const { clock, jumps, trust } = setUp();
  clock.setWallClock(HOUR_MS);
  assert.equal(trust.isSettled(), false);
  await clock.run(20 * HOUR_MS);
  clock.setWallClock(HOUR_MS);
  assert.equal(trust.isSettled(), false);
  await clock.run(20 * HOUR_MS);
  assert.equal(trust.isSettled(), false);
  await clock.run(5 * HOUR_MS);
  assert.equal(trust.isSettled(), true);
  assert.deepEqual(jumps, [HOUR_MS, 2 * HOUR_MS]);
});
