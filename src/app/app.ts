// The composition root: makes every part in the order of an event's path, hands each what it needs, starts and
// stops them. Nothing here decides anything.
import { hkdfSync } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { Acceptor } from '../accept/accept.ts';
import { createAuthenticator } from '../api/auth.ts';
import { listAnswers } from '../api/openapi/document.ts';
import { createServer } from '../api/server.ts';
import type { Answer } from '../api/services.ts';
import { createAttempter } from '../attempt/attempter.ts';
import type { Attempter } from '../attempt/attempter.ts';
import { createGuard } from '../attempt/guard.ts';
import type { Guard } from '../attempt/guard.ts';
import { createResolver } from '../attempt/resolver.ts';
import { correctionOf, measureOffset } from '../cluster/clock-offset.ts';
import type { Cluster, NodeIdentity } from '../cluster/cluster.ts';
import { createSharedStoreNode } from '../cluster/shared-store.ts';
import { createSoleNode } from '../cluster/sole-node.ts';
import { VERSION } from '../config.ts';
import type { Settings } from '../config.ts';
import { AttemptLog } from '../dispatch/attempt-log.ts';
import { Dispatcher } from '../dispatch/dispatcher.ts';
import { Payloads } from '../dispatch/payloads.ts';
import { AttemptPipeline } from '../dispatch/pipeline.ts';
import type { FinishedAttempt } from '../dispatch/pipeline.ts';
import { createLoops } from './loops.ts';
import { createMatching } from '../match/bounded.ts';
import type { Matching } from '../match/bounded.ts';
import { createFollower } from '../configuration/follower.ts';
import type { Follower } from '../configuration/follower.ts';
import type { Mode } from '../model/api-key.ts';
import type { ConfigurationChange } from '../model/destination.ts';
import type { DestinationId } from '../model/id.ts';
import { SHARD_COUNT, idTime } from '../model/id.ts';
import { createRecorder } from '../record/recorder.ts';
import type { Recorder } from '../record/recorder.ts';
import type { Clock } from '../runtime/clock.ts';
import { createAdjustableClock, delay, systemClock } from '../runtime/clock.ts';
import { createClockTrust } from '../runtime/clock-trust.ts';
import type { ClockTrust } from '../runtime/clock-trust.ts';
import { watchEventLoopDelay } from '../runtime/event-loop.ts';
import { createIds } from '../runtime/ids.ts';
import type { Ids } from '../runtime/ids.ts';
import type { Log } from '../runtime/log.ts';
import type { BackgroundStep } from '../runtime/loop.ts';
import { createMetrics } from '../runtime/metrics.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { systemRandom } from '../runtime/random.ts';
import type { Store, StoreStats } from '../store/store.ts';

export type App = {
  /** `http://host:port`, with the port that was bound. */
  baseUrl: string;
  /** Stops accepting, finishes what is on the wire, records it, closes everything. */
  stop(): Promise<void>;
};

/** What every part is made from. */
type Base = {
  settings: Settings;
  log: Log;
  /** Right by the store's time, where several machines share that. */
  clock: ReturnType<typeof createAdjustableClock>;
  /** Before anything is destroyed because of what the clock says. */
  clockTrust: ClockTrust;
  ids: Ids;
  metrics: Metrics;
  store: Store;
  modes: ReadonlyMap<number, Mode>;
  onError: (error: unknown, where: BackgroundStep) => void;
};

const STATS_LIFETIME_MS = 5_000;
/** At a stop: for results that cannot be stored. They are not lost, only sent again after the next start. */
const STORE_WAIT_MAX_MS = 5_000;

