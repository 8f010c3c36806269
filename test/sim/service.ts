// The production parts of one process, wired as app/app.ts wires them, on the simulated clock, store and network.
import { Acceptor } from '../../src/accept/accept.ts';
import { Dispatcher } from '../../src/dispatch/dispatcher.ts';
import type { Ownership } from '../../src/model/ownership.ts';
import { Payloads } from '../../src/dispatch/payloads.ts';
import { AttemptPipeline } from '../../src/dispatch/pipeline.ts';
import type { FinishedAttempt } from '../../src/dispatch/pipeline.ts';
import { createRetentionLoops } from '../../src/maintain/retention.ts';
import { createFollower } from '../../src/configuration/follower.ts';
import { IndexedMatcher } from '../../src/match/indexed.ts';
import type { Destination } from '../../src/model/destination.ts';
import { createRecorder } from '../../src/record/recorder.ts';
import { createClockTrust } from '../../src/runtime/clock-trust.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { createLoop } from '../../src/runtime/loop.ts';
import type { Store } from '../../src/store/store.ts';
import { VirtualProcess } from './process.ts';
import type { Receivers } from './receivers.ts';
import type { SeededRandom } from './seeded-random.ts';
import { SlowStore } from './slow-store.ts';
import type { OnExecuted } from './slow-store.ts';
import type { VirtualClock } from './virtual-clock.ts';

export type ServiceSettings = {
  slots: number;
  bodyRetentionMs: number;
  rowRetentionMs: number;
  failingAfterMs: number;
  payloadCacheBytes: number;
};

export type Service = ReturnType<typeof createService>;

const FOLLOW_INTERVAL_MS = 3_000;

export function createService(options: {
  clock: VirtualClock;
  random: SeededRandom;
  store: Store;
  receivers: Receivers;
  ownership: Ownership;
  settings: ServiceSettings;
  onFinished: (finished: FinishedAttempt) => void;
  onExecuted: OnExecuted;
  onDestinationFollowed: (destination: Destination) => void;
}) {
  const { random, settings } = options;
  const life = new VirtualProcess(options.clock);
  const { clock } = life;
  const slowStore = new SlowStore(options.store, life, random.fork(), options.onExecuted);
  const { store } = slowStore;
  const errors: { error: unknown; where: string }[] = [];
  const onError = (error: unknown, where: string): void => void errors.push({ error, where });
  const environments = [1, 2];
  const clockTrust = createClockTrust(clock, () => undefined);

  const follower = createFollower({
    environments,
    load: (request) => store.readChanges(request),
    createMatcher: () => new IndexedMatcher(),
    onDestinationChanged: (destination) => {
      dispatcher.destinationChanged(destination);
      options.onDestinationFollowed(destination);
    },
    onDestinationDeleted: (id) => dispatcher.destinationDeleted(id),
  });
  const catchUpAll = async (): Promise<void> => {
    for (const environment of environments) await follower.catchUp(environment);
  };
  const recorder = createRecorder({
    store,
    clock,
    random: random.fork(),
    onPaused: () => void catchUpAll().catch((error: unknown) => onError(error, 'pause')),
    onTrouble: (error) => onError(error, 'record'),
    onRecovered: () => dispatcher.resume(),
  });
  const payloads = new Payloads(store, settings.payloadCacheBytes);
  const pipeline = new AttemptPipeline({
    perform: options.receivers.performOn(clock),
    recorder,
    payloads,
    ownership: options.ownership,
    clock,
    clockTrust,
    modeOf: (environment) => (environment === 1 ? 'live' : 'test'),
    bodyRetentionMs: settings.bodyRetentionMs,
    failingAfterMs: settings.failingAfterMs,
    onFinished: options.onFinished,
  });
  const dispatcher: Dispatcher = new Dispatcher({
    ownership: options.ownership,
    store,
    clock,
    payloads,
    pipeline,
    destinationOf: follower.destinationOf,
    slots: settings.slots,
    onError,
  });
  const acceptor = new Acceptor({
    store,
    configurationOf: follower.configurationOf,
    catchUp: follower.catchUp,
    clock,
    ids: createIds(clock, random.fork()),
    bodyRetentionMs: settings.bodyRetentionMs,
    maxFanout: 10_000,
    onScheduled: (deliveries, event, body) => dispatcher.offer(deliveries, event, body),
    onAccepted: () => undefined,
    onReplayed: () => undefined,
    onRefused: () => undefined,
  });
  const retention = createRetentionLoops({
    store,
    clock,
    clockTrust,
    bodyRetentionMs: settings.bodyRetentionMs,
    rowRetentionMs: settings.rowRetentionMs,
    onErased: () => undefined,
    onPruned: () => undefined,
    onError,
  });
  const follow = createLoop({
    name: 'follow',
    clock,
    intervalMs: FOLLOW_INTERVAL_MS,
    onError,
    step: async () => {
      for (const { environment, configVersion } of await store.readEnvironments()) {
        if (configVersion > follower.configurationOf(environment).version) await follower.catchUp(environment);
      }
      return 'idle';
    },
  });
  const loops = [follow, ...retention.loops];

  return {
    life,
    clock,
    slowStore,
    store,
    follower,
    recorder,
    dispatcher,
    acceptor,
    errors,
    wakeEndDeleted: retention.wakeEndDeleted,
    async start(): Promise<void> {
      await catchUpAll();
      await dispatcher.load();
      await dispatcher.start();
      for (const loop of loops) loop.start();
    },
    async stop(graceMs: number): Promise<void> {
      await dispatcher.stop(graceMs);
      await Promise.all(loops.map((loop) => loop.stop()));
      await acceptor.idle();
      await recorder.idle();
    },
  };
}
