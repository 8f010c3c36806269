// The embedded store admits one server at a time, so that one is the cluster: it owns every shard from its start to its
// end, and nobody else needs to hear of anything.
import { SHARD_COUNT } from '../model/id.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Cluster, NodeIdentity } from './cluster.ts';

export const soleOwnership: Cluster['ownership'] = {
  mayStart: () => true,
  isAlive: () => true,
  ownedSince: () => Number.NEGATIVE_INFINITY,
  ownedShards: () => undefined,
};

export function createSoleNode(node: NodeIdentity, clock: Clock): Cluster {
  const startedAt = clock.now();
  let listensAt = '';
  return {
    ownership: soleOwnership,
    async join(address) {
      listensAt = address;
    },
    leave: () => Promise.resolve(),
    close: () => Promise.resolve(),
    announce: () => {},
    confirm: () => Promise.resolve(),
    troubles: () => [],
    async read() {
      const state = { startedAt, lastHeartbeatAt: clock.now(), shardsOwned: SHARD_COUNT, isLeaving: false };
      return { nodes: [{ ...node, address: listensAt, ...state }], shardsFree: 0 };
    },
  };
}