/** Serves on a store that is open, until `stop`, which closes it. Rejects when the address cannot be bound. */
export async function startApp(options: {
  settings: Settings;
  log: Log;
  store: Store;
  masterKey: Uint8Array;
}): Promise<App> {
  const base = await createBase(options);
  const guard = createGuard({ testSubnets: base.settings.TEST_SUBNETS, allowSubnets: base.settings.ALLOW_SUBNETS });
  const attempter = createSending(base, guard);
  const matching = createMatching({ clock: base.clock, onFault: (error) => base.onError(error, 'match') });
  const { cluster, follower, recorder, dispatcher, attemptLog } = createDelivering(base, { attempter, matching });
  const acceptor = createAccepting(base, { cluster, follower, dispatcher });
  const authenticator = createAuthenticator({ store: base.store, clock: base.clock });
  const { loops, wakeEndDeleted } = createLoops({ ...base, cluster, follower, authenticator });
  const state = { isReady: false };

  const parts = { guard, attempter, cluster, follower, dispatcher, acceptor, wakeEndDeleted };
  const server = await createServer({
    ...createApiServices(base, parts),
    authenticator,
    cursorKey: new Uint8Array(hkdfSync('sha256', options.masterKey, '', 'postrider cursors', 32)),
    readiness: () => readinessOf(state.isReady, recorder, cluster),
  });
  for (const answer of listAnswers(server)) base.metrics.httpRequests.startAtZero(labelsOf(answer));

  await catchUpAll(base, follower);
  await authenticator.refresh();
  await dispatcher.load();
  await server.listen({ host: base.settings.HOST, port: base.settings.PORT });
  const address = server.server.address() as AddressInfo;
  // Before the first attempt: the service must never deliver to itself.
  guard.setOwnAddress({ address: address.address, port: address.port });
  const stop = async (): Promise<void> => {
    state.isReady = false;
    await Promise.all([server.close(), stopSending(base, cluster, dispatcher)]);
    await Promise.all(loops.map((loop) => loop.stop()));
    // Bounded, for the store may be the reason why somebody stops us.
    await Promise.race([Promise.all([acceptor.idle(), recorder.idle()]), delay(base.clock, STORE_WAIT_MAX_MS)]);
    await base.store.touchApiKeys(authenticator.takeUses()).catch((error: unknown) => base.onError(error, 'stop'));
    attemptLog.flush();
    attempter.close();
    await matching.close();
    await cluster.close();
    await base.store.close();
  };
  const host = hostInUrl(base.settings.HOST);
  try {
    await dispatcher.start();
    await cluster.join(`${host}:${address.port}`);
  } catch (error) {
    // It listens already: left alone it would go on, answer, and never be ready.
    await stop();
    throw error;
  }
  for (const loop of loops) loop.start();
  state.isReady = true;
  return { baseUrl: `http://${host}:${address.port}`, stop };
}

/** What others can send goes to them first; then nothing is left here, or only where there are no others. */
async function stopSending({ settings }: Base, cluster: Cluster, dispatcher: Dispatcher): Promise<void> {
  await cluster.leave(settings.DRAIN_TIMEOUT);
  await dispatcher.stop(settings.DRAIN_TIMEOUT);
}

async function createBase(options: { settings: Settings; log: Log; store: Store }): Promise<Base> {
  const { settings, log, store } = options;
  const metrics = createMetrics(VERSION);
  const environments = await store.readEnvironments();
  const clock = createAdjustableClock(systemClock);
  // Before the first id is made: its time is kept.
  if (store.cluster !== undefined) clock.adjust(correctionOf(await measureOffset(store.cluster, systemClock)));
  return {
    settings,
    log,
    clock,
    clockTrust: createClockTrust(clock, (byMs) =>
      log.warn(
        { ahead_ms: Math.round(byMs) },
        'the clock of this machine jumped ahead: for a day, unless it is set back, nothing is erased for its age and ' +
          'no destination is paused for failing',
      ),
    ),
    ids: createIds(clock, systemRandom, (leadMs) =>
      log.warn({ lead_ms: leadMs }, 'the clock of this machine was set back: new ids follow it, and sort before some'),
    ),
    metrics,
    store,
    modes: new Map(environments.map(({ environment, mode }) => [environment, mode])),
    onError: (error, where) => {
      metrics.loopFailures.count({ loop: where });
      log.error({ err: error, where }, 'a step failed; it will be tried again');
    },
  };
}

function createSending({ settings, clock, onError }: Base, guard: Guard): Attempter {
  return createAttempter({
    guard,
    resolver: createResolver({ clock }),
    clock,
    version: VERSION,
    probesPerMinute: settings.REACHABILITY_PER_MINUTE,
    onFault: (error) => onError(error, 'attempt'),
  });
}

