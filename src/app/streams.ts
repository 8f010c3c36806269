// Live streams: put together from what observes the core, what shows its rows, and the other nodes.
import { writeAttempt, writeDelivery, writeDestination, writeEvent } from '../api/output/stream-data.ts';
import type { NodeIdentity } from '../cluster/cluster.ts';
import type { Follower } from '../configuration/follower.ts';
import { Exchange } from '../stream/exchange.ts';
import { Hub } from '../stream/hub.ts';
import type { Base } from './base.ts';

type Streams = { hub: Hub; exchange: Exchange | null };

export function createStreams(base: Base, node: NodeIdentity, destinationOf: Follower['destinationOf']): Streams {
  const { clock, store, ids, modes, onError: onStepError } = base;
  const onError = (error: unknown): void => onStepError(error, 'stream');
  const environments = [...modes.keys()];
  const exchange =
    store.cluster === undefined
      ? null
      : new Exchange({ node: node.id, environments, store: store.cluster, clock, onError });
  const hub = new Hub({
    clock,
    store,
    environments,
    write: { event: writeEvent, attempt: writeAttempt, delivery: writeDelivery, destination: writeDestination },
    nextId: () => ids.next('msg'),
    isPaused: (id) => destinationOf(id)?.status === 'paused',
    onError,
    exchange,
  });
  return { hub, exchange };
}
