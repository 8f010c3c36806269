// The background loops of the service. Others belong to what they keep going: the sweep to the dispatcher, membership
// and the look at the files to the node (cluster/), the probing of the listening connection to
// store/postgres/announcements.ts, the storing and pruning of what is counted to stats/stats.ts.
import type { Authenticator } from '../api/auth.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Follower } from '../configuration/follower.ts';
import { createRetentionLoops } from '../maintain/retention.ts';
import type { Observer } from '../model/observer.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLoop, type BackgroundStep, type Loop, type StepResult } from '../runtime/loop.ts';
import type { Store } from '../store/store.ts';
import type { ClusterStore } from '../store/cluster-store.ts';
import type { Base } from './base.ts';

/** How soon a change made beside this process (a key revoked on the command line) is noticed. */
const FOLLOW_INTERVAL_MS = 250;
const TOUCH_KEYS_INTERVAL_MS = 10_000;
/** Other nodes finish deliveries that this one counted. */
const RECOUNT_INTERVAL_MS = 60_000;

type Parts = Base & {
  cluster: Cluster;
  follower: Follower;
  authenticator: Authenticator;
  observer: Pick<Required<Observer>, 'ended'>;
};

export function createLoops(parts: Parts): { loops: Loop[]; wakeEndDeleted: () => void } {
  const { settings, clock, clockTrust, metrics, store, cluster, follower, authenticator, observer, onError } = parts;
  const { loops, wakeEndDeleted } = createRetentionLoops({
    store,
    clock,
    clockTrust,
    bodyRetentionMs: settings.BODY_RETENTION,
    rowRetentionMs: settings.ROW_RETENTION,
    onErased: (count) => metrics.bodiesErased.inc(count),
    onPruned: (count) => metrics.rowsPruned.inc(count),
    onEnded: observer.ended,
    onError,
    isOldDataOurs: () => cluster.ownership.ownedSince(0) !== null,
  });
  const every = (name: BackgroundStep, intervalMs: number, doIt: () => Promise<unknown>): Loop => {
    const step = (): Promise<StepResult> => doIt().then(() => 'idle');
    return createLoop({ name, clock, intervalMs, onError, step });
  };
  const touchKeys = async (): Promise<void> => {
    const uses = authenticator.takeUses();
    if (uses.length > 0) await store.touchApiKeys(uses);
  };
  const shared =
    store.cluster === undefined ? [] : [every('recount', RECOUNT_INTERVAL_MS, createRecount(store.cluster, clock))];
  return {
    loops: [
      every('follow', FOLLOW_INTERVAL_MS, createFollow(store, follower, authenticator)),
      every('touch-keys', TOUCH_KEYS_INTERVAL_MS, touchKeys),
      ...shared,
      ...loops,
    ],
    wakeEndDeleted,
  };
}

/** Notices what was changed beside this process, by the versions that every change raises. */
function createFollow(store: Store, follower: Follower, authenticator: Authenticator) {
  const authVersions = new Map<number, number>();
  return async (): Promise<void> => {
    for (const { environment, configVersion, authVersion } of await store.readEnvironments()) {
      if (configVersion > follower.configurationOf(environment).version) await follower.catchUp(environment);
      if (authVersion === authVersions.get(environment)) continue;
      await authenticator.refresh();
      authVersions.set(environment, authVersion);
    }
  };
}

/** Counting is skipped until it has cost a twentieth of the time at most. */
function createRecount(cluster: ClusterStore, clock: Clock) {
  let notBefore = 0;
  return async (): Promise<void> => {
    const startedAt = clock.monotonic();
    if (startedAt < notBefore) return;
    await cluster.recountUnfinished();
    const endedAt = clock.monotonic();
    notBefore = endedAt + 20 * (endedAt - startedAt);
  };
}