/** dispatch → attempt → record, and the configuration that they and matching follow. */
function createDelivering(base: Base, { attempter, matching }: { attempter: Attempter; matching: Matching }) {
  const { settings, log, clock, clockTrust, metrics, store, modes, onError } = base;
  const follower = createFollower({
    environments: [...modes.keys()],
    load: (request) => store.readChanges(request),
    createMatcher: matching.createMatcher,
    onDestinationChanged: (destination) => dispatcher.destinationChanged(destination),
    onDestinationDeleted: (id) => dispatcher.destinationDeleted(id),
  });
  const recorder = createRecorder({
    store,
    clock,
    random: systemRandom,
    onPaused: (ids) => void announcePauses(base, follower, ids).catch((error: unknown) => onError(error, 'pause')),
    onTrouble: (error) => log.error({ err: error }, 'results cannot be stored; no new attempts until they can'),
    onRecovered: () => {
      log.warn('results are stored again');
      dispatcher.resume();
    },
  });
  const payloads = new Payloads(store, settings.PAYLOAD_CACHE);
  const attemptLog = new AttemptLog(log, clock);
  const cluster = createCluster(base, follower, () => dispatcher);
  const { ownership } = cluster;
  const pipeline = new AttemptPipeline({
    perform: attempter.perform,
    recorder,
    payloads,
    ownership,
    clock,
    clockTrust,
    modeOf: (environment) => modes.get(environment)!,
    bodyRetentionMs: settings.BODY_RETENTION,
    failingAfterMs: settings.FAILING_AFTER,
    onFinished(finished) {
      countAttempt(metrics, finished);
      attemptLog.note(finished);
    },
  });
  const dispatcher: Dispatcher = new Dispatcher({
    store,
    clock,
    payloads,
    pipeline,
    ownership,
    destinationOf: follower.destinationOf,
    slots: settings.MAX_IN_FLIGHT,
    onError,
  });
  return { cluster, follower, recorder, dispatcher, attemptLog };
}

