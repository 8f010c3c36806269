// A node's life in the cluster is one step, over and over: the node renews its lease, removes nodes whose lease has run
// out, takes and gives shards until every node has its share, and acknowledges the changes that wait for it.
import { ALL_SHARDS, SHARD_COUNT, type NodeId } from '../model/id.ts';
import { instantOf, type Clock } from '../runtime/clock.ts';
import { createLoop, type BackgroundStep, type Loop, type StepResult } from '../runtime/loop.ts';
import type { ClusterStore, ClusterView, NewNode, RenewedLease } from '../store/cluster-store.ts';
import { offsetOf, type Offset } from './clock-offset.ts';
import type { Lease } from './lease.ts';
import type { OwnedShards } from './owned-shards.ts';
import { planShares } from './shares.ts';

/** Steps in a lease: some may fail, and a dead node is noticed soon after its lease has run out. */
const STEPS_PER_LEASE = 10;
const STEP_INTERVAL_MIN_MS = 100;
const STEP_INTERVAL_MAX_MS = 1_000;

/** Shards move for balance only when nobody has come or gone for so long. */
const STABLE_AFTER_MS = 3_000;
const GIVE_INTERVAL_MS = 1_000;
const GIVE_MAX = 16;
/** For what is on the wire of a shard that moves for balance. */
const GIVE_GRACE_MS = 2_000;
/** A free shard that the node it is meant for has not taken for so long may be taken by any node. */
const LEFT_OVER_AFTER_MS = 2_000;

/** No node is removed until this one's renewals have gone well for so long: while the store is away all are silent. */
const REMOVE_AFTER_MS = 2_000;
const GAP_MAX_MS = 1_000;

type MembershipOptions = {
  store: ClusterStore;
  /** The machine's own clock: a correction by the store's time would make leases jump. */
  clock: Clock;
  lease: Lease;
  shards: OwnedShards;
  acknowledge: (environments: readonly number[]) => Promise<void>;
  onRenewed: (renewed: { wasHeld: boolean; offset: Offset }) => void;
  onRenewalFailed: (error: unknown) => void;
  /** Other nodes have removed this one, for its lease had run out. */
  onLost: () => void;
  onRemoved: (nodes: NodeId[]) => void;
  onTaken: (count: number) => void;
  onError: (error: unknown, where: BackgroundStep) => void;
};

export class Membership {
  readonly #options: MembershipOptions;
  readonly #loop: Loop;
  readonly #intervalMs: number;
  #node: NewNode | null = null;
  #isLeaving = false;
  /** Monotonic ms: the last renewal, and since when there was no gap between them. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  #renewingSince = 0;
  #members = '';
  #membersSince = 0;
  #gaveAt = Number.NEGATIVE_INFINITY;
  #isAcknowledging = false;
  /** Monotonic ms, by shard. */
  readonly #freeSince = new Map<number, number>();

