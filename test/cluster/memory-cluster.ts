// The cluster part of a store in memory, for many nodes in one process: each method is one transaction, which may be
// slow before it and after it, may fail before it, or fail after it without its caller learning what became of it.
import { SHARD_COUNT } from '../../src/model/id.ts';
import type { NodeId } from '../../src/model/id.ts';
import { delay } from '../../src/runtime/clock.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import { StoreError } from '../../src/store/store.ts';
import type { ClusterNode, ClusterStore, ClusterView } from '../../src/store/store.ts';
import type { SeededRandom } from '../sim/seeded-random.ts';

/** Its clock is far from everybody's: nothing may depend on the difference. */
export const STORE_OFFSET_MS = 86_400_000;

type Listener = Parameters<ClusterStore['listen']>[0];
/** How a node reaches it. `whenAwake`: nothing gets to a process that is stopped. */
type Reach = { isAlive: () => boolean; whenAwake: () => Promise<void> };

export class MemoryCluster {
  readonly owners: (NodeId | null)[] = Array.from({ length: SHARD_COUNT }, () => null);
  isAway = false;
  /** Of calls, and of announcements. */
  lossProbability = 0;
  latencyMaxMs = 20;
  readonly #clock: Clock;
  readonly #random: SeededRandom;
  readonly #nodes = new Map<NodeId, ClusterNode>();
  readonly #listeners = new Map<Listener, Reach>();

  constructor(clock: Clock, random: SeededRandom) {
    this.#clock = clock;
    this.#random = random;
  }

  /** What one node is given. */
  storeFor(reach: Reach): ClusterStore {
    const call = <Result>(work: () => Result): Promise<Result> => this.#call(reach, work);
    return {
      addNode: (node) =>
        call(() => {
          const now = this.#now();
          this.#nodes.set(node.id, { ...node, startedAt: now, heartbeatAt: now, isLeaving: false });
        }),
      renewLease: (id) => call(() => (this.#renew(id) ? { ...this.#view(), changedEnvironments: [] } : null)),
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
      acknowledgeChanges: () => call(() => []),
      isChangeWaiting: () => call(() => false),
      recountUnfinished: () => call(() => undefined),
      announce: async (text) => this.#announce(text),
      listen: (listener) => void this.#listeners.set(listener, reach),
    };
  }

  async #call<Result>({ isAlive, whenAwake }: Reach, work: () => Result): Promise<Result> {
    await this.#wait();
    if (!isAlive()) return new Promise(() => {});
    this.#mayFail();
    const result = work();
    await this.#wait();
    await whenAwake();
    if (!isAlive()) return new Promise(() => {});
    this.#mayFail();
    return result;
  }

  #mayFail(): void {
    if (this.isAway || this.#random.chance(this.lossProbability)) throw new StoreError('unavailable', 'it is away');
  }

  #wait(): Promise<void> {
    return delay(this.#clock, this.#random.between(1, this.latencyMaxMs));
  }

  #announce(text: string): void {
    for (const [listener, { isAlive, whenAwake }] of this.#listeners) {
      if (this.isAway || this.#random.chance(this.lossProbability)) continue;
      void this.#wait()
        .then(whenAwake)
        .then(() => isAlive() && listener.onAnnounced(text));
    }
  }

  #now(): number {
    return this.#clock.now() + STORE_OFFSET_MS;
  }

  #renew(id: NodeId): boolean {
    const node = this.#nodes.get(id);
    if (node !== undefined) node.heartbeatAt = this.#now();
    return node !== undefined;
  }

  #removeExpired(): NodeId[] {
    const expired = [...this.#nodes.values()].filter((node) => node.heartbeatAt + node.leaseMs < this.#now());
    for (const { id } of expired) {
      this.#nodes.delete(id);
      this.#free(id, [...this.owners.keys()]);
    }
    return expired.map(({ id }) => id);
  }

  #free(node: NodeId, shards: readonly number[]): void {
    for (const shard of shards) if (this.owners[shard] === node) this.owners[shard] = null;
  }

  #view(): ClusterView {
    const nodes = [...this.#nodes.values()].map((node) => ({ ...node }));
    return { now: this.#now(), nodes: nodes.sort((a, b) => (a.id < b.id ? -1 : 1)), owners: [...this.owners] };
  }
}
