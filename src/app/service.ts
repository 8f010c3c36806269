// The composition root: makes every part in the order of an event's path, hands each what it needs, starts and stops
// them. It opens no socket and reads no clock of the machine: those are handed in by app.ts, by the tests of the API,
// and by the simulation, so that what is tested and simulated is what runs, background loops included.
import { hkdfSync } from 'node:crypto';
import { Acceptor } from '../accept/accept.ts';
import { createAuthenticator } from '../api/auth.ts';
import type { ApiServices } from '../api/services.ts';
import type { Cluster, NodeIdentity } from '../cluster/cluster.ts';
import { VERSION } from '../config.ts';
import { createFollower, type Follower } from '../configuration/follower.ts';
import { Dispatcher } from '../dispatch/dispatcher.ts';
import { Payloads } from '../dispatch/payloads.ts';
import { AttemptPipeline } from '../dispatch/pipeline.ts';
import { TestRequests } from '../dispatch/test-requests.ts';
import { createMatching, type Matching } from '../match/bounded.ts';
import type { DestinationId, NodeId } from '../model/id.ts';
import { observeAll, type Observer } from '../model/observer.ts';
import { Recorder } from '../record/recorder.ts';
import { delay } from '../runtime/clock.ts';
import { createStats } from '../stats/stats.ts';
import type { Exchange } from '../stream/exchange.ts';
import type { Hub } from '../stream/hub.ts';
import { createBase, type Base, type ServiceOptions } from './base.ts';
import { createDashboard } from './dashboard.ts';
import { createLoops } from './loops.ts';
import { createIdentity, createNode } from './node.ts';
import { createNotices } from './notices.ts';
import { AttemptLog, createMeter, labelsOf, sumOf, watchParts } from './observers.ts';
import { createOperating, type HandOver } from './operating.ts';
import { createStreams } from './streams.ts';

export type Service = Awaited<ReturnType<typeof createService>>;

const STORE_AWAY_EVERY_MS = 60_000;
/** At a stop: for results that cannot be stored. They are not lost, only sent again after the next start. */
const STORE_WAIT_MAX_MS = 5_000;

/** Resolves when it knows what is stored, and could answer. Nothing goes on in it until `start`. */
export async function createService(options: ServiceOptions) {
  const base = await createBase(options);
  const { settings, store, clock, network, onError } = base;
  const parts = createParts(base);
  const { matching, cluster, follower, recorder, dispatcher, acceptor, authenticator, loops, statistics } = parts;
  let isReady = false;
  const readiness = () => {
    const reasons = cluster.troubles();
    if (!isReady) reasons.push('starting or stopping');
    if (!recorder.isWriting()) reasons.push('results cannot be stored');
    return { ready: reasons.length === 0, reasons };
  };
  const api = createApi(base, { ...parts, readiness });

  await follower.catchUpAll();
  await authenticator.refresh();
  await dispatcher.load();
  return {
    /** What the HTTP server is made from. */
    api,
    dispatcher,
    node: parts.node.id,
    removeDead: (node: NodeId) => cluster.removeDead(node),
    /** `address`: where it listens, `host:port`. After a rejection it is to be stopped like one that has started. */
    async start(address: string): Promise<void> {
      parts.startNotices();
      await dispatcher.start();
      await cluster.join(address);
      parts.hub.start();
      for (const loop of loops) loop.start();
      isReady = true;
    },
    /** Is not ready from now on, hands over its shards, and waits DRAIN_TIMEOUT at most for what is on the wire. */
    async drain(): Promise<void> {
      isReady = false;
      parts.tests.stop();
      parts.hub.endStreams();
      // What others can send goes to them first; then nothing is left here, or only where there are no others.
      await cluster.leave(settings.DRAIN_TIMEOUT);
      await dispatcher.stop(settings.DRAIN_TIMEOUT);
    },
    /** After `drain`, when no request comes any more: stores what there is to store, and closes everything. */
    async close(): Promise<void> {
      await Promise.all(loops.map((loop) => loop.stop()));
      // Bounded, for the store may be the reason why somebody stops us.
      await Promise.race([Promise.all([acceptor.idle(), recorder.idle()]), delay(clock, STORE_WAIT_MAX_MS)]);
      await Promise.race([parts.hub.idle(), delay(clock, STORE_WAIT_MAX_MS)]);
      parts.hub.close();
      const written = statistics.write().catch((error: unknown) => onError(error, 'write-stats'));
      await Promise.race([written, delay(clock, STORE_WAIT_MAX_MS)]);
      await store.touchApiKeys(authenticator.takeUses()).catch((error: unknown) => onError(error, 'stop'));
      parts.attemptLog.flush();
      network.close();
      await matching.close();
      await cluster.close();
      await store.close();
    },
  };
}

