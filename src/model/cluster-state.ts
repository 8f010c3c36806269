// Who takes part in a cluster, as its operator sees it.
import type { NodeId } from './id.ts';

export type ClusterState = {
  nodes: {
    id: NodeId;
    name: string;
    version: string;
    /** `host:port` where it listens. */
    address: string;
    /** Unix ms, by the store's clock. */
    startedAt: number;
    lastHeartbeatAt: number;
    shardsOwned: number;
    /** It is handing over, and takes no more. */
    isLeaving: boolean;
  }[];
  /** Shards that nobody owns just now. */
  shardsFree: number;
};
