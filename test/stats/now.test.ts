// How things are just now: the rates of this process and of the others, whatever the clock did.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '../../src/runtime/random.ts';
import { Activity } from '../../src/stats/activity.ts';
import { Counter, HOUR_MS, MINUTE_MS } from '../../src/stats/counter.ts';
import { createNow } from '../../src/stats/now.ts';
import { PausedDestinations } from '../../src/stats/paused.ts';
import { createCountsReader } from '../../src/stats/reader.ts';
import { createStatsWriter } from '../../src/stats/writer.ts';
import { openInThreadStore } from '../support/in-thread-store.ts';
import { ManualClock } from '../support/manual-clock.ts';

const LIVE = 1;

test('what a process told before the clock was set back is none of the last minute', async () => {
  const clock = new ManualClock();
  let aheadMs = 0;
  const unset = clock.now.bind(clock);
  clock.now = () => unset() + aheadMs;
  const store = openInThreadStore({
    path: ':memory:',
    masterKey: new Uint8Array(32),
    clock,
    random: systemRandom,
    diskReserveBytes: 0,
    maxBacklogPerDestination: 100,
  });
  const counter = new Counter(clock, systemRandom);
  const activity = new Activity();
  let events = 600;
  const pulseOf = () => ({ events, attempts: 0, succeeded: 0, inFlight: 0, oldestDueAt: null });
  const write = createStatsWriter({
    store,
    clock,
    environments: [LIVE],
    counter,
    activity,
    pulseOf,
    onWire: () => [],
  });
  const now = createNow({
    store,
    clock,
    counter,
    activity,
    reader: createCountsReader(store, counter, clock),
    paused: new PausedDestinations(),
    pulseOf,
    destinationsOf: () => new Map(),
    loadOf: () => null,
  });
  await write();
  assert.equal((await now(LIVE)).eventsPerSecond, 10);
  aheadMs = -HOUR_MS;
  await write();
  clock.advance(2 * MINUTE_MS);
  events = 0;
  await write();
  assert.equal((await now(LIVE)).eventsPerSecond, 0);
});
