// The store's methods, each by the query that answers it and the context that it has.
import type { Store, ToolStore } from '../store.ts';
import type { ClusterStore } from '../cluster-store.ts';
import type { Announcements } from './announcements.ts';
import type { ConfigurationContext, WriteContext } from './context.ts';
import { acknowledgeChanges, isChangeWaiting } from './queries/cluster/barriers.ts';
import * as nodes from './queries/cluster/nodes.ts';
import { dropMessages, publishMessages, readMessages } from './queries/cluster/messages.ts';
import * as apiKeys from './queries/configuration/api-keys.ts';
import { readChanges } from './queries/configuration/changes.ts';
import * as destinations from './queries/configuration/destinations.ts';
import { readEnvironments } from './queries/configuration/environments.ts';
import { endSigningKey, rotateSigningKey } from './queries/configuration/signing-keys.ts';
import * as subscriptions from './queries/configuration/subscriptions.ts';
import { readPayloads, refill, sweep } from './queries/deliveries/find-work.ts';
import { readHealth } from './queries/deliveries/health.ts';
import { countDeliveries } from './queries/deliveries/count-deliveries.ts';
import { listDeliveries, readAttempts, readDeliveries, readDelivery } from './queries/deliveries/read-deliveries.ts';
import { recordResults } from './queries/deliveries/recording.ts';
import { replayDead, retryDelivery } from './queries/deliveries/send-again.ts';
import { acceptEvents } from './queries/events/accepting.ts';
import { listEvents, readEvent, readScheduledDeliveries } from './queries/events/events.ts';
import { readKeyHolder } from './queries/events/idempotency.ts';
import { replayEvent } from './queries/events/replay.ts';
import { endDeletedDeliveries } from './queries/maintenance/end-deleted.ts';
import { eraseBodies } from './queries/maintenance/erase.ts';
import { pruneRows } from './queries/maintenance/prune.ts';
import { findBacklogs, readStats, recountUnfinished } from './queries/maintenance/stats.ts';
import { countOpen, countUnfinished, readConditions, writeActivity } from './queries/stats/conditions.ts';
import { pruneCounts, readCounts, writeCounts } from './queries/stats/counts.ts';
import { advanceOperation, readSucceeded } from './queries/operations/advance.ts';
import * as operations from './queries/operations/operations.ts';
import type { Transactions } from './wire/transaction.ts';

/** Runs a query until the store is closed, with errors as the store's own. */
type Run = <Context, Parameters extends unknown[], Result>(
  query: (context: Context, ...parameters: Parameters) => Promise<Result>,
  context: Context,
  ...parameters: Parameters
) => Promise<Result>;

type Surroundings = Required<Pick<Store, 'lanes' | 'cluster' | 'close'>>;