  constructor(options: MembershipOptions, leaseMs: number) {
    this.#options = options;
    const { clock, onError } = options;
    const intervalMs = Math.round(leaseMs / STEPS_PER_LEASE);
    this.#intervalMs = Math.min(STEP_INTERVAL_MAX_MS, Math.max(STEP_INTERVAL_MIN_MS, intervalMs));
    this.#loop = createLoop({
      name: 'membership',
      clock,
      intervalMs: this.#intervalMs,
      step: () => this.#step(),
      onError,
    });
  }

  /** Resolves when the first step is done: with no other node there, every shard is on its way to us. */
  async join(node: NewNode): Promise<void> {
    this.#node = node;
    await this.#options.store.addNode(node);
    await this.#step();
    this.#loop.start();
  }

  wake(): void {
    this.#loop.wake();
  }

  /** Somebody else has seen the process of this node end; others may have removed it meanwhile. */
  async removeDead(id: NodeId): Promise<void> {
    const { store, onRemoved } = this.#options;
    const { nodes } = await store.readCluster();
    if (!nodes.some((node) => node.id === id)) return;
    await store.removeNode(id);
    onRemoved([id]);
    this.wake();
  }

  /** From now on nothing is taken; the lease is renewed until `stop`. */
  async beginLeaving(): Promise<void> {
    this.#isLeaving = true;
    await this.#options.store.setLeaving(this.#node!.id);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#options.store.removeNode(this.#node!.id);
  }

  async #step(): Promise<StepResult> {
    const { shards } = this.#options;
    const { id } = this.#node!;
    const { version } = shards;
    const renewed = await this.#renew(id);
    if (renewed === null) return this.#comeBack();
    shards.reconcile((shard) => renewed.owners[shard] === id, version);
    void this.#acknowledge(renewed.changedEnvironments);
    const view = this.#isLeaving ? renewed : await this.#removeExpired(renewed);
    // Whoever said so meanwhile has given away what this node had, and would not give this.
    if (!this.#isLeaving) await this.#share(view);
    return 'idle';
  }

  /** Beside the step: it reads the configuration, and where that takes long the lease has to be renewed meanwhile. */
  async #acknowledge(environments: readonly number[]): Promise<void> {
    const { acknowledge, onError } = this.#options;
    if (environments.length === 0 || this.#isAcknowledging) return;
    this.#isAcknowledging = true;
    try {
      await acknowledge(environments);
    } catch (error) {
      onError(error, 'follow');
    } finally {
      this.#isAcknowledging = false;
    }
  }

  async #renew(id: NodeId): Promise<RenewedLease | null> {
    const { store, clock, lease, onRenewed, onRenewalFailed } = this.#options;
    const sentAt = instantOf(clock);
    let renewed: RenewedLease | null;
    try {
      renewed = await store.renewLease(id);
    } catch (error) {
      onRenewalFailed(error);
      throw error;
    }
    if (renewed === null) return null;
    const wasHeld = lease.isHeld();
    lease.renew(sentAt);
    const renewedAt = clock.monotonic();
    if (renewedAt - this.#renewedAt > this.#intervalMs + GAP_MAX_MS) this.#renewingSince = renewedAt;
    this.#renewedAt = renewedAt;
    onRenewed({ wasHeld, offset: offsetOf(renewed.now, sentAt, renewedAt) });
    return renewed;
  }

  /** This node was removed for its silence: its shards may be another node's, so it joins again and owns none. */
  async #comeBack(): Promise<StepResult> {
    const { store, lease, shards, onLost } = this.#options;
    lease.lose();
    shards.loseAll();
    onLost();
    if (this.#isLeaving) return 'idle';
    await store.addNode(this.#node!);
    return 'more';
  }

  async #removeExpired(view: ClusterView): Promise<ClusterView> {
    const { store, clock, onRemoved } = this.#options;
    if (clock.monotonic() - this.#renewingSince < REMOVE_AFTER_MS) return view;
    if (!view.nodes.some(({ heartbeatAt, leaseMs }) => heartbeatAt + leaseMs < view.now)) return view;
    const removed = await store.removeExpired();
    if (removed.length === 0) return view;
    onRemoved(removed);
    return store.readCluster();
  }

  async #share(view: ClusterView): Promise<void> {
    const { store, clock, shards, onTaken, onError } = this.#options;
    const { id } = this.#node!;
    const at = clock.monotonic();
    const nodes = view.nodes.filter((node) => !node.isLeaving).map((node) => node.id);
    const plan = planShares({
      me: id,
      nodes,
      owners: view.owners,
      giving: shards.giving,
      leftOver: this.#leftOver(view, at),
      isStable: this.#isStable(nodes, at),
      giveMax: at - this.#gaveAt >= GIVE_INTERVAL_MS ? GIVE_MAX : 0,
    });
    if (plan.give.length > 0) {
      this.#gaveAt = at;
      void shards.give(plan.give, GIVE_GRACE_MS).catch((error: unknown) => onError(error, 'give'));
    }
    if (plan.take.length === 0) return;
    const taken = await store.takeShards({ node: id, shards: plan.take });
    // A shard that this node is still handing over is its own again only after the hand-over: the next step sees it.
    const gained = taken.filter((shard) => !shards.giving.has(shard));
    if (gained.length === 0) return;
    onTaken(gained.length);
    shards.gain(gained);
  }

  #isStable(nodes: readonly NodeId[], at: number): boolean {
    const members = [...nodes].sort().join();
    if (members !== this.#members) {
      this.#members = members;
      this.#membersSince = at;
    }
    return at - this.#membersSince >= STABLE_AFTER_MS;
  }

  #leftOver({ owners }: ClusterView, at: number): Set<number> {
    for (let shard = 0; shard < SHARD_COUNT; shard++) {
      if (owners[shard] !== null) this.#freeSince.delete(shard);
      else if (!this.#freeSince.has(shard)) this.#freeSince.set(shard, at);
    }
    return new Set(ALL_SHARDS.filter((shard) => at - (this.#freeSince.get(shard) ?? at) >= LEFT_OVER_AFTER_MS));
  }
}
