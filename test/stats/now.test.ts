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
import type { Store } from '../../src/store/store.ts';
import { openInThreadStore } from '../support/in-thread-store.ts';
import { ManualClock } from '../support/manual-clock.ts';

const LIVE = 1;

function setUp(override: Partial<Store> = {}) {
  const clock = new ManualClock();
  const inMemory = openInThreadStore({
    path: ':memory:',
    masterKey: new Uint8Array(32),
    clock,
    random: systemRandom,
    diskReserveBytes: 0,
    maxBacklogPerDestination: 100,
  });
  const store = { ...inMemory, ...override };
  const counter = new Counter(clock, systemRandom);
  const activity = new Activity();
  const pulse = { events: 0, attempts: 0, succeeded: 0, inFlight: 0, oldestDueAt: null };
  const pulseOf = () => pulse;
  const parts = { store, clock, counter, activity, pulseOf };
  const write = createStatsWriter({ ...parts, environments: [LIVE], onWire: () => [] });
  const now = createNow({
    ...parts,
    reader: createCountsReader(store, counter, clock),
    paused: new PausedDestinations(),
    destinationsOf: () => new Map(),
    loadOf: () => null,
  });
  return { clock, pulse, write, now };
}

test('what a process told before the clock was set back is none of the last minute', async () => {
  const { clock, pulse, write, now } = setUp();
  let aheadMs = 0;
  const unset = clock.now.bind(clock);
  clock.now = () => unset() + aheadMs;
  pulse.events = 600;
  await write();
  assert.equal((await now(LIVE)).eventsPerSecond, 10);
  aheadMs = -HOUR_MS;
  await write();
  clock.advance(2 * MINUTE_MS);
  pulse.events = 0;
  await write();
  assert.equal((await now(LIVE)).eventsPerSecond, 0);
});

test('what waits is known from the rest where what was counted belongs to deleted destinations', async () => {
  const { now } = setUp({
    countOpen: async ({ status }) => (status === 'pending' ? { count: 0, isAll: false } : { count: 20, isAll: true }),
    readStats: async () => ({ unfinished: [{ environment: LIVE, count: 30 }], storedBytes: null, freeBytes: null }),
  });
  const { pending, retrying } = await now(LIVE);
  assert.deepEqual({ pending, retrying }, { pending: 10, retrying: 20 });
});
