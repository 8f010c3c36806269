// The embedded store admits one server at a time, which is the whole cluster: it owns every shard from its start to its
// end, and has nobody to announce anything to. Only when its files are taken away does it stop sending, like a node
// that has lost its lease: another server may be serving the files that are there now.
import { SHARD_COUNT } from '../model/id.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLoop, type BackgroundStep } from '../runtime/loop.ts';
import type { Store } from '../store/store.ts';
import type { Cluster, NodeIdentity } from './cluster.ts';

/** Replaced files are to be noticed within two seconds. */
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
  const ownedSince = clock.monotonic();
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
    ownership: {
      mayStart: isInPlace,
      isAlive: isInPlace,
      ownedSince: () => ownedSince,
      ownedShards: () => undefined,
    },
    async join(address) {
      listensAt = address;
      look.start();
    },
    leave: () => Promise.resolve(),
    close: () => look.stop(),
    removeDead: () => {},
    tellOwners: () => {},
    confirm: () => Promise.resolve(),
    troubles: () => (trouble === null ? [] : [`the data directory was replaced or removed: ${trouble}`]),
    async read() {
      const state = { startedAt, lastHeartbeatAt: clock.now(), shardsOwned: SHARD_COUNT, isLeaving: false };
      return { nodes: [{ ...node, address: listensAt, ...state }], shardsFree: 0 };
    },
  };
}
