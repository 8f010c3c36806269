// The embedded store admits one server at a time, so that one is the cluster: it owns every shard from its start to its
// end, and nobody else needs to hear of anything. What could end that is that somebody takes its files away: then it is
// as one that lost its lease, for another server may be serving what is there now.
import { SHARD_COUNT } from '../model/id.ts';
import type { Ownership } from '../model/ownership.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLoop } from '../runtime/loop.ts';
import type { BackgroundStep } from '../runtime/loop.ts';
import type { Store } from '../store/store.ts';
import type { Cluster, NodeIdentity } from './cluster.ts';

export const soleOwnership: Ownership = {
  mayStart: () => true,
  isAlive: () => true,
  ownedSince: () => Number.NEGATIVE_INFINITY,
  ownedShards: () => undefined,
};

/** Trouble is to be known within two seconds. */
const LOOK_INTERVAL_MS = 1_000;

type SoleNodeOptions = {
  node: NodeIdentity;
  store: Pick<Store, 'findTrouble'>;
  clock: Clock;
  onTrouble: (trouble: string) => void;
  onRecovered: () => void;
  onError: (error: unknown, where: BackgroundStep) => void;
};

export function createSoleNode({ node, store, clock, onTrouble, onRecovered, onError }: SoleNodeOptions): Cluster {
  const startedAt = clock.now();
  let listensAt = '';
  let trouble: string | null = null;
  const look = createLoop({
    name: 'look-at-files',
    clock,
    intervalMs: LOOK_INTERVAL_MS,
    onError,
    step: async () => {
      const before = trouble;
      trouble = (await store.findTrouble?.()) ?? null;
      if (before === null && trouble !== null) onTrouble(trouble);
      if (before !== null && trouble === null) onRecovered();
      return 'idle';
    },
  });
  const isInPlace = (): boolean => trouble === null;
  return {
    ownership: { ...soleOwnership, mayStart: isInPlace, isAlive: isInPlace },
    async join(address) {
      listensAt = address;
      look.start();
    },
    leave: () => Promise.resolve(),
    close: () => look.stop(),
    tellOwners: () => {},
    confirm: () => Promise.resolve(),
    troubles: () => (trouble === null ? [] : [`the data directory was replaced or removed: ${trouble}`]),
    async read() {
      const state = { startedAt, lastHeartbeatAt: clock.now(), shardsOwned: SHARD_COUNT, isLeaving: false };
      return { nodes: [{ ...node, address: listensAt, ...state }], shardsFree: 0 };
    },
  };
}