/** Everything that works or answers, made and connected; nothing of it runs yet. */
function createParts(base: Base) {
  const { clock, onError } = base;
  const matching = createMatching({ clock, onFault: (error) => onError(error, 'match') });
  const attemptLog = new AttemptLog(base.log, clock);
  const node = createIdentity(base);
  const { hub, exchange } = createStreams(base, node, (id) => follower.destinationOf(id));
  const stats = createStats({ ...base, environments: [...base.modes.keys()] });
  const notices = createNotices(base, () => ({ acceptor, follower, ownership: cluster.ownership }));
  const observer = observeAll([
    createMeter(base.metrics),
    {
      scheduled: (scheduled) => attemptLog.noteBornDead(scheduled),
      attempted: (finished) => attemptLog.note(finished),
      ended: (ended) => attemptLog.noteEnded(ended),
    },
    ...stats.observers,
    hub.observer,
    notices.observer,
    base.tracer?.observer ?? {},
  ]);
  const delivering = createDelivering(base, { matching, observer, node, exchange, hub });
  const { cluster, dispatcher } = delivering;
  const follower: Follower = delivering.follower;
  const handOver = createHandOver({ cluster, dispatcher, observer });
  const acceptor: Acceptor = createAccepting(base, { follower, handOver, observer });
  const authenticator = createAuthenticator(base);
  const { operations, operate, countRunning } = createOperating(base, {
    cluster,
    follower,
    dispatcher,
    handOver,
    observer,
  });
  const retention = createLoops({ ...base, ...delivering, authenticator, observer });
  const statistics = stats.connect({
    destinationsOf: (environment) => follower.configurationOf(environment).destinations,
    listLoads: () => dispatcher.listLoads(),
    loadOf: (id) => dispatcher.loadOf(id),
    isOldDataOurs: () => base.clockTrust.isSettled() && cluster.ownership.ownedSince(0) !== null,
    onError,
  });
  watchParts({ ...base, dispatcher, ownership: cluster.ownership, hub, countRunning });
  return {
    ...delivering,
    node,
    matching,
    attemptLog,
    hub,
    observer,
    handOver,
    acceptor,
    authenticator,
    operations,
    statistics,
    tests: createTests(base),
    wakeEndDeleted: retention.wakeEndDeleted,
    startNotices: notices.start,
    loops: [...retention.loops, operate, ...statistics.loops, ...notices.loops],
  };
}

type Surroundings = {
  matching: Matching;
  observer: Required<Observer>;
  node: NodeIdentity;
  exchange: Exchange | null;
  hub: Hub;
};

/** dispatch → attempt → record, and the configuration that they and matching follow. */
function createDelivering(base: Base, { matching, observer, node, exchange, hub }: Surroundings) {
  const { settings, log, clock, clockTrust, random, network, store, modes, onError } = base;
  const follower = createFollower({
    environments: [...modes.keys()],
    store,
    createMatcher: matching.createMatcher,
    onDestinationChanged(destination) {
      dispatcher.destinationChanged(destination);
      observer.destinationChanged(destination);
    },
    onDestinationDeleted(id, environment) {
      dispatcher.destinationDeleted(id);
      observer.destinationDeleted(id, environment);
    },
  });
  const recorder = new Recorder({
    store,
    clock,
    random,
    onPaused: (ids) => void notePauses(base, { follower, hub }, ids).catch((error: unknown) => onError(error, 'pause')),
    onTrouble: (error) => log.error({ err: error }, 'results cannot be stored; no new attempts until they can'),
    onRecovered: () => {
      log.warn('results are stored again');
      dispatcher.pump();
    },
  });
  const payloads = new Payloads(store, settings.PAYLOAD_CACHE);
  const cluster = createNode(base, node, { follower, dispatcher: () => dispatcher, exchange });
  const { ownership } = cluster;
  const pipeline = new AttemptPipeline({
    perform: network.perform,
    recorder,
    payloads,
    ownership,
    clock,
    clockTrust,
    bodyRetentionMs: settings.BODY_RETENTION,
    failingAfterMs: settings.FAILING_AFTER,
    observer,
    traceparentOf: base.tracer?.traceparentOf,
  });
  const dispatcher: Dispatcher = new Dispatcher({
    store,
    clock,
    payloads,
    pipeline,
    ownership,
    destinationOf: follower.destinationOf,
    modeOf: (environment) => modes.get(environment)!,
    slots: settings.MAX_IN_FLIGHT,
    onError,
  });
  return { cluster, follower, recorder, dispatcher };
}

