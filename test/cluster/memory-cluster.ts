// The cluster part of a store in memory, for many nodes in one process: each method is one transaction, which may be
// slow before it and after it, may fail before it, or fail after it without its caller learning what became of it.
import { SHARD_COUNT, idShard, type DestinationId, type NodeId } from '../../src/model/id.ts';
import { delay, type Clock } from '../../src/runtime/clock.ts';
import { StoreError } from '../../src/store/store.ts';
import type {
  ClusterNode,
  ClusterStore,
  ClusterView,
  MessageBatch,
  RenewedLease,
} from '../../src/store/cluster-store.ts';
import type { SeededRandom } from '../sim/seeded-random.ts';

/** Its clock may be far from everybody's: nothing may depend on the difference. */
export const STORE_OFFSET_MS = 86_400_000;

type Listener = Parameters<ClusterStore['listen']>[0];
/** A change of a destination that its owner has yet to acknowledge. */
type Barrier = { destinationId: DestinationId; environment: number; version: number };
/** How a node reaches it. `whenAwake`: nothing gets to a process that is stopped. */
type Reach = { isAlive: () => boolean; whenAwake: () => Promise<void> };

export class MemoryCluster {
  readonly owners: (NodeId | null)[] = Array.from({ length: SHARD_COUNT }, () => null);
  /** Of calls, and of announcements. */
  lossProbability = 0;
  latencyMaxMs = 20;
  recounts = 0;
  readonly #clock: Clock;
  /** Of the transaction under way. */
  #time = 0;
  readonly #offsetMs: number;
  readonly #random: SeededRandom;
  readonly #nodes = new Map<NodeId, ClusterNode>();
  readonly #listeners = new Map<Listener, Reach>();
  /** Of the configuration, by environment. */
  readonly #versions = new Map<number, number>();
  #barriers: Barrier[] = [];
  readonly #batches: MessageBatch[] = [];
  /** Until when it is whose; monotonic ms. */
  readonly #tests = new Map<DestinationId, { reach: Reach; until: number }>();
  #isAway = false;

  constructor(clock: Clock, random: SeededRandom, offsetMs = STORE_OFFSET_MS) {
    this.#clock = clock;
    this.#offsetMs = offsetMs;
    this.#random = random;
  }

  /** From now on every call fails, and nothing that is announced arrives. */
  goAway(): void {
    this.#isAway = true;
  }