export function createStore(run: Run, context: WriteContext, { lanes, cluster, close }: Surroundings): Store {
  return {
    lanes,
    cluster,
    close,
    readEnvironments: () => run(readEnvironments, context),
    readChanges: (request) => run(readChanges, context, request),
    readApiKeys: () => run(apiKeys.readApiKeys, context),
    listApiKeys: (request) => run(apiKeys.listApiKeys, context, request),
    createApiKey: (key) => run(apiKeys.createApiKey, context, key),
    createFirstApiKeys: (keys) => run(apiKeys.createFirstApiKeys, context, keys),
    revokeApiKey: (request) => run(apiKeys.revokeApiKey, context, request),
    touchApiKeys: (uses) => run(apiKeys.touchApiKeys, context, uses),
    createDestination: (destination, limits) => run(destinations.createDestination, context, destination, limits),
    readDestination: (request) => run(destinations.readDestination, context, request),
    listDestinations: (request) => run(destinations.listDestinations, context, request),
    updateDestination: (request) => run(destinations.updateDestination, context, request),
    deleteDestination: (request) => run(destinations.deleteDestination, context, request),
    rotateSigningKey: (request) => run(rotateSigningKey, context, request),
    endSigningKey: (request) => run(endSigningKey, context, request),
    createSubscription: (request, limits) => run(subscriptions.createSubscription, context, request, limits),
    readSubscription: (request) => run(subscriptions.readSubscription, context, request),
    listSubscriptions: (request) => run(subscriptions.listSubscriptions, context, request),
    deleteSubscription: (request) => run(subscriptions.deleteSubscription, context, request),

    acceptEvents: (events) => run(acceptEvents, context, events),
    readKeyHolder: (request) => run(readKeyHolder, context, request),
    replayEvent: (request) => run(replayEvent, context, request),
    readEvent: (request) => run(readEvent, context, request),
    readScheduledDeliveries: (request) => run(readScheduledDeliveries, context, request),
    listEvents: (request) => run(listEvents, context, request),

    sweep: (request) => run(sweep, context, request),
    refill: (requests) => run(refill, context, requests),
    readPayloads: (eventIds) => run(readPayloads, context, eventIds),
    readHealth: () => run(readHealth, context),
    recordResults: (request) => run(recordResults, context, request),

    listDeliveries: (request) => run(listDeliveries, context, request),
    countDeliveries: (request) => run(countDeliveries, context, request),
    readDelivery: (request) => run(readDelivery, context, request),
    readAttempts: (request) => run(readAttempts, context, request),
    readDeliveries: (request) => run(readDeliveries, context, request),
    retryDelivery: (request) => run(retryDelivery, context, request),
    replayDead: (request) => run(replayDead, context, request),

    createOperation: (request, limits) => run(operations.createOperation, context, request, limits),
    readOperation: (request) => run(operations.readOperation, context, request),
    listOperations: (request) => run(operations.listOperations, context, request),
    readRunningOperations: () => run(operations.readRunningOperations, context),
    changeOperation: (request) => run(operations.changeOperation, context, request),
    advanceOperation: (step) => run(advanceOperation, context, step),
    readSucceeded: (request) => run(readSucceeded, context, request),

    eraseBodies: (request) => run(eraseBodies, context, request),
    pruneRows: (request) => run(pruneRows, context, request),
    endDeletedDeliveries: (request) => run(endDeletedDeliveries, context, request),
    readStats: (shards) => run(readStats, context, shards),

    writeCounts: (rows) => run(writeCounts, context, rows),
    readCounts: (request) => run(readCounts, context, request),
    pruneCounts: (request) => run(pruneCounts, context, request),
    writeActivity: (reports) => run(writeActivity, context, reports),
    readConditions: (ids) => run(readConditions, context, ids),
    countUnfinished: (ids) => run(countUnfinished, context, ids),
    countOpen: (request) => run(countOpen, context, request),
    findBacklogs: (request) => run(findBacklogs, context, request),
  };
}

/** `leases`: on a connection of their own, for nothing else may keep a node from proving that it lives. */
export function createClusterStore(
  run: Run,
  { leases, context, announcements }: { leases: Transactions; context: WriteContext; announcements: Announcements },
): ClusterStore {
  return {
    addNode: (node) => run(nodes.addNode, leases, node),
    renewLease: (id) => run(nodes.renewLease, leases, id),
    removeExpired: () => run(nodes.removeExpired, leases),
    takeShards: (request) => run(nodes.takeShards, leases, request),
    freeShards: (request) => run(nodes.freeShards, leases, request),
    setLeaving: (id) => run(nodes.setLeaving, leases, id),
    removeNode: (id) => run(nodes.removeNode, leases, id),
    readCluster: () => run(nodes.readCluster, leases),
    acknowledgeChanges: (request) => run(acknowledgeChanges, context, request),
    isChangeWaiting: (id) => run(isChangeWaiting, context, id),
    recountUnfinished: () => run(recountUnfinished, context),
    publishMessages: (batch) => run(publishMessages, context, batch),
    readMessages: (request) => run(readMessages, context, request),
    dropMessages: () => run(dropMessages, context),
    reserveTest: (request) => run((one) => announcements.reserveTest(one), request),
    announce: announcements.announce,
    listen: announcements.listen,
  };
}

export function createToolStore(run: Run, context: ConfigurationContext, close: Store['close']): ToolStore {
  return {
    readEnvironments: () => run(readEnvironments, context),
    listApiKeys: (request) => run(apiKeys.listApiKeys, context, request),
    createApiKey: (key) => run(apiKeys.createApiKey, context, key),
    revokeApiKey: (request) => run(apiKeys.revokeApiKey, context, request),
    close,
  };
}