function createHandOver(parts: { cluster: Cluster; dispatcher: Dispatcher; observer: Required<Observer> }): HandOver {
  const { cluster, dispatcher, observer } = parts;
  return {
    fresh(deliveries, { event, body }, { mayBeUnderWay }) {
      // The store tells which of them are under way or have ended.
      if (mayBeUnderWay === true) dispatcher.wake(deliveries);
      else dispatcher.offer(deliveries, event, body);
      cluster.tellOwners(deliveries);
    },
    again(delivery, { mayBeUnderWay }) {
      if (mayBeUnderWay === true) dispatcher.wake([delivery]);
      else dispatcher.sendAgain(delivery);
      cluster.tellOwners([delivery]);
      observer.sentAgain(delivery);
    },
  };
}

function createAccepting(
  base: Base,
  { follower, handOver, observer }: { follower: Follower; handOver: HandOver; observer: Required<Observer> },
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
    onScheduled: handOver.fresh,
    observer,
    onRefused: (reason) => metrics.acceptsRefused.count({ reason }),
  });
}

type ApiParts = ReturnType<typeof createParts> & { readiness: ApiServices['readiness'] };

function createApi(base: Base, parts: ApiParts): ApiServices {
  const { settings, log, clock, random, ids, metrics, network, store } = base;
  const { cluster, follower, hub, acceptor, authenticator, tests, wakeEndDeleted } = parts;
  return {
    store,
    stats: parts.statistics.answers,
    acceptor,
    authenticator,
    operations: parts.operations,
    clock,
    random,
    ids,
    log,
    async confirmChange({ environment, destinationId }) {
      await follower.catchUp(environment);
      if (destinationId === null) return;
      const destination = follower.destinationOf(destinationId) ?? null;
      hub.destinationChanged(environment, destinationId, destination);
      if (destination === null) wakeEndDeleted();
      await cluster.confirm({ environment, destinationId });
    },
    dispatch: parts.handOver.again,
    keepTraceparent: base.tracer?.keepTraceparent,
    async explain({ environment, type, bytes }) {
      await follower.catchUp(environment);
      return follower.configurationOf(environment).matcher.explain(type, bytes);
    },
    testDestination: (destination, event) => tests.send(destination, event),
    streams: hub,
    checkUrl: network.checkUrl,
    probe: settings.REACHABILITY_CHECK === 'off' ? null : network.probe,
    readCluster: async () => ({ ...(await cluster.read()), backlog: sumOf(await store.readStats()) }),
    readiness: parts.readiness,
    metricsText: () => metrics.registry.metrics(),
    onStoreAway: createStoreAwayLog(base),
    onAnswered: (answer) => metrics.httpRequests.count(labelsOf(answer)),
    metricsToken: settings.METRICS_TOKEN === '' ? null : settings.METRICS_TOKEN,
    dashboard: settings.DASHBOARD === 'on' ? createDashboard(base, authenticator) : null,
    limits: {
      maxDestinations: settings.MAX_DESTINATIONS,
      maxSubscriptions: settings.MAX_SUBSCRIPTIONS,
      bodyRetentionMs: settings.BODY_RETENTION,
      requestBytesBudget: settings.REQUEST_BUFFER,
    },
    cursorKey: new Uint8Array(hkdfSync('sha256', base.masterKey, '', 'postrider cursors', 32)),
    version: VERSION,
  };
}

/** The first of a minute is told: whatever keeps the store away keeps it from every request. */
function createStoreAwayLog({ clock, log }: Base): ApiServices['onStoreAway'] {
  let toldAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    const now = clock.monotonic();
    if (now - toldAt < STORE_AWAY_EVERY_MS) return;
    toldAt = now;
    log.error({ err: error }, 'requests are answered 503, as the store cannot be used');
  };
}

function createTests({ store, network, clock, ids, modes }: Base): TestRequests {
  const { cluster } = store;
  return new TestRequests({
    perform: network.perform,
    clock,
    ids,
    modeOf: (environment) => modes.get(environment)!,
    reserve: cluster === undefined ? null : (request) => cluster.reserveTest(request),
  });
}

/** A pause that nobody asked for is worth a warning. */
async function notePauses(
  { metrics, log }: Base,
  { follower, hub }: { follower: Follower; hub: Hub },
  ids: DestinationId[],
): Promise<void> {
  await follower.catchUpAll();
  for (const id of ids) {
    const destination = follower.destinationOf(id);
    if (destination !== undefined) hub.destinationChanged(destination.environment, id, destination);
    const reason = destination?.pausedReason ?? 'failing';
    metrics.destinationsPaused.count({ reason });
    log.warn({ destination: id, reason }, 'destination paused: it gets no attempts until it is set active');
  }
}
