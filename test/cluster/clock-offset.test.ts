// A node corrects its clock by the store's. An answer that took long says little of when the store looked at its clock:
// a slow store must not make a clock wrong that is right.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { correctionOf, measureOffset } from '../../src/cluster/clock-offset.ts';
import { SharedStoreNode } from '../../src/cluster/shared-store.ts';
import { createAdjustableClock, delay, type AdjustableClock, type Clock } from '../../src/runtime/clock.ts';
import { createIds } from '../../src/runtime/ids.ts';
import type { ClusterStore } from '../../src/store/cluster-store.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';
import { MemoryCluster } from './memory-cluster.ts';

const LEASE_MS = 10_000;
/** As long as a database is waited for that is being started again. */
const SLOW_MS = 4_000;
const WRONG_MS = 40_000;

type Slowness = { beforeMs: number; afterMs: number };

/** A node on a store whose clock is ahead by `offsetMs`, and which answers slowly when it is told to. */
class Scene {
  readonly clock = new VirtualClock();
  /** By how much the machine's wall clock was set since. */
  setByMs = 0;
  readonly machine: Clock = {
    now: () => this.clock.now() + this.setByMs,
    monotonic: () => this.clock.monotonic(),
    setTimer: (callback, delayMs) => this.clock.setTimer(callback, delayMs),
    afterTurn: (callback) => this.clock.afterTurn(callback),
  };
  readonly corrected: AdjustableClock = createAdjustableClock(this.machine);
  readonly slowness: Slowness = { beforeMs: 0, afterMs: 0 };
  readonly corrections: number[] = [];
  readonly store: ClusterStore;
  readonly node: SharedStoreNode;

  constructor(offsetMs: number) {
    const { clock, slowness, corrections } = this;
    const random = new SeededRandom(1);
    const memory = new MemoryCluster(clock, random, offsetMs);
    const store = memory.storeFor({ isAlive: () => true, whenAwake: async () => undefined });
    const slowly = async <Result>(ask: () => Promise<Result>): Promise<Result> => {
      const { beforeMs, afterMs } = slowness;
      await delay(clock, beforeMs);
      const result = await ask();
      await delay(clock, afterMs);
      return result;
    };
    this.store = {
      ...store,
      renewLease: (id) => slowly(() => store.renewLease(id)),
      readCluster: () => slowly(() => store.readCluster()),
    };
    this.node = new SharedStoreNode({
      node: { id: createIds(clock, random).next('nod'), name: 'simulated', version: '0' },
      leaseMs: LEASE_MS,
      store: this.store,
      clock: this.corrected,
      hearOther: () => {},
      hearAgain: () => {},
      work: {
        load: async (_shards, own) => own(),
        sweep: async () => undefined,
        release: async () => undefined,
        busyShards: () => new Set(),
        wake: () => true,
        resume: () => undefined,
        environments: () => [],
        catchUp: async () => 0,
      },
      events: {
        onClockOff: (byMs) => corrections.push(byMs),
        onRenewalFailed: () => undefined,
        onLeaseLost: () => undefined,
        onNodesRemoved: () => undefined,
        onShardsTaken: () => undefined,
        onShardsReleased: () => undefined,
        onError: () => undefined,
      },
    });
  }
}

const SLOW: Readonly<Record<string, Slowness>> = {
  'before it looked at its clock': { beforeMs: SLOW_MS, afterMs: 0 },
  'after it looked at its clock': { beforeMs: 0, afterMs: SLOW_MS },
};

describe('a store that was slow', () => {
  for (const [when, slowness] of Object.entries(SLOW)) {
    test(`${when} makes no clock wrong that is right`, async () => {
      const { clock, node, corrections, ...scene } = new Scene(0);
      await clock.runFor(node.join('here'));
      Object.assign(scene.slowness, slowness);
      await clock.run(3 * SLOW_MS);
      Object.assign(scene.slowness, { beforeMs: 0, afterMs: 0 });
      await clock.run(3 * SLOW_MS);
      assert.deepEqual(corrections, []);
    });

    test(`${when} sets a clock that is wrong right, as soon as it can be told`, async () => {
      const { clock, node, corrections, ...scene } = new Scene(WRONG_MS);
      Object.assign(scene.slowness, slowness);
      await clock.runFor(node.join('here'));
      assertNear(corrections.at(-1)!, WRONG_MS, SLOW_MS);
      Object.assign(scene.slowness, { beforeMs: 0, afterMs: 0 });
      await clock.run(3 * SLOW_MS);
      assertNear(corrections.at(-1)!, WRONG_MS, 50);
    });

    test(`${when} makes none wrong at a start either`, async () => {
      const { clock, store, ...scene } = new Scene(0);
      Object.assign(scene.slowness, slowness);
      assert.equal(correctionOf(await clock.runFor(measureOffset(store, clock))), 0);
    });
  }
});

test('a start goes by the quickest of some answers, for a machine was busy while the others came', async () => {
  const { clock, store, slowness } = new Scene(WRONG_MS);
  const delays = [400, 90, 0, 300];
  const readCluster: ClusterStore['readCluster'] = () => {
    slowness.afterMs = delays.shift() ?? 500;
    return store.readCluster();
  };
  const offset = await clock.runFor(measureOffset({ readCluster }, clock));
  assertNear(correctionOf(offset), WRONG_MS, 20);
});

describe('a machine whose clock is set while its node runs', () => {
  for (const byMs of [3_600_000, -3_600_000, 20_000]) {
    test(`by ${byMs / 1_000} s`, async () => {
      const scene = await startScene();
      const { clock, corrected } = scene;
      scene.setByMs = byMs;
      // Nobody has asked the store yet.
      assertNear(corrected.now(), clock.now(), 1);
      await clock.run(LEASE_MS);
      assertNear(corrected.now(), clock.now(), 1);
    });
  }

  for (const [when, slowness] of Object.entries(SLOW)) {
    test(`in the middle of a renewal that was slow ${when}`, async () => {
      const scene = await startScene();
      const { clock, corrected } = scene;
      Object.assign(scene.slowness, slowness);
      await clock.run(1.25 * SLOW_MS);
      scene.setByMs = 3_600_000;
      for (let i = 0; i < 4; i++) {
        await clock.run(SLOW_MS / 4);
        assertNear(corrected.now(), clock.now(), 1);
      }
    });
  }

  test('in many small steps', async () => {
    // Each is too small to be noticed; together the machine, which was behind, is right in the end.
    const scene = await startScene(5_000);
    const { clock, corrected } = scene;
    for (let i = 0; i < 10; i++) {
      scene.setByMs += 500;
      await clock.run(LEASE_MS);
      assertNear(corrected.now(), clock.now() + 5_000, 1_000);
    }
  });
});

/** As the service starts: the clock is right before the first id is made. */
async function startScene(offsetMs = 0): Promise<Scene> {
  const scene = new Scene(offsetMs);
  const { clock, machine, store, node } = scene;
  const offset = await clock.runFor(measureOffset(store, machine));
  scene.corrected.adjust(correctionOf(offset), offset.at);
  await clock.runFor(node.join('here'));
  return scene;
}

function assertNear(value: number, expected: number, offMax: number): void {
  assert.ok(Math.abs(value - expected) <= offMax, `${value} is not within ${offMax} of ${expected}`);
}
