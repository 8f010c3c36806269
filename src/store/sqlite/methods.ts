// The store's methods on one connection, in the calling thread: the same object runs in the store's threads, in
// commands beside a server, in tests and in the simulation.
import type { Store } from '../store.ts';
import type { ReadContext, WriteContext } from './context.ts';
import { createAcceptWrites } from './queries/events/accept.ts';
import { createApiKeyReads, createApiKeyWrites } from './queries/configuration/api-keys.ts';
import { createChangeReads } from './queries/configuration/changes.ts';
import { createDestinationReads, createDestinationWrites } from './queries/configuration/destinations.ts';
import { createEndDeleted } from './queries/maintenance/end-deleted.ts';
import { createEnvironmentReads } from './queries/configuration/environments.ts';
import { createErase } from './queries/maintenance/erase.ts';
import { createEventReads } from './queries/events/events.ts';
import { createFilesCheck } from './queries/maintenance/files-check.ts';
import { createFindWorkReads } from './queries/deliveries/find-work.ts';
import { createHealthReads } from './queries/deliveries/health.ts';
import { createDeliveryLists } from './queries/deliveries/list-deliveries.ts';
import { createKeyReads } from './queries/events/idempotency.ts';
import { createPrune } from './queries/maintenance/prune.ts';
import { createDeliveryReads } from './queries/deliveries/read-delivery.ts';
import { createRecordWrites } from './queries/deliveries/record.ts';
import { createReplayWrites } from './queries/events/replay.ts';
import { createSendAgainWrites } from './queries/deliveries/send-again.ts';
import { createSigningKeyWrites } from './queries/configuration/signing-keys.ts';
import { createStats } from './queries/maintenance/stats.ts';
import { createSubscriptionReads, createSubscriptionWrites } from './queries/configuration/subscriptions.ts';

type Synchronous<T> = {
  [Name in keyof T]: T[Name] extends (...parameters: infer Parameters) => Promise<infer Result>
    ? (...parameters: Parameters) => Result
    : never;
};

export type Methods = Synchronous<Required<Omit<Store, 'close' | 'lanes' | 'cluster'>>>;
export type MethodName = keyof Methods;

/** What the reading connection answers; everything else is the writer's. */
export const READING = [
  'readEnvironments',
  'readChanges',
  'readApiKeys',
  'listApiKeys',
  'readDestination',
  'listDestinations',
  'readSubscription',
  'listSubscriptions',
  'readKeyHolder',
  'readEvent',
  'readScheduledDeliveries',
  'listEvents',
  'sweep',
  'refill',
  'readPayloads',
  'readHealth',
  'listDeliveries',
  'readDelivery',
] as const satisfies MethodName[];

type ReadingName = (typeof READING)[number];

type ReadMethods = Pick<Methods, ReadingName>;
type WriteMethods = Omit<Methods, ReadingName>;

/** `readStats` counts in the writer's memory; the writer alone knows whether its files are in place. */
export const WRITING = [
  'createApiKey',
  'createFirstApiKeys',
  'revokeApiKey',
  'touchApiKeys',
  'createDestination',
  'updateDestination',
  'deleteDestination',
  'rotateSigningKey',
  'endSigningKey',
  'createSubscription',
  'deleteSubscription',
  'acceptEvents',
  'replayEvent',
  'recordResults',
  'retryDelivery',
  'replayDead',
  'eraseBodies',
  'pruneRows',
  'endDeletedDeliveries',
  'readStats',
  'findTrouble',
] as const satisfies (keyof WriteMethods)[];

/** Calls of these that wait at the same time share a transaction, and so an fsync and the pages that both change. */
export const JOINING: readonly MethodName[] = ['acceptEvents', 'recordResults'];

export function createReadMethods(context: ReadContext): ReadMethods {
  return {
    ...createEnvironmentReads(context),
    ...createChangeReads(context),
    ...createApiKeyReads(context),
    ...createDestinationReads(context),
    ...createSubscriptionReads(context),
    ...createKeyReads(context),
    ...createEventReads(context),
    ...createFindWorkReads(context),
    ...createHealthReads(context),
    ...createDeliveryLists(context),
    ...createDeliveryReads(context),
  };
}

export function createWriteMethods(context: WriteContext): WriteMethods {
  return {
    ...createApiKeyWrites(context),
    ...createDestinationWrites(context),
    ...createSigningKeyWrites(context),
    ...createSubscriptionWrites(context),
    ...createAcceptWrites(context),
    ...createReplayWrites(context),
    ...createRecordWrites(context),
    ...createSendAgainWrites(context),
    ...createErase(context),
    ...createPrune(context),
    ...createEndDeleted(context),
    ...createStats(context),
    ...createFilesCheck(context),
  };
}
