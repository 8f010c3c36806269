// What a store is asked that several nodes share, each the owner of some shards: who is there, who owns what, what has
// changed, and what others are to be told.
import type { DestinationId, NodeId } from '../model/id.ts';

/** All times are the store's own clock, so that the nodes' clocks may differ. */
export interface ClusterStore {
  /** Adds a node, alive from now on. One that was removed may come back under its id; it owns nothing then. */
  addNode(node: NewNode): Promise<void>;
  /** Proves that the node lives. Null: it was removed, for its lease had run out, and owns nothing any more. */
  renewLease(id: NodeId): Promise<RenewedLease | null>;
  /** Removes the nodes whose lease has run out; their shards are free then. Returns which. */
  removeExpired(): Promise<NodeId[]>;
  /** Takes those of the shards that are free, each under a new epoch. Returns which. */
  takeShards(request: { node: NodeId; shards: readonly number[] }): Promise<number[]>;
  freeShards(request: { node: NodeId; shards: readonly number[] }): Promise<void>;
  /** From now on it takes no shards; it hands over those it has. */
  setLeaving(id: NodeId): Promise<void>;
  /** Frees what it owns, and removes it. */
  removeNode(id: NodeId): Promise<void>;
  readCluster(): Promise<ClusterView>;
  /**
   * This node honours the configuration of an environment up to a version. Changes of destinations in shards that it
   * owns, by the store's word, wait for it no more. Returns those destinations.
   */
  acknowledgeChanges(request: { node: NodeId; environment: number; version: number }): Promise<DestinationId[]>;
  /** Whether the owner of a destination has yet to acknowledge a change of it. */
  isChangeWaiting(id: DestinationId): Promise<boolean>;
  /** Other nodes finish deliveries too: counts anew what bounds a destination's backlog. */
  recountUnfinished(): Promise<void>;
  /** Tells every node that listens, this one too, unless that gets lost. At most 7,999 bytes. */
  announce(text: string): Promise<void>;
  /**
   * Whether no other node has a destination for a test; then none gets it for so long. Only while this one listens:
   * a node that loses that connection gives up what it has.
   */
  reserveTest(request: { destinationId: DestinationId; forMs: number }): Promise<boolean>;
  /** For the streams of other nodes: kept for a minute at most, and lost with the database's memory. */
  publishMessages(batch: MessageBatch): Promise<void>;
  /**
   * Of one node those after a number, oldest first; of all (`node: null`) the newest, oldest first. About
   * MESSAGE_BATCHES_MAX of them at most.
   */
  readMessages(request: { environment: number; node: NodeId | null; after: number }): Promise<MessageBatch[]>;
  /** Those that are older than a minute. */
  dropMessages(): Promise<void>;
  /** To be called once. `onGap`: what was announced for a while may have been missed. */
  listen(listener: { onAnnounced: (text: string) => void; onGap: () => void }): void;
}

export const MESSAGE_BATCHES_MAX = 16;

/** What a node tells the streams of an environment on other nodes, in the order of `number`, which has no holes. */
export type MessageBatch = {
  environment: number;
  node: NodeId;
  number: number;
  /** Lost before these. null: nobody knows how many. */
  lost: number | null;
  text: string;
};

export type NewNode = { id: NodeId; name: string; version: string; address: string; leaseMs: number };

export type ClusterNode = NewNode & {
  startedAt: number;
  heartbeatAt: number;
  /** It is being stopped, and hands over its shards. */
  isLeaving: boolean;
};

/** `owners`: by shard; null: free. */
export type ClusterView = { now: number; nodes: ClusterNode[]; owners: (NodeId | null)[] };

/** `changedEnvironments`: where changes wait for this node's acknowledgement. */
export type RenewedLease = ClusterView & { changedEnvironments: number[] };
