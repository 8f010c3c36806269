// The store's methods over their transactions.
import type { ClusterStore, Store } from '../store.ts';
import { countBacklog } from './backlog.ts';
import type { ConfigurationContext, ReadContext, WriteContext } from './context.ts';
import { createAcceptWrites } from './queries/accepting.ts';
import { createApiKeyReads, createApiKeyWrites } from './queries/api-keys.ts';
import { createBarrierMethods } from './queries/barriers.ts';
import { createChangeReads } from './queries/changes.ts';
import { createDestinationReads, createDestinationWrites } from './queries/destinations.ts';
import { createEndDeleted } from './queries/end-deleted.ts';
import { createEnvironmentReads } from './queries/environments.ts';
import { createErase } from './queries/erase.ts';
import { createEventReads } from './queries/events.ts';
import { createFindWorkReads } from './queries/find-work.ts';
import { createHealthReads } from './queries/health.ts';
import { createDeliveryLists } from './queries/list-deliveries.ts';
import { createKeyReads } from './queries/idempotency.ts';
import { createNodeMethods } from './queries/nodes.ts';
import { createPrune } from './queries/prune.ts';
import { createDeliveryReads } from './queries/read-delivery.ts';
import { createRecordWrites } from './queries/recording.ts';
import { createReplayWrites } from './queries/replay.ts';
import { createSendAgainWrites } from './queries/send-again.ts';
import { createSigningKeyWrites } from './queries/signing-keys.ts';
import { createStats } from './queries/stats.ts';
import { createSubscriptionReads, createSubscriptionWrites } from './queries/subscriptions.ts';
import type { Transactions } from './transaction.ts';

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
