// This process as a node: among those that share a store, or alone on its files. What the folder `cluster/` decides is
// carried out by the dispatcher and the follower, counted and logged.
import type { Cluster, NodeIdentity } from '../cluster/cluster.ts';
import { SharedStoreNode } from '../cluster/shared-store.ts';
import { createSoleNode } from '../cluster/sole-node.ts';
import type { ShardWork } from '../cluster/work.ts';
import { VERSION } from '../config.ts';
import type { Follower } from '../configuration/follower.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { ClusterStore } from '../store/cluster-store.ts';
import type { Exchange } from '../stream/exchange.ts';
import { STREAM_ANNOUNCEMENT } from '../stream/said.ts';
import type { Base } from './base.ts';

type Parts = {
  follower: Follower;
  dispatcher: () => Dispatcher;
  /** Told of announcements about streams, and of nodes that died; null: there are no others. */
  exchange: Pick<Exchange, 'hear' | 'hearAgain' | 'lose'> | null;
};

export function createIdentity({ ids, host }: Base): NodeIdentity {
  return { id: ids.next('nod'), name: host.name, version: VERSION };
}

export function createNode(base: Base, node: NodeIdentity, parts: Parts): Cluster {
  const { cluster } = base.store;
  return cluster === undefined
    ? createNodeOnFiles(base, node, parts)
    : createNodeAmongNodes(base, node, cluster, parts);
}

function createNodeAmongNodes(base: Base, node: NodeIdentity, store: ClusterStore, parts: Parts): Cluster {
  const { settings, log, clock, metrics, onError } = base;
  return new SharedStoreNode({
    node,
    leaseMs: settings.NODE_LEASE,
    store,
    clock,
    work: createWork(base, parts),
    hearOther: (text) => {
      if (text.startsWith(STREAM_ANNOUNCEMENT)) parts.exchange?.hear(text);
    },
    hearAgain: () => parts.exchange?.hearAgain(),
    events: {
      onClockOff: (offsetMs) =>
        log.warn({ offset_ms: offsetMs }, 'the clock of this machine differs from the database’s, which counts'),
      onRenewalFailed: () => metrics.leaseRenewalsFailed.inc(),
      onLeaseLost() {
        metrics.leasesLost.inc();
        log.warn('this node was silent for longer than its lease: others have its shards, and it joins anew');
      },
      onNodesRemoved(nodes) {
        parts.exchange?.lose(nodes);
        metrics.nodesRemoved.inc(nodes.length);
        log.warn({ nodes }, 'nodes removed: their process has ended, or they were silent for longer than their lease');
      },
      onShardsTaken(count) {
        metrics.shardsTaken.inc(count);
        log.info({ count }, 'shards taken over');
      },
      onShardsReleased(count) {
        metrics.shardsReleased.inc(count);
        log.info({ count }, 'shards handed over');
      },
      onError,
    },
  });
}

function createWork({ modes }: Base, { follower, dispatcher }: Parts): ShardWork {
  return {
    async load(shards, own) {
      await follower.catchUpAll();
      await dispatcher().load(shards, own);
    },
    sweep: (shards) => dispatcher().sweep(shards),
    release: (shards, graceMs) => dispatcher().release(shards, graceMs),
    busyShards: () => dispatcher().busyShards(),
    wake: (due) => dispatcher().wake(due),
    resume: () => dispatcher().pump(),
    environments: () => [...modes.keys()],
    async catchUp(environment) {
      await follower.catchUp(environment);
      return follower.configurationOf(environment).version;
    },
  };
}

function createNodeOnFiles(base: Base, node: NodeIdentity, { dispatcher }: Parts): Cluster {
  const { log, clock, store, onError } = base;
  const dataDir = base.settings.DATA_DIR;
  return createSoleNode({
    node,
    store,
    clock,
    onTrouble: (trouble) =>
      log.error(
        { data_dir: dataDir, trouble },
        'the data directory was replaced or removed under the service: nothing is accepted or sent, for no restart ' +
          'would find it. Put back what was there, and the service goes on; or restart it, to serve what is there now',
      ),
    onRecovered() {
      log.warn({ data_dir: dataDir }, 'the data directory is back as it was: the service goes on');
      dispatcher().pump();
    },
    onError,
  });
}
