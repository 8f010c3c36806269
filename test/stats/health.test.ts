// How one destination is doing, on a store that nodes share.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '../../src/runtime/random.ts';
import { Activity } from '../../src/stats/activity.ts';
import { Counter } from '../../src/stats/counter.ts';
import { readHealthOf } from '../../src/stats/health.ts';
import { createCountsReader } from '../../src/stats/reader.ts';
import type { ClusterStore } from '../../src/store/cluster-store.ts';
import { Scene } from '../store/scene.ts';
import { openInThreadStore } from '../support/in-thread-store.ts';
import { ManualClock } from '../support/manual-clock.ts';

const ACCEPTED_HERE = 400;
/** More than are counted. */
const ACCEPTED = 1_200;
const COUNTED_MAX = 1_000;

test('of more than are counted no fewer are told than were counted, however few this node has accepted', async () => {
  const clock = new ManualClock();
  const store = openInThreadStore({
    path: ':memory:',
    masterKey: new Uint8Array(32),
    clock,
    random: systemRandom,
    diskReserveBytes: 0,
    maxBacklogPerDestination: 10_000,
  });
  const scene = new Scene(store);
  const id = await scene.createDestination();
  await scene.accept(Array.from({ length: ACCEPTED }, () => id));
  const [destination] = (await store.listDestinations({ environment: 1, status: null, before: null, limit: 1 })).rows;
  const seenHere: Pick<typeof store, 'readConditions' | 'countDeliveries' | 'cluster'> = {
    countDeliveries: store.countDeliveries.bind(store),
    async readConditions(ids) {
      return (await store.readConditions(ids)).map((one) => ({ ...one, unfinished: ACCEPTED_HERE }));
    },
    cluster: {} as ClusterStore,
  };
  const reader = createCountsReader(store, new Counter(clock, systemRandom), clock);
  const parts = { store: seenHere, clock, activity: new Activity(), loadOf: () => null, reader };
  const { unfinished } = await readHealthOf(parts, destination!);
  assert.ok(unfinished >= COUNTED_MAX, `${unfinished}`);
});
