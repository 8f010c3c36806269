// One of the nodes that share a store: puts its parts together, and acts on the wake-ups that other nodes announce.
import type { ClusterState } from '../model/cluster-state.ts';
import { idShard, type DestinationId, type NodeId } from '../model/id.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import type { Ownership } from '../model/ownership.ts';
import { delay, type AdjustableClock } from '../runtime/clock.ts';
import type { BackgroundStep } from '../runtime/loop.ts';
import { StoreError } from '../store/store.ts';
import type { ClusterStore, ClusterView } from '../store/cluster-store.ts';
import { createAnnouncer, type Announcer } from './announcer.ts';
import { correctionOf, isCorrected, type Offset } from './clock-offset.ts';
import { createChanges, type Changes } from './changes.ts';
import type { Cluster, NodeIdentity } from './cluster.ts';
import { createLease, type Lease } from './lease.ts';
import { Membership } from './membership.ts';
import { OwnedShards } from './owned-shards.ts';
import { decodeWakeUp, isWakeUp } from './wake-up.ts';
import type { ShardWork } from './work.ts';

const OFFSET_MAX_MS = 60_000;
/** At a stop, beyond the time that what is on the wire is given. */
const LEAVE_EXTRA_MS = 5_000;

type ClusterEvents = {
  onClockOff: (offsetMs: number) => void;
  onRenewalFailed: () => void;
  onLeaseLost: () => void;
  onNodesRemoved: (nodes: readonly NodeId[]) => void;
  onShardsTaken: (count: number) => void;
  onShardsReleased: (count: number) => void;
  onError: (error: unknown, where: BackgroundStep) => void;
};

type SharedStoreOptions = {
  node: NodeIdentity;
  leaseMs: number;
  store: ClusterStore;
  /** The service's; it is corrected by the store's time. */
  clock: AdjustableClock;
  work: ShardWork;
  /** Told of what is announced and is no wake-up. */
  hearOther: (text: string) => void;
  /** This node hears what is announced from now on; it may have missed something before. */
  hearAgain: () => void;
  events: ClusterEvents;
};

export class SharedStoreNode implements Cluster {
  readonly ownership: Ownership;
  readonly #options: SharedStoreOptions;
  readonly #lease: Lease;
  readonly #shards: OwnedShards;
  readonly #announcer: Announcer;
  readonly #changes: Changes;
  readonly #membership: Membership;
  /** Why the lease cannot be renewed. */
  #trouble: string | null = null;
  #offsetMs = 0;
  #toldOffsetMs = 0;