  /** Whoever listens is connected anew, and told that something may have been missed. */
  comeBack(): void {
    this.#isAway = false;
    for (const listener of this.#listeners.keys()) this.#tell(listener, listener.onGap);
  }

  /** The transaction of a change that a node must honour before the change is answered. Returns its version. */
  changeDestination(change: Omit<Barrier, 'version'>): number {
    const version = this.raiseVersion(change.environment);
    this.leaveBarrier({ ...change, version });
    return version;
  }

  /** The same, where the change itself was stored elsewhere. */
  leaveBarrier(barrier: Barrier): void {
    this.#barriers.push(barrier);
  }

  /** The transaction of any other change of the configuration. */
  raiseVersion(environment: number): number {
    const version = this.versionOf(environment) + 1;
    this.#versions.set(environment, version);
    return version;
  }

  versionOf(environment: number): number {
    return this.#versions.get(environment) ?? 0;
  }

  /** As a node reads it, which takes time and may fail. */
  readVersion(reach: Reach, environment: number): Promise<number> {
    return this.#call(reach, () => this.versionOf(environment));
  }

  /** What one node is given. */
  storeFor(reach: Reach): ClusterStore {
    const call = <Result>(work: () => Result): Promise<Result> => this.#call(reach, work);
    return {
      addNode: (node) =>
        call(() => {
          const now = this.#time;
          this.#nodes.set(node.id, { ...node, startedAt: now, heartbeatAt: now, isLeaving: false });
        }),
      renewLease: (id) => call(() => (this.#renew(id) ? this.#renewed(id) : null)),
      removeExpired: () => call(() => this.#removeExpired()),
      takeShards: ({ node, shards }) =>
        call(() => {
          const taken = this.#renew(node) ? shards.filter((shard) => this.owners[shard] === null) : [];
          for (const shard of taken) this.owners[shard] = node;
          return taken;
        }),
      freeShards: ({ node, shards }) => call(() => this.#free(node, shards)),
      setLeaving: (id) =>
        call(() => {
          const node = this.#nodes.get(id);
          if (node !== undefined) node.isLeaving = true;
        }),
      removeNode: (id) =>
        call(() => {
          this.#nodes.delete(id);
          this.#free(id, [...this.owners.keys()]);
        }),
      readCluster: () => call(() => this.#view()),
      acknowledgeChanges: (request) => call(() => this.#acknowledge(request)),
      isChangeWaiting: (id) => call(() => this.#barriers.some(({ destinationId }) => destinationId === id)),
      recountUnfinished: () => call(() => void this.recounts++),
      publishMessages: (batch) => call(() => void this.#batches.push(batch)),
      readMessages: ({ environment, node, after }) =>
        call(() =>
          this.#batches.filter(
            (batch) =>
              batch.environment === environment && (node === null || (batch.node === node && batch.number > after)),
          ),
        ),
      dropMessages: () => call(() => void this.#batches.splice(0)),
      reserveTest: ({ destinationId, forMs }) =>
        call(() => {
          const now = this.#clock.monotonic();
          const last = this.#tests.get(destinationId);
          if (last !== undefined && last.reach !== reach && last.until > now) return false;
          this.#tests.set(destinationId, { reach, until: now + forMs });
          return true;
        }),
      announce: async (text) => this.#announce(text),
      listen: (listener) => {
        this.#listeners.set(listener, reach);
        this.#tell(listener, listener.onGap);
      },
    };
  }

  async #call<Result>({ isAlive, whenAwake }: Reach, work: () => Result): Promise<Result> {
    await this.#wait();
    if (!isAlive()) return new Promise(() => {});
    this.#mayFail();
    // A transaction has one time.
    this.#time = this.#clock.now() + this.#offsetMs;
    const result = work();
    await this.#wait();
    await whenAwake();
    if (!isAlive()) return new Promise(() => {});
    this.#mayFail();
    return result;
  }

  #mayFail(): void {
    if (this.#isAway || this.#random.chance(this.lossProbability)) throw new StoreError('unavailable', 'it is away');
  }

  #wait(): Promise<void> {
    return delay(this.#clock, this.#random.between(1, this.latencyMaxMs));
  }

  #announce(text: string): void {
    for (const listener of this.#listeners.keys()) {
      if (this.#isAway || this.#random.chance(this.lossProbability)) continue;
      this.#tell(listener, () => listener.onAnnounced(text));
    }
  }

  #tell(listener: Listener, what: () => void): void {
    const { isAlive, whenAwake } = this.#listeners.get(listener)!;
    void this.#wait()
      .then(whenAwake)
      .then(() => isAlive() && what());
  }

  #renew(id: NodeId): boolean {
    const node = this.#nodes.get(id);
    if (node !== undefined) node.heartbeatAt = this.#time;
    return node !== undefined;
  }

  #removeExpired(): NodeId[] {
    const expired = [...this.#nodes.values()].filter((node) => node.heartbeatAt + node.leaseMs < this.#time);
    for (const { id } of expired) {
      this.#nodes.delete(id);
      this.#free(id, [...this.owners.keys()]);
    }
    return expired.map(({ id }) => id);
  }

  #free(node: NodeId, shards: readonly number[]): void {
    for (const shard of shards) if (this.owners[shard] === node) this.owners[shard] = null;
  }

  #renewed(id: NodeId): RenewedLease {
    const waiting = this.#barriers.filter(({ destinationId }) => this.owners[idShard(destinationId)] === id);
    return { ...this.#view(), changedEnvironments: [...new Set(waiting.map(({ environment }) => environment))] };
  }

  /** Only by the owner: a node that lost a shard must not speak for its successor. */
  #acknowledge({ node, environment, version }: Parameters<ClusterStore['acknowledgeChanges']>[0]): DestinationId[] {
    const isHonoured = (barrier: Barrier): boolean =>
      this.owners[idShard(barrier.destinationId)] === node &&
      barrier.environment === environment &&
      barrier.version <= version;
    const honoured = this.#barriers.filter(isHonoured);
    this.#barriers = this.#barriers.filter((barrier) => !isHonoured(barrier));
    return honoured.map(({ destinationId }) => destinationId);
  }

  #view(): ClusterView {
    const nodes = [...this.#nodes.values()].map((node) => ({ ...node }));
    return { now: this.#time, nodes: nodes.sort((a, b) => (a.id < b.id ? -1 : 1)), owners: [...this.owners] };
  }
}
