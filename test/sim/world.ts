// A simulated world: clock, database, receivers, one process of the service at a time, and what was found wrong.
import { soleOwnership } from '../../src/cluster/sole-node.ts';
import type { FinishedAttempt } from '../../src/dispatch/pipeline.ts';
import type { Destination } from '../../src/model/destination.ts';
import type { DestinationId } from '../../src/model/id.ts';
import { openInThreadStore } from '../support/in-thread-store.ts';
import type { Store } from '../../src/store/store.ts';
import { AttemptLedger } from './attempt-ledger.ts';
import { viewDatabase } from './database-view.ts';
import { Receivers } from './receivers.ts';
import { SeededRandom } from './seeded-random.ts';
import { createService } from './service.ts';
import type { Service, ServiceSettings } from './service.ts';
import type { Trouble } from './slow-store.ts';
import { VirtualClock } from './virtual-clock.ts';

const DAY_MS = 86_400_000;
const MASTER_KEY = new Uint8Array(32).fill(7);
const VIOLATIONS_MAX = 20;
/** After trouble, a start, a change of the configuration that could not be confirmed. */
const RECOVERY_MS = 6_000;
/** A wall clock that was set is noticed by the sweep. */
const SWEEP_MS = 32_000;

const DEFAULTS: ServiceSettings = {
  slots: 256,
  bodyRetentionMs: 30 * DAY_MS,
  rowRetentionMs: 90 * DAY_MS,
  failingAfterMs: 5 * DAY_MS,
  payloadCacheBytes: 64 * 1024,
};

let worlds = 0;

export class World {
  readonly clock = new VirtualClock();
  readonly random: SeededRandom;
  readonly receivers: Receivers;
  readonly attempts: AttemptLedger;
  readonly view: ReturnType<typeof viewDatabase>;
  readonly settings: ServiceSettings & { maxBacklog: number };
  readonly violations: string[] = [];
  /** How many results of each delivery are known to be stored. */
  readonly recorded = new Map<string, number>();
  /** Owned: attempts may start. */
  isOwner = true;
  crashes = 0;
  restarts = 0;
  /** Monotonic: when something last happened that excuses delays. */
  disturbedAt = 0;
  wallClockSetAt = Number.NEGATIVE_INFINITY;
  service!: Service;
  readonly #path: string;
  #store: Store | null = null;

  constructor(seed: number, settings: Partial<ServiceSettings> & { maxBacklog?: number } = {}) {
    this.random = new SeededRandom(seed);
    this.settings = { ...DEFAULTS, maxBacklog: 1_000_000, ...settings };
    // A name of its own: databases in memory are shared by name within a process.
    this.#path = `file:world${worlds++}?mode=memory&cache=shared`;
    this.view = viewDatabase(this.#path);
    this.receivers = new Receivers(this.random.fork());
    this.attempts = new AttemptLedger({
      clock: this.clock,
      view: this.view,
      slots: () => this.settings.slots,
      calmSince: () => this.calmSince(),
      bodyRetentionMs: this.settings.bodyRetentionMs,
      onViolation: (message) => this.violate(message),
    });
    this.receivers.onStart = (exchange) => this.attempts.noteStart(exchange);
    this.receivers.onEnd = (exchange, result) => this.attempts.noteEnd(exchange, result);
  }

  violate(message: string): void {
    const at = `${(this.clock.monotonic() / 1000).toFixed(3)} s`;
    if (this.violations.length < VIOLATIONS_MAX) this.violations.push(`at ${at}: ${message}`);
  }

  /** A new process on what the database holds. */
  async start(): Promise<void> {
    this.#store = openInThreadStore({
      path: this.#path,
      masterKey: MASTER_KEY,
      clock: this.clock,
      random: this.random.fork(),
      diskReserveBytes: 0,
      maxBacklogPerDestination: this.settings.maxBacklog,
    });
    this.attempts.restart();
    this.service = createService({
      clock: this.clock,
      random: this.random.fork(),
      store: this.#store,
      receivers: this.receivers,
      ownership: { ...soleOwnership, mayStart: () => this.isOwner, isAlive: () => this.isOwner },
      settings: this.settings,
      onFinished: (finished) => this.#noteRecorded(finished),
      onExecuted: (method, parameters, result) => this.#noteExecuted(method, parameters, result),
      onDestinationFollowed: (destination) => this.#noteFollowed(destination),
    });
    this.disturb();
    await this.clock.runFor(this.service.start());
    this.disturb();
  }

  /** kill -9 and a new start: all memory is gone, requests on the wire are nobody's. */
  async crash(): Promise<void> {
    this.crashes++;
    await this.end();
    await this.start();
  }

  /** As SIGTERM does, then a new start. */
  async restart(graceMs: number): Promise<void> {
    this.restarts++;
    this.disturb();
    await this.clock.runFor(this.service.stop(graceMs), graceMs + 60_000);
    await this.end();
    await this.start();
  }

  /** No process runs any more; the database stays. */
  async end(): Promise<void> {
    this.service.life.kill();
    await this.#store?.close();
    this.#store = null;
  }

  close(): void {
    this.view.close();
  }

  setTrouble(trouble: Trouble | null): void {
    this.service.slowStore.trouble = trouble;
    this.disturb();
  }

  setWallClock(byMs: number): void {
    this.clock.setWallClock(byMs);
    this.wallClockSetAt = this.clock.monotonic();
    this.disturb();
  }

  disturb(): void {
    this.disturbedAt = this.clock.monotonic();
  }

  /** Monotonic: since when nothing excuses delays; Infinity: something does now. */
  calmSince(): number {
    if (this.isTroubled() || !this.isOwner) return Number.POSITIVE_INFINITY;
    return Math.max(this.disturbedAt + RECOVERY_MS, this.wallClockSetAt + SWEEP_MS);
  }

  isTroubled(): boolean {
    return this.service.slowStore.trouble !== null;
  }

  #noteRecorded({ delivery }: FinishedAttempt): void {
    this.recorded.set(delivery.id, (this.recorded.get(delivery.id) ?? 0) + 1);
  }

  #noteFollowed({ id, status, maxInFlight, ratePerSecond, url }: Destination): void {
    const version = { isPaused: status === 'paused', maxInFlight, ratePerSecond, url };
    this.attempts.destinations.get(id)?.noteFollowed(version, this.clock.monotonic());
  }

  #noteExecuted(method: string, parameters: unknown[], result: unknown): void {
    const [request] = parameters as [{ id: DestinationId }];
    if (/^(create|update|delete)Destination$/.test(method)) this.attempts.noteCommitted(request.id);
    if (method !== 'recordResults') return;
    for (const id of (result as { paused: DestinationId[] }).paused) this.attempts.noteCommitted(id);
  }
}
