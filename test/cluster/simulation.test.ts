// Many nodes on a virtual clock that are stopped, killed, cut off and joined at random moments: no two of them ever
// send to one shard, who sends to a destination goes by every change of it that was confirmed, and when the trouble is
// over all shards are shared evenly and have been swept.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Cluster } from '../../src/cluster/cluster.ts';
import { SharedStoreNode } from '../../src/cluster/shared-store.ts';
import { ApiError } from '../../src/model/error.ts';
import { SHARD_COUNT, type DestinationId, type NodeId } from '../../src/model/id.ts';
import { createAdjustableClock, delay, type Clock, type Timer } from '../../src/runtime/clock.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { StoreError } from '../../src/store/store.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';
import { MemoryCluster, STORE_OFFSET_MS } from './memory-cluster.ts';

const LEASE_MS = 10_000;
/** Each is three minutes of trouble, some seconds of CPU; `npm run test:soak` has 30 of them, from SIM_SEED on. */
const SEEDS = Number(process.env['SIMULATION_SEEDS'] ?? 2);
const FIRST_SEED = Number(process.env['SIM_SEED'] ?? 1);
const TROUBLE_MS = 180_000;
/** A lease that runs out at the last moment, stability, and half of the shards at 16 a second. */
const CALM_MS = 60_000;
const LOOK_EVERY_MS = 40;
const CHANGE_EVERY_MS = 700;
const ENVIRONMENTS = [1, 2];

/** A process: it can be stopped and continued, and its wall clock is its own. */
class SimulatedNode {
  readonly id: NodeId;
  readonly cluster: Cluster;
  /** When each shard was last swept. */
  readonly sweptAt = new Map<number, number>();
  /** The version of each environment's configuration that it goes by. */
  readonly followed = new Map<number, number>();
  isAlive = true;
  isAsleep = false;
  offsetMs = 0;
  readonly skewMs: number;
  readonly #waking: (() => void)[] = [];

  constructor(world: World) {
    const { clock, random, store } = world;
    this.id = world.ids.next('nod');
    const skewMs = random.between(-500_000, 500_000);
    this.skewMs = skewMs;
    const own: Clock = {
      now: () => clock.now() + skewMs,
      monotonic: () => clock.monotonic(),
      setTimer: (callback, delayMs) => this.#setTimer(clock, callback, delayMs),
      afterTurn: (callback) => clock.afterTurn(callback),
    };
    const reach = { isAlive: () => this.isAlive, whenAwake: () => this.#whenAwake() };
    const catchUp = async (environment: number): Promise<number> => {
      const version = Math.max(await store.readVersion(reach, environment), this.followed.get(environment) ?? 0);
      this.followed.set(environment, version);
      return version;
    };
    this.cluster = new SharedStoreNode({
      node: { id: this.id, name: 'simulated', version: '0' },
      leaseMs: LEASE_MS,
      store: store.storeFor(reach),
      clock: createAdjustableClock(own),
      hearOther: () => {},
      hearAgain: () => {},
      work: {
        load: async (_shards, mark) => {
          for (const environment of ENVIRONMENTS) await catchUp(environment);
          await delay(own, random.between(1, 300));
          mark();
        },
        sweep: async (shards) => {
          await delay(own, random.between(1, 300));
          for (const shard of shards) this.sweptAt.set(shard, clock.monotonic());
        },
        release: (_shards, graceMs) => delay(own, random.between(1, Math.max(1, graceMs))),
        busyShards: () => new Set(),
        wake: () => true,
        resume: () => undefined,
        environments: () => ENVIRONMENTS,
        catchUp,
      },
      events: {
        onClockOff: (offsetMs) => (this.offsetMs = offsetMs),
        onRenewalFailed: () => undefined,
        onLeaseLost: () => undefined,
        onNodesRemoved: () => undefined,
        onShardsTaken: () => undefined,
        onShardsReleased: () => undefined,
        onError: () => undefined,
      },
    });
  }

  /** Whether it would send to this destination now. */
  sends(destination: DestinationId): boolean {
    return this.isAlive && !this.isAsleep && this.cluster.ownership.mayStart(destination);
  }

  async sleep(clock: Clock, forMs: number): Promise<void> {
    if (this.isAsleep) return;
    this.isAsleep = true;
    await delay(clock, forMs);
    this.isAsleep = false;
    for (const wake of this.#waking.splice(0)) wake();
  }

  async #whenAwake(): Promise<void> {
    while (this.isAsleep) await new Promise<void>((resolve) => this.#waking.push(resolve));
  }

  #setTimer(clock: Clock, callback: () => void, delayMs: number): Timer {
    let isCancelled = false;
    const fire = (): void => {
      if (!this.isAlive || isCancelled) return;
      if (this.isAsleep) this.#waking.push(fire);
      else callback();
    };
    const timer = clock.setTimer(fire, delayMs);
    return {
      cancel() {
        isCancelled = true;
        timer.cancel();
      },
    };
  }
}

class World {
  readonly clock = new VirtualClock();
  readonly random: SeededRandom;
  readonly ids;
  readonly store: MemoryCluster;
  readonly destinations: DestinationId[];
  nodes: SimulatedNode[] = [];
  looks = 0;
  confirmed = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.ids = createIds(this.clock, this.random);
    this.store = new MemoryCluster(this.clock, this.random);
    this.destinations = Array.from({ length: SHARD_COUNT }, (_, shard) => this.ids.next('dst', shard));
  }

  /** A process whose first step fails ends; somebody starts it again. */
  async add(): Promise<void> {
    const node = new SimulatedNode(this);
    try {
      await node.cluster.join('here');
      this.nodes.push(node);
    } catch {
      node.isAlive = false;
    }
  }