/** Which shards are ours: those we get among the nodes that share a store, or all of them. */
function createCluster(base: Base, follower: Follower, dispatcher: () => Dispatcher): Cluster {
  const { settings, log, clock, ids, metrics, store, modes, onError } = base;
  const name = settings.NODE_NAME === '' ? hostname() : settings.NODE_NAME;
  const node = { id: ids.next('nod'), name, version: VERSION };
  if (store.cluster === undefined) return createNodeOnFiles(base, node, dispatcher);
  return createSharedStoreNode({
    node,
    leaseMs: settings.NODE_LEASE,
    store: store.cluster,
    clock: systemClock,
    adjustClock(offsetMs) {
      log.warn({ offset_ms: offsetMs }, 'the clock of this machine differs from the database’s, which counts');
      clock.adjust(offsetMs);
    },
    work: {
      async load(shards, own) {
        await catchUpAll(base, follower);
        await dispatcher().load(shards, own);
      },
      sweep: (shards) => dispatcher().sweep(shards),
      release: (shards, graceMs) => dispatcher().release(shards, graceMs),
      busyShards: () => dispatcher().busyShards(),
      wake: (destinations, kind) => dispatcher().wake(destinations, kind),
      resume: () => dispatcher().resume(),
      environments: () => [...modes.keys()],
      async catchUp(environment) {
        await follower.catchUp(environment);
        return follower.configurationOf(environment).version;
      },
    },
    events: {
      onRenewalFailed: () => metrics.leaseRenewalsFailed.inc(),
      onLeaseLost() {
        metrics.leasesLost.inc();
        log.warn('this node was silent for longer than its lease: others have its shards, and it joins anew');
      },
      onNodesRemoved(nodes) {
        metrics.nodesRemoved.inc(nodes.length);
        log.warn({ nodes }, 'nodes removed: they were silent for longer than their lease');
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

function createNodeOnFiles(base: Base, node: NodeIdentity, dispatcher: () => Dispatcher): Cluster {
  const { settings, log, clock, store, onError } = base;
  const dataDir = settings.DATA_DIR;
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
      dispatcher().resume();
    },
    onError,
  });
}

function createAccepting(
  base: Base,
  { cluster, follower, dispatcher }: { cluster: Cluster; follower: Follower; dispatcher: Dispatcher },
): Acceptor {
  const { settings, clock, ids, metrics, store } = base;
  return new Acceptor({
    store,
    configurationOf: follower.configurationOf,
    catchUp: follower.catchUp,
    clock,
    ids,
    bodyRetentionMs: settings.BODY_RETENTION,
    maxFanout: settings.MAX_FANOUT,
    onScheduled(deliveries, event, body) {
      dispatcher.offer(deliveries, event, body);
      cluster.announce(deliveries);
    },
    onAccepted: (deliveryCount) => {
      metrics.eventsAccepted.inc();
      metrics.deliveriesScheduled.inc(deliveryCount);
    },
    onReplayed: (deliveryCount) => metrics.deliveriesScheduled.inc(deliveryCount),
    onRefused: (reason) => metrics.acceptsRefused.count({ reason }),
  });
}

type ApiParts = {
  guard: Guard;
  attempter: Attempter;
  cluster: Cluster;
  follower: Follower;
  dispatcher: Dispatcher;
  acceptor: Acceptor;
  wakeEndDeleted: () => void;
};

function createApiServices(base: Base, parts: ApiParts) {
  const { settings, log, clock, ids, metrics, store, modes } = base;
  const { guard, attempter, cluster, follower, dispatcher, acceptor } = parts;
  const ownedShards = () => cluster.ownership.ownedShards();
  const statsOf = cacheFor(clock, STATS_LIFETIME_MS, () => store.readStats(ownedShards()));
  metrics.watch({
    onWire: () => dispatcher.stats().onWire,
    waiting: () => dispatcher.stats().waiting,
    unfinished: async () => sumOf(await statsOf()),
    shardsOwned: () => ownedShards()?.length ?? SHARD_COUNT,
    storedBytes: async () => (await statsOf()).storedBytes ?? 0,
    eventLoopDelaySeconds: watchEventLoopDelay(clock),
  });
  return {
    store,
    acceptor,
    clock,
    random: systemRandom,
    ids,
    log,
    async confirmChange({ environment, destinationId }: ConfigurationChange) {
      await follower.catchUp(environment);
      if (destinationId === null) return;
      if (follower.destinationOf(destinationId) === undefined) parts.wakeEndDeleted();
      await cluster.confirm({ environment, destinationId });
    },
    dispatch(delivery: Parameters<Dispatcher['sendAgain']>[0]) {
      dispatcher.sendAgain(delivery);
      cluster.announce([delivery]);
    },
    readCluster: async () => ({ ...(await cluster.read()), backlog: sumOf(await store.readStats()) }),
    checkUrl: (url: URL, mode: Mode) => guard.checkUrl(url, mode),
    probe: settings.REACHABILITY_CHECK === 'off' ? null : createProbe(attempter),
    metricsText: () => metrics.registry.metrics(),
    onAnswered: (answer: Answer) => metrics.httpRequests.count(labelsOf(answer)),
    metricsToken: settings.METRICS_TOKEN === '' ? null : settings.METRICS_TOKEN,
    limits: {
      maxDestinations: settings.MAX_DESTINATIONS,
      maxSubscriptions: settings.MAX_SUBSCRIPTIONS,
      bodyRetentionMs: settings.BODY_RETENTION,
      requestBytesBudget: settings.REQUEST_BUFFER,
    },
    modes,
    version: VERSION,
  };
}

function labelsOf({ method, route, status }: Answer) {
  return { method, route, status: String(status) };
}

function createProbe(attempter: Attempter) {
  return async ({ environment, mode, url }: { environment: number; mode: Mode; url: URL }) =>
    attempter.allowProbe(environment) ? attempter.probe(url, mode) : ('rate_limited' as const);
}

function readinessOf(isReady: boolean, recorder: Recorder, cluster: Cluster): { ready: boolean; reasons: string[] } {
  const reasons = cluster.troubles();
  if (!isReady) reasons.push('starting or stopping');
  if (!recorder.isWriting()) reasons.push('results cannot be stored');
  return { ready: reasons.length === 0, reasons };
}

function sumOf({ unfinished }: StoreStats): number {
  return unfinished.reduce((sum, { count }) => sum + count, 0);
}

async function catchUpAll({ modes }: Pick<Base, 'modes'>, follower: Follower): Promise<void> {
  for (const environment of modes.keys()) await follower.catchUp(environment);
}

/** A pause that nobody asked for is worth a warning. */
async function announcePauses(base: Base, follower: Follower, ids: DestinationId[]): Promise<void> {
  await catchUpAll(base, follower);
  for (const id of ids) {
    const reason = follower.destinationOf(id)?.pausedReason ?? 'failing';
    base.metrics.destinationsPaused.count({ reason });
    base.log.warn({ destination: id, reason }, 'destination paused: it gets no attempts until it is set active');
  }
}

function countAttempt(metrics: Metrics, { delivery, result, decision }: FinishedAttempt): void {
  metrics.attempts.count({ outcome: result.outcome });
  metrics.attemptSeconds.observe(result.durationMs / 1000);
  if (delivery.attemptCount === 0) metrics.deliverySeconds.observe((result.startedAt - idTime(delivery.id)) / 1000);
  if (decision !== null && decision.dueAt === null) metrics.deliveriesFinished.count({ status: decision.status });
}

/** Reads again only when what was read is older than `lifetimeMs`: a scrape must not load the store. */
function cacheFor<T>(clock: Clock, lifetimeMs: number, read: () => Promise<T>): () => Promise<T> {
  let cached: { value: Promise<T>; readAt: number } | null = null;
  return () => {
    const now = clock.monotonic();
    if (cached === null || now - cached.readAt > lifetimeMs) cached = { value: read(), readAt: now };
    return cached.value;
  };
}

/** IPv6 addresses go in brackets; "any address" is reached by loopback. */
function hostInUrl(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