  constructor(options: SharedStoreOptions) {
    this.#options = options;
    const { node, store, work, leaseMs, events } = options;
    const clock = options.clock.machine;
    const { id } = node;
    this.#lease = createLease(clock, leaseMs);
    this.#announcer = createAnnouncer({ store, clock, onError: this.#errorsOf('announce') });
    this.#changes = createChanges({ id, store, clock, work, announcer: this.#announcer });
    this.#shards = new OwnedShards({
      id,
      store,
      clock,
      work,
      // A new owner has loaded the whole configuration: changes that waited for the owner before are in force.
      onGained: () => this.#changes.acknowledge(work.environments()),
      onReleased: (count) => {
        events.onShardsReleased(count);
        this.#announcer.announce({ hasMoved: true });
      },
      onError: this.#errorsOf('shards'),
    });
    this.#membership = this.#createMembership();
    this.ownership = this.#createOwnership();
  }

  async join(address: string): Promise<void> {
    const { node, leaseMs, store } = this.#options;
    store.listen({ onAnnounced: (text) => this.#hear(text), onGap: () => this.#lookEverywhere() });
    await this.#membership.join({ ...node, address, leaseMs });
    this.#announcer.announce({ hasMoved: true });
  }

  async leave(graceMs: number): Promise<void> {
    const handOver = async (): Promise<void> => {
      await this.#membership.beginLeaving();
      await this.#shards.giveAll(graceMs);
    };
    // Bounded: the operator may stop this node because the store is away, and then the lease runs out by itself.
    const handedOver = handOver().catch(this.#errorsOf('leave'));
    await Promise.race([handedOver, delay(this.#options.clock, graceMs + LEAVE_EXTRA_MS)]);
  }

  async close(): Promise<void> {
    const stopped = this.#membership.stop().catch(this.#errorsOf('leave'));
    await Promise.race([stopped, delay(this.#options.clock, LEAVE_EXTRA_MS)]);
    // Shards that could not be freed are not tried again: they are free when the lease has run out.
    this.#shards.loseAll();
    this.#announcer.announce({ hasMoved: true });
    await Promise.race([this.#announcer.flush(), delay(this.#options.clock, LEAVE_EXTRA_MS)]);
  }

  removeDead(node: NodeId): void {
    void this.#membership.removeDead(node).catch(this.#errorsOf('membership'));
  }

  tellOwners(deliveries: readonly OpenDelivery[]): void {
    const others = deliveries.filter(({ destinationId }) => this.#shards.since(idShard(destinationId)) === null);
    if (others.length > 0) this.#announcer.announce({ due: others });
  }

  confirm(change: { environment: number; destinationId: DestinationId }): Promise<void> {
    return this.#changes.confirm(change);
  }

  troubles(): string[] {
    const troubles = [];
    if (this.#trouble !== null) troubles.push(this.#trouble);
    if (!this.#lease.isHeld()) troubles.push('the lease of this node has run out');
    if (Math.abs(this.#offsetMs) > OFFSET_MAX_MS) {
      const seconds = Math.round(this.#offsetMs / 1_000);
      const wrong = seconds > 0 ? `${seconds} s behind` : `${-seconds} s ahead of`;
      troubles.push(`the clock of this machine is ${wrong} the database's`);
    }
    return troubles;
  }

  async read(): Promise<ClusterState> {
    return toState(await this.#options.store.readCluster());
  }

  #createOwnership(): Ownership {
    const since = (shard: number): number | null => this.#shards.since(shard);
    const isAlive = (): boolean => this.#lease.isHeld();
    return {
      mayStart: (destinationId) => since(idShard(destinationId)) !== null && isAlive(),
      isAlive,
      ownedSince: since,
      ownedShards: () => this.#shards.list(),
    };
  }

  #createMembership(): Membership {
    const { store, clock, leaseMs, work, events } = this.#options;
    return new Membership(
      {
        store,
        clock: clock.machine,
        lease: this.#lease,
        shards: this.#shards,
        acknowledge: (environments) => this.#changes.acknowledge(environments),
        onRenewed: ({ wasHeld, offset }) => {
          this.#trouble = null;
          this.#noteOffset(offset);
          if (!wasHeld) work.resume();
        },
        onRenewalFailed: (error) => {
          this.#trouble = error instanceof StoreError ? error.summary : 'the lease of this node cannot be renewed';
          events.onRenewalFailed();
        },
        onLost: events.onLeaseLost,
        onRemoved: (nodes) => {
          events.onNodesRemoved(nodes);
          this.#announcer.announce({ hasMoved: true });
        },
        onTaken: events.onShardsTaken,
        onError: events.onError,
      },
      leaseMs,
    );
  }

  #noteOffset(offset: Offset): void {
    const { clock, events } = this.#options;
    this.#offsetMs = offset.ms;
    // Both by when the store was asked: the machine's clock may have been set since.
    const inForceMs = clock.now() - (clock.monotonic() - offset.at.monotonic) - offset.at.now;
    if (!isCorrected(offset, inForceMs)) clock.adjust(correctionOf(offset), offset.at);
    if (isCorrected(offset, this.#toldOffsetMs)) return;
    this.#toldOffsetMs = correctionOf(offset);
    events.onClockOff(this.#toldOffsetMs);
  }

  #hear(text: string): void {
    const { work, hearOther } = this.#options;
    if (!isWakeUp(text)) return hearOther(text);
    const { due, shards, changed, acknowledged, hasMoved } = decodeWakeUp(text);
    if (!work.wake(due)) void this.#catchUpAll().catch(this.#errorsOf('follow'));
    if (shards.length > 0) this.#shards.sweepSoon(shards);
    const environments = changed.filter((environment) => work.environments().includes(environment));
    if (environments.length > 0) void this.#changes.acknowledge(environments).catch(this.#errorsOf('follow'));
    this.#changes.noteAcknowledged(acknowledged);
    if (hasMoved) this.#membership.wake();
  }

  /** After a time in which wake-ups may have been lost. */
  #lookEverywhere(): void {
    this.#shards.sweepSoon(this.#shards.list());
    this.#membership.wake();
    this.#options.hearAgain();
  }

  async #catchUpAll(): Promise<void> {
    const { work } = this.#options;
    for (const environment of work.environments()) await work.catchUp(environment);
  }

  #errorsOf(where: BackgroundStep): (error: unknown) => void {
    return (error) => this.#options.events.onError(error, where);
  }
}

function toState({ nodes, owners }: ClusterView): ClusterState {
  return {
    nodes: nodes.map(({ heartbeatAt, leaseMs: _, ...node }) => ({
      ...node,
      lastHeartbeatAt: heartbeatAt,
      shardsOwned: owners.filter((owner) => owner === node.id).length,
    })),
    shardsFree: owners.filter((owner) => owner === null).length,
  };
}
