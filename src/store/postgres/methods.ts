// The store's methods over their transactions.
import type { ClusterStore, Store } from '../store.ts';
import { countBacklog } from './backlog.ts';
import type { ConfigurationContext, ReadContext, WriteContext } from './context.ts';
import { createAcceptWrites } from './queries/events/accepting.ts';
import { createApiKeyReads, createApiKeyWrites } from './queries/configuration/api-keys.ts';
import { createBarrierMethods } from './queries/cluster/barriers.ts';
import { createChangeReads } from './queries/configuration/changes.ts';
import { createDestinationReads, createDestinationWrites } from './queries/configuration/destinations.ts';
import { createEndDeleted } from './queries/maintenance/end-deleted.ts';
import { createEnvironmentReads } from './queries/configuration/environments.ts';
import { createErase } from './queries/maintenance/erase.ts';
import { createEventReads } from './queries/events/events.ts';
import { createFindWorkReads } from './queries/deliveries/find-work.ts';
import { createHealthReads } from './queries/deliveries/health.ts';
import { createDeliveryLists } from './queries/deliveries/list-deliveries.ts';
import { createKeyReads } from './queries/events/idempotency.ts';
import { createNodeMethods } from './queries/cluster/nodes.ts';
import { createPrune } from './queries/maintenance/prune.ts';
import { createDeliveryReads } from './queries/deliveries/read-delivery.ts';
import { createRecordWrites } from './queries/deliveries/recording.ts';
import { createReplayWrites } from './queries/events/replay.ts';
import { createSendAgainWrites } from './queries/deliveries/send-again.ts';
import { createSigningKeyWrites } from './queries/configuration/signing-keys.ts';
import { createStats } from './queries/maintenance/stats.ts';
import { createSubscriptionReads, createSubscriptionWrites } from './queries/configuration/subscriptions.ts';
import type { Transactions } from './wire/transaction.ts';

function createReadMethods(context: ReadContext) {
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

/** What commands use beside a running server: nothing here touches deliveries, which the server counts in memory. */
export function createToolMethods(context: ConfigurationContext) {
  return { ...createReadMethods(context), ...createApiKeyWrites(context) };
}

export function createMethods(context: WriteContext): Omit<Store, 'close' | 'lanes' | 'cluster'> {
  return {
    ...createToolMethods(context),
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
  };
}

/** What nodes do on their own connection (`leases`), and what concerns them among the rest. */
export function createClusterMethods(
  leases: Transactions,
  context: WriteContext,
): Omit<ClusterStore, 'announce' | 'listen'> {
  const { read, backlog } = context;
  return {
    ...createNodeMethods(leases),
    ...createBarrierMethods(context),
    recountUnfinished: () => read(async (tx) => backlog.replace(await countBacklog(tx))),
  };
}