  /** Whoever saw the process end may tell another node of it, before its lease has run out. */
  kill(node: SimulatedNode): void {
    node.isAlive = false;
    this.nodes = this.nodes.filter((one) => one !== node);
    if (this.nodes.length > 0 && this.random.chance(0.5)) this.random.pick(this.nodes).cluster.removeDead(node.id);
  }

  async stop(node: SimulatedNode): Promise<void> {
    await node.cluster.leave(2_000);
    await node.cluster.close();
    this.kill(node);
  }

  async trouble(): Promise<void> {
    const { random, clock, store } = this;
    const endsAt = clock.monotonic() + TROUBLE_MS;
    while (clock.monotonic() < endsAt) {
      const node = this.nodes[random.between(0, this.nodes.length - 1)];
      const what = random.between(0, 7);
      if (node === undefined || (what === 0 && this.nodes.length < 6)) await this.add();
      else if (what <= 2) void node.sleep(clock, random.between(100, 2.5 * LEASE_MS));
      else if (what === 3 && this.nodes.length > 1) this.kill(node);
      else if (what === 4 && this.nodes.length > 1) void this.stop(node);
      else if (what === 5) await this.outage(random.between(100, 2 * LEASE_MS));
      else {
        store.lossProbability = random.chance(0.5) ? 0 : random.fraction() / 2;
        store.latencyMaxMs = random.chance(0.7) ? 20 : 3_000;
      }
      await delay(clock, random.between(10, 6_000));
    }
    Object.assign(store, { lossProbability: 0, latencyMaxMs: 20 });
    if (this.nodes.length === 0) await this.add();
  }

  async outage(forMs: number): Promise<void> {
    this.store.goAway();
    await delay(this.clock, forMs);
    this.store.comeBack();
  }

  assertOneSender(seed: number): void {
    this.looks++;
    for (const destination of this.destinations) {
      const senders = this.nodes.filter((node) => node.sends(destination));
      assert.ok(senders.length <= 1, `seed ${seed}: ${senders.length} nodes send at ${this.clock.monotonic()} ms`);
    }
  }

  /** Changes a destination as a client of some node, which may be asleep by then, or die over it. */
  async change(seed: number): Promise<void> {
    const { random, store } = this;
    const [node, destinationId] = [random.pick(this.nodes), random.pick(this.destinations)];
    const environment = random.pick(ENVIRONMENTS);
    const version = store.changeDestination({ destinationId, environment });
    try {
      await node.cluster.confirm({ environment, destinationId });
    } catch (error) {
      assert.ok(error instanceof ApiError || error instanceof StoreError);
      return;
    }
    this.confirmed++;
    for (const sender of this.nodes.filter((one) => one.cluster.ownership.mayStart(destinationId))) {
      const followed = sender.followed.get(environment) ?? 0;
      assert.ok(followed >= version, `seed ${seed}: change ${version} was confirmed, its owner goes by ${followed}`);
    }
  }

  /** Does this over and over, until it fails. */
  every(intervalMs: number, fail: (error: unknown) => void, what: () => unknown): void {
    this.clock.setTimer(() => {
      void (async () => what())().catch(fail);
      this.every(intervalMs, fail, what);
    }, intervalMs);
  }
}

describe('nodes in trouble', () => {
  test('never two send to one shard, what is confirmed is in force, and in the end all is shared', async (t) => {
    let [looks, confirmed] = [0, 0];
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const world = new World(seed);
      const { clock, store } = world;
      const failures: unknown[] = [];
      const fail = (error: unknown): void => void failures.push(error);
      world.every(LOOK_EVERY_MS, fail, () => world.assertOneSender(seed));
      for (let i = 0; i < 3; i++) await clock.runFor(world.add());
      world.every(CHANGE_EVERY_MS, fail, () => world.nodes.length > 0 && world.change(seed));
      await clock.runFor(world.trouble());
      await clock.run(CALM_MS);
      assert.deepEqual(failures, []);
      const share = SHARD_COUNT / world.nodes.length;
      for (const node of world.nodes) {
        const owned = node.cluster.ownership.ownedShards()!;
        assert.ok(Math.abs(owned.length - share) < 1, `seed ${seed}: ${owned.length} of ${world.nodes.length} nodes`);
        for (const shard of owned) {
          const since = node.cluster.ownership.ownedSince(shard)!;
          assert.ok((node.sweptAt.get(shard) ?? 0) >= since, `seed ${seed}: shard ${shard} was not swept`);
        }
        assert.deepEqual(
          node.cluster.troubles().filter((trouble) => !trouble.includes('clock')),
          [],
          `seed ${seed}`,
        );
      }
      assert.ok(!store.owners.includes(null), `seed ${seed}`);
      assert.ok(world.confirmed > 0, `seed ${seed}`);
      looks += world.looks;
      confirmed += world.confirmed;
    }
    t.diagnostic(`${SEEDS} histories, looked at ${looks} times, with ${confirmed} changes confirmed`);
  });

  test('a clock that is off is set right by the store’s, and the node is not ready while it is far off', async () => {
    const world = new World(1);
    await world.clock.runFor(world.add());
    const [node] = world.nodes;
    const wrongMs = STORE_OFFSET_MS - node!.skewMs;
    assert.ok(Math.abs(node!.offsetMs - wrongMs) < 50, `${node!.offsetMs} for ${wrongMs}`);
    assert.match(node!.cluster.troubles().join(), /the clock of this machine is \d+ s behind/);
  });
});
