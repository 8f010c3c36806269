// One process of the service in the simulated world: what app/app.ts starts, less the HTTP server, on a virtual clock,
// with a slow store, and receivers for a network. It runs every loop that production runs.
import { createService, type Service } from '../../src/app/service.ts';
import type { Settings } from '../../src/config.ts';
import { createAdjustableClock } from '../../src/runtime/clock.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import type { Store } from '../../src/store/store.ts';
import type { MemoryCluster } from '../cluster/memory-cluster.ts';
import { createRecordingLog } from '../support/recording-log.ts';
import { VirtualProcess } from './process.ts';
import type { Receivers } from './receivers.ts';
import type { SeededRandom } from './seeded-random.ts';
import { SlowStore, type StoreObserver } from './slow-store.ts';
import type { VirtualClock } from './virtual-clock.ts';

type SimulatedOptions = {
  clock: VirtualClock;
  random: SeededRandom;
  store: Store;
  /** The cluster part of a store that nodes share; null: the service is alone on its files. */
  cluster: MemoryCluster | null;
  receivers: Receivers;
  settings: Settings;
  masterKey: Uint8Array;
  observer: StoreObserver;
};

export class SimulatedService {
  readonly life: VirtualProcess;
  readonly slowStore: SlowStore;
  readonly #log = createRecordingLog();
  readonly #options: SimulatedOptions;
  #service: Service | null = null;

  constructor(options: SimulatedOptions) {
    this.#options = options;
    this.life = new VirtualProcess(options.clock);
    this.slowStore = new SlowStore(options.store, this.life, options.random.fork(), options.observer);
  }

  /** The lines of its log that tell of errors. */
  get errors() {
    return this.#log.lines;
  }

  /** What its HTTP server would be made from. */
  get api(): Service['api'] {
    return this.#service!.api;
  }

  get dispatcher(): Service['dispatcher'] {
    return this.#service!.dispatcher;
  }

  async start(): Promise<void> {
    const { random, cluster, receivers, settings, masterKey } = this.#options;
    const { clock } = this.life;
    const { store } = this.slowStore;
    const reach = { isAlive: () => this.life.isAlive, whenAwake: async () => undefined };
    this.#service = await createService({
      settings,
      store: cluster === null ? store : { ...store, cluster: cluster.storeFor(reach) },
      clock: createAdjustableClock(clock),
      random: random.fork(),
      network: {
        perform: receivers.performOn(clock),
        checkUrl: () => null,
        probe: async () => 'reachable',
        close: () => undefined,
      },
      log: this.#log.log,
      metrics: createMetrics('simulated'),
      masterKey,
      tracer: null,
      host: { name: 'simulated', eventLoopDelaySeconds: () => 0 },
    });
    await this.#service.start('simulated:1');
  }

  /** As SIGTERM does; the store is closed then. */
  async stop(graceMs: number): Promise<void> {
    this.#options.settings.DRAIN_TIMEOUT = graceMs;
    await this.#service!.drain();
    await this.#service!.close();
  }
}
