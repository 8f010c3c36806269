// Operations on many deliveries: what they are made from, and the loop that works on them.
import type { OnScheduled } from '../accept/deliveries.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Follower } from '../configuration/follower.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import type { Observer } from '../model/observer.ts';
import type { Operation, OperationRequest } from '../model/operation.ts';
import { createDeliveryWork } from '../operate/delivery-work.ts';
import { createEventWork } from '../operate/event-work.ts';
import { createOperations, type Operations } from '../operate/operations.ts';
import { BETWEEN_STEPS_MS, OPERATE_INTERVAL_MS, Runner } from '../operate/runner.ts';
import type { Work } from '../operate/work.ts';
import { createLoop, type Loop } from '../runtime/loop.ts';
import type { ToHandOver } from '../store/store.ts';
import type { Base } from './base.ts';

/** Takes deliveries that are stored, new ones of one event or one that is sent again, to whichever node sends them. */
export type HandOver = {
  fresh: OnScheduled;
  again: (delivery: OpenDelivery, from: ToHandOver) => void;
};

type Parts = {
  cluster: Cluster;
  follower: Follower;
  dispatcher: Dispatcher;
  handOver: HandOver;
  observer: Required<Observer>;
};

/** A destination whose oldest due delivery waits for so long does not keep up. Those of other nodes are not seen. */
const LATE_MS = 250;

/** `countRunning`: operations that this node works on. */
type Operating = { operations: Operations; operate: Loop; countRunning: () => number };

export function createOperating(base: Base, parts: Parts): Operating {
  const { settings, store, clock, ids, log, onError } = base;
  const { cluster, follower } = parts;
  const workOf = createWorks(base, parts);
  const runner = new Runner({
    store,
    clock,
    workOf,
    isOurs: () => cluster.ownership.ownedSince(0) !== null,
    isDestinationKnown: (id) => follower.destinationOf(id) !== undefined,
    isBehind(id) {
      const overdueSince = parts.dispatcher.loadOf(id)?.overdueSince ?? null;
      return overdueSince !== null && clock.now() - overdueSince > LATE_MS;
    },
    catchUp: follower.catchUp,
    bodyRetentionMs: settings.BODY_RETENTION,
    onEnded: (operation) => log.info(describe(operation), 'an operation has ended'),
    onError: (error) => onError(error, 'operate'),
  });
  const operate = createLoop({
    name: 'operate',
    clock,
    intervalMs: OPERATE_INTERVAL_MS,
    betweenStepsMs: BETWEEN_STEPS_MS,
    onError,
    step: () => runner.step(),
  });
  const onChanged = (): void => {
    runner.look();
    operate.wake();
  };
  const operations = createOperations({ store, clock, ids, workOf, onChanged });
  return { operations, operate, countRunning: () => runner.runningCount };
}

function createWorks(base: Base, parts: Parts): (kind: OperationRequest['kind']) => Work {
  const { settings, store, clock, ids } = base;
  const { follower, handOver, observer } = parts;
  const ofDeliveries = createDeliveryWork({ store, clock, dispatch: handOver.again });
  const ofEvents = createEventWork({
    store,
    clock,
    ids,
    configurationOf: follower.configurationOf,
    catchUp: follower.catchUp,
    bodyRetentionMs: settings.BODY_RETENTION,
    maxFanout: settings.MAX_FANOUT,
    onScheduled: handOver.fresh,
    observer,
  });
  return (kind) => (kind === 'event_replay' ? ofEvents : ofDeliveries);
}

function describe({ id, request, status, total, done, failed, skipped }: Operation): object {
  return { operation: id, kind: request.kind, status, total, done, failed, skipped };
}
