// Every background loop of the service, but for the dispatcher's own sweep and the cluster's membership.
import type { Authenticator } from '../api/auth.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Settings } from '../config.ts';
import { createRetentionLoops } from '../maintain/retention.ts';
import type { Follower } from '../configuration/follower.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ClockTrust } from '../runtime/clock-trust.ts';
import { createLoop } from '../runtime/loop.ts';
import type { BackgroundStep, Loop } from '../runtime/loop.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { Store } from '../store/store.ts';

/** How soon a change made beside this process (a key revoked on the command line) is noticed. */
const FOLLOW_INTERVAL_MS = 250;
const TOUCH_KEYS_INTERVAL_MS = 10_000;
/** Other nodes finish deliveries that this one counted. */
const RECOUNT_INTERVAL_MS = 60_000;

type LoopsOptions = {
  settings: Pick<Settings, 'BODY_RETENTION' | 'ROW_RETENTION'>;
  clock: Clock;
  clockTrust: ClockTrust;
  metrics: Metrics;
  store: Store;
  cluster: Cluster;
  follower: Follower;
  authenticator: Authenticator;
  onError: (error: unknown, where: BackgroundStep) => void;
};

export function createLoops(options: LoopsOptions): { loops: Loop[]; wakeEndDeleted: () => void } {
  const { settings, clock, clockTrust, metrics, store, cluster, follower, authenticator, onError } = options;
  const { loops, wakeEndDeleted } = createRetentionLoops({
    store,
    clock,
    clockTrust,
    bodyRetentionMs: settings.BODY_RETENTION,
    rowRetentionMs: settings.ROW_RETENTION,
    onErased: (count) => metrics.bodiesErased.inc(count),
    onPruned: (count) => metrics.rowsPruned.inc(count),
    onError,
    isOldDataOurs: () => cluster.ownership.ownedSince(0) !== null,
  });
  const follow = createLoop({
    name: 'follow',
    clock,
    intervalMs: FOLLOW_INTERVAL_MS,
    onError,
    step: createFollowStep(store, follower, authenticator),
  });
  const touchKeys = createLoop({
    name: 'touch-keys',
    clock,
    intervalMs: TOUCH_KEYS_INTERVAL_MS,
    onError,
    step: async () => {
      const uses = authenticator.takeUses();
      if (uses.length > 0) await store.touchApiKeys(uses);
      return 'idle';
    },
  });
  const recount = createLoop({
    name: 'recount',
    clock,
    intervalMs: RECOUNT_INTERVAL_MS,
    onError,
    step: createRecountStep(store, clock),
  });
  const shared = store.cluster === undefined ? [] : [recount];
  return { loops: [follow, touchKeys, ...shared, ...loops], wakeEndDeleted };
}

/** Notices what was changed beside this process, by the versions that every change raises. */
function createFollowStep(store: Store, follower: Follower, authenticator: Authenticator) {
  const authVersions = new Map<number, number>();
  return async (): Promise<'idle'> => {
    for (const { environment, configVersion, authVersion } of await store.readEnvironments()) {
      if (configVersion > follower.configurationOf(environment).version) await follower.catchUp(environment);
      if (authVersion === authVersions.get(environment)) continue;
      await authenticator.refresh();
      authVersions.set(environment, authVersion);
    }
    return 'idle';
  };
}

/** Counting is skipped until it has cost a twentieth of the time at most. */
function createRecountStep({ cluster }: Store, clock: Clock) {
  let notBefore = 0;
  return async (): Promise<'idle'> => {
    const startedAt = clock.monotonic();
    if (startedAt < notBefore) return 'idle';
    await cluster?.recountUnfinished();
    const endedAt = clock.monotonic();
    notBefore = endedAt + 20 * (endedAt - startedAt);
    return 'idle';
  };
}
