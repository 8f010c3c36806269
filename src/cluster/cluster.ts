// Many nodes on one store that act as one, or one node that is all there is (sole-node.ts): what the rest of the
// service sees of it.
import type { ClusterState } from '../model/cluster-state.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import type { DestinationId, NodeId } from '../model/id.ts';
import type { Ownership } from '../model/ownership.ts';

export interface Cluster {
  readonly ownership: Ownership;
  /** Takes part. `address`: where this node listens, `host:port`. */
  join(address: string): Promise<void>;
  /** Hands over every shard, waiting at most `graceMs` for what is on the wire. */
  leave(graceMs: number): Promise<void>;
  /** After `leave`, when nothing is stored any more that others should hear of. */
  close(): Promise<void>;
  /**
   * Of a node whose process has ended for certain: frees its shards now, not when its lease runs out. Never to be
   * called on a guess: a node that lives would go on sending beside the next owner until its lease fences it.
   */
  removeDead(node: NodeId): void;
  /** Deliveries that were just stored here: those whose destinations are another node's are told to that. */
  tellOwners(deliveries: readonly OpenDelivery[]): void;
  /** Resolves when the node that sends to the destination honours a change that was just committed. */
  confirm(change: { environment: number; destinationId: DestinationId }): Promise<void>;
  /** Why this node should get no requests; empty: it should. */
  troubles(): string[];
  read(): Promise<ClusterState>;
}

/** Of the node itself; the rest it finds out when it listens. */
export type NodeIdentity = { id: NodeId; name: string; version: string };
