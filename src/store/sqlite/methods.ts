// The store's methods, each by the query that answers it and the connection that runs it there: what the service gets,
// over threads; commands beside a server, tests and the simulation get the same in their own thread.
import type { Lane } from '../../model/lane.ts';
import type { Store } from '../store.ts';
import type { ReadContext, WriteContext } from './context.ts';
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
import { recordResults } from './queries/deliveries/record.ts';
import { replayDead, retryDelivery } from './queries/deliveries/send-again.ts';
import { acceptEvents, replayEvent } from './queries/events/accept.ts';
import { listEvents, readEvent, readScheduledDeliveries } from './queries/events/events.ts';
import { readKeyHolder } from './queries/events/idempotency.ts';
import { endDeletedDeliveries } from './queries/maintenance/end-deleted.ts';
import { eraseBodies } from './queries/maintenance/erase.ts';
import { pruneRows } from './queries/maintenance/prune.ts';
import { findBacklogs, findTrouble, readStats } from './queries/maintenance/stats.ts';
import { countOpen, countUnfinished, readConditions, writeActivity } from './queries/stats/conditions.ts';
import { pruneCounts, readCounts, writeCounts } from './queries/stats/counts.ts';
import { advanceOperation, readSucceeded } from './queries/operations/advance.ts';
import * as operations from './queries/operations/operations.ts';

/** Runs queries on one connection, in whatever thread that is. */
export type Runner<Context> = {
  run<Parameters extends unknown[], Result>(
    query: (context: Context, ...parameters: Parameters) => Result,
    ...parameters: Parameters
  ): Promise<Result>;
};

/**
 * While one is being written the next is there already: the writer does not wait until the main thread comes to hand it
 * over, nor the main thread until something is written.
 */
const LANE: Lane = { batches: 2, itemsMin: 24, areParallel: false };

/**
 * `readStats` counts in the writer's memory; the writer alone knows whether its files are in place. Between threads a
 * method goes by the name of its query, which is its own.
 */
export function createStore(reader: Runner<ReadContext>, writer: Runner<WriteContext>, close: Store['close']): Store {
  return {
    lanes: { accepting: LANE, recording: LANE },
    readEnvironments: () => reader.run(readEnvironments),
    readChanges: (request) => reader.run(readChanges, request),
    readApiKeys: () => reader.run(apiKeys.readApiKeys),
    listApiKeys: (request) => reader.run(apiKeys.listApiKeys, request),
    createApiKey: (key) => writer.run(apiKeys.createApiKey, key),
    createFirstApiKeys: (keys) => writer.run(apiKeys.createFirstApiKeys, keys),
    revokeApiKey: (request) => writer.run(apiKeys.revokeApiKey, request),
    touchApiKeys: (uses) => writer.run(apiKeys.touchApiKeys, uses),
    createDestination: (destination, limits) => writer.run(destinations.createDestination, destination, limits),
    readDestination: (request) => reader.run(destinations.readDestination, request),
    listDestinations: (request) => reader.run(destinations.listDestinations, request),
    updateDestination: (request) => writer.run(destinations.updateDestination, request),
    deleteDestination: (request) => writer.run(destinations.deleteDestination, request),
    rotateSigningKey: (request) => writer.run(rotateSigningKey, request),
    endSigningKey: (request) => writer.run(endSigningKey, request),
    createSubscription: (request, limits) => writer.run(subscriptions.createSubscription, request, limits),
    readSubscription: (request) => reader.run(subscriptions.readSubscription, request),
    listSubscriptions: (request) => reader.run(subscriptions.listSubscriptions, request),
    deleteSubscription: (request) => writer.run(subscriptions.deleteSubscription, request),

    acceptEvents: (events) => writer.run(acceptEvents, events),
    readKeyHolder: (request) => reader.run(readKeyHolder, request),
    replayEvent: (request) => writer.run(replayEvent, request),
    readEvent: (request) => reader.run(readEvent, request),
    readScheduledDeliveries: (request) => reader.run(readScheduledDeliveries, request),
    listEvents: (request) => reader.run(listEvents, request),

    sweep: (request) => reader.run(sweep, request),
    refill: (requests) => reader.run(refill, requests),
    readPayloads: (eventIds) => reader.run(readPayloads, eventIds),
    readHealth: () => reader.run(readHealth),
    recordResults: (request) => writer.run(recordResults, request),

    listDeliveries: (request) => reader.run(listDeliveries, request),
    countDeliveries: (request) => reader.run(countDeliveries, request),
    readDelivery: (request) => reader.run(readDelivery, request),
    readAttempts: (request) => reader.run(readAttempts, request),
    readDeliveries: (request) => reader.run(readDeliveries, request),
    retryDelivery: (request) => writer.run(retryDelivery, request),
    replayDead: (request) => writer.run(replayDead, request),

    createOperation: (request, limits) => writer.run(operations.createOperation, request, limits),
    readOperation: (request) => reader.run(operations.readOperation, request),
    listOperations: (request) => reader.run(operations.listOperations, request),
    readRunningOperations: () => reader.run(operations.readRunningOperations),
    changeOperation: (request) => writer.run(operations.changeOperation, request),
    advanceOperation: (step) => writer.run(advanceOperation, step),
    readSucceeded: (request) => reader.run(readSucceeded, request),

    eraseBodies: (request) => writer.run(eraseBodies, request),
    pruneRows: (request) => writer.run(pruneRows, request),
    endDeletedDeliveries: (request) => writer.run(endDeletedDeliveries, request),
    readStats: () => writer.run(readStats),
    findBacklogs: (request) => writer.run(findBacklogs, request),
    findTrouble: () => writer.run(findTrouble),

    writeCounts: (rows) => writer.run(writeCounts, rows),
    readCounts: (request) => reader.run(readCounts, request),
    pruneCounts: (request) => writer.run(pruneCounts, request),
    writeActivity: (reports) => writer.run(writeActivity, reports),
    readConditions: (ids) => writer.run(readConditions, ids),
    countUnfinished: (ids) => writer.run(countUnfinished, ids),
    countOpen: (request) => reader.run(countOpen, request),
    close,
  };
}
