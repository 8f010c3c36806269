// What the service is given, and what every part of it is made from.
import { correctionOf, measureOffset } from '../cluster/clock-offset.ts';
import type { Settings } from '../config.ts';
import type { Mode } from '../model/api-key.ts';
import type { AdjustableClock } from '../runtime/clock.ts';
import { createClockTrust, type ClockTrust } from '../runtime/clock-trust.ts';
import { createIds, type Ids } from '../runtime/ids.ts';
import { LineLimit } from '../runtime/line-limit.ts';
import type { Log } from '../runtime/log.ts';
import type { BackgroundStep } from '../runtime/loop.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { Random } from '../runtime/random.ts';
import type { Store } from '../store/store.ts';
import type { Tracer } from '../tracing/tracer.ts';
import type { Network } from './network.ts';

export type ServiceOptions = {
  settings: Settings;
  /** Open; the service closes it. */
  store: Store;
  /** Set right by the store's time, where several machines share that. */
  clock: AdjustableClock;
  random: Random;
  network: Network;
  log: Log;
  metrics: Metrics;
  masterKey: Uint8Array;
  /** Null: nobody has asked for traces. Events keep none then, and requests carry none. */
  tracer: Tracer | null;
  /** The machine that it runs on. */
  host: { name: string; eventLoopDelaySeconds: () => number };
};

/** What every part is made from. */
export type Base = ServiceOptions & {
  /** Before anything is destroyed because of what the clock says. */
  clockTrust: ClockTrust;
  ids: Ids;
  modes: ReadonlyMap<number, Mode>;
  onError: OnError;
};

type OnError = (error: unknown, where: BackgroundStep) => void;

/** Thousands of destinations may have the same fault, several times a second: a disk gone, no file descriptors. */
export function createOnError({ metrics, log, clock }: Pick<ServiceOptions, 'metrics' | 'log' | 'clock'>): OnError {
  const limit = new LineLimit<BackgroundStep>(clock, (where, leftOut) =>
    log.error({ where, left_out: leftOut }, 'more steps failed'),
  );
  return (error, where) => {
    metrics.loopFailures.count({ loop: where });
    if (limit.isTold(where)) log.error({ err: error, where }, 'a step failed; it will be tried again');
  };
}

export async function createBase(options: ServiceOptions): Promise<Base> {
  const { store, clock, random, log } = options;
  const environments = await store.readEnvironments();
  // Before the first id is made: its time is kept.
  if (store.cluster !== undefined) {
    const offset = await measureOffset(store.cluster, clock.machine);
    clock.adjust(correctionOf(offset), offset.at);
  }
  return {
    ...options,
    clockTrust: createClockTrust(clock, (byMs) =>
      log.warn(
        { ahead_ms: Math.round(byMs) },
        'the clock of this machine jumped ahead: for a day, unless it is set back, nothing is erased for its age and ' +
          'no destination is paused for failing',
      ),
    ),
    ids: createIds(clock, random, (leadMs) =>
      log.warn({ lead_ms: leadMs }, 'the clock of this machine was set back: new ids follow it, and sort before some'),
    ),
    modes: new Map(environments.map(({ environment, mode }) => [environment, mode])),
    onError: createOnError(options),
  };
}
