// A simulated world: clock, database, receivers, one process of the service at a time, and what was found wrong.
import type { Settings } from '../../src/config.ts';
import type { DestinationId } from '../../src/model/id.ts';
import type { ConfigurationChanges, RecordOutcome, ResultToRecord } from '../../src/store/store.ts';
import { MemoryCluster } from '../cluster/memory-cluster.ts';
import { openInThreadStore } from '../support/in-thread-store.ts';
import { settingsWith } from '../support/settings.ts';
import { AttemptLedger } from './attempt-ledger.ts';
import { viewDatabase } from './database-view.ts';
import { Receivers } from './receivers.ts';
import { SeededRandom } from './seeded-random.ts';
import { SimulatedService } from './service.ts';
import type { Trouble } from './slow-store.ts';
import { VirtualClock } from './virtual-clock.ts';

const MASTER_KEY = new Uint8Array(32).fill(7);
const VIOLATIONS_MAX = 20;
/** On a store that nodes share: until the lease of a node that crashed has run out, and its shards are taken. */
const TAKE_OVER_MS = 14_000;
/** After trouble, a start, a change of the configuration that could not be confirmed. */
const RECOVERY_MS = 6_000;
/** A wall clock that was set is noticed by the sweep. */
const SWEEP_MS = 32_000;

/** A few slots, and room for a few bodies, so that both run out. */
const SIMULATED: Partial<Settings> = { MAX_IN_FLIGHT: 256, PAYLOAD_CACHE: 64 * 1024, MAX_BACKLOG: 1_000_000 };

let worlds = 0;

export class World {
  readonly clock = new VirtualClock();
  readonly random: SeededRandom;
  readonly receivers: Receivers;
  readonly attempts: AttemptLedger;
  readonly view: ReturnType<typeof viewDatabase>;
  readonly settings: Settings;
  /** With DATABASE_URL the store is one that nodes share. */
  readonly cluster: MemoryCluster | null;
  readonly violations: string[] = [];
  /** How many results of each delivery are known to be stored. */
  readonly recorded = new Map<string, number>();
  /** Results of attempts may be gone: of a crash, or of a stop that could not store them. */
  hasLostResults = false;
  restarts = 0;
  /** Monotonic: when something last happened that excuses delays. */
  disturbedAt = 0;
  wallClockSetAt = Number.NEGATIVE_INFINITY;
  service!: SimulatedService;
  readonly #path: string;

  constructor(seed: number, settings: Partial<Settings> = {}) {
    this.random = new SeededRandom(seed);
    this.settings = settingsWith({ ...SIMULATED, ...settings });
    const isShared = this.settings.DATABASE_URL !== null;
    this.cluster = isShared ? new MemoryCluster(this.clock, this.random.fork(), 0) : null;
    // A name of its own: databases in memory are shared by name within a process.
    this.#path = `file:world${worlds++}?mode=memory&cache=shared`;
    this.view = viewDatabase(this.#path);
    this.receivers = new Receivers(this.random.fork());
    this.attempts = new AttemptLedger({
      clock: this.clock,
      view: this.view,
      slots: () => this.settings.MAX_IN_FLIGHT,
      calmSince: () => this.calmSince(),
      bodyRetentionMs: this.settings.BODY_RETENTION,
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
    const store = openInThreadStore({
      path: this.#path,
      masterKey: MASTER_KEY,
      clock: this.clock,
      random: this.random.fork(),
      diskReserveBytes: 0,
      maxBacklogPerDestination: this.settings.MAX_BACKLOG,
    });
    this.attempts.restart();
    this.service = new SimulatedService({
      clock: this.clock,
      random: this.random.fork(),
      store,
      cluster: this.cluster,
      receivers: this.receivers,
      settings: this.settings,
      masterKey: MASTER_KEY,
      observer: {
        executed: (method, parameters, result) => this.#noteExecuted(method, parameters, result),
        answered: (method, result) => this.#noteAnswered(method, result),
      },
    });
    this.disturb();
    await this.clock.runFor(this.service.start());
    this.disturb();
  }

  /** kill -9 and a new start: all memory is gone, requests on the wire are nobody's. */
  async crash(): Promise<void> {
    this.hasLostResults = true;
    await this.end();
    await this.start();
  }

  /** As SIGTERM does, then a new start. */
  async restart(graceMs: number): Promise<void> {
    this.restarts++;
    // A stop waits for a store in trouble only so long.
    this.hasLostResults ||= this.isTroubled();
    this.disturb();
    await this.clock.runFor(this.service.stop(graceMs), graceMs + 60_000);
    await this.end();
    await this.start();
  }

  /** No process runs any more; the database stays. */
  async end(): Promise<void> {
    this.service.life.kill();
    await this.service.slowStore.close();
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
    if (this.isTroubled()) return Number.POSITIVE_INFINITY;
    const recoveryMs = this.cluster === null ? RECOVERY_MS : RECOVERY_MS + TAKE_OVER_MS;
    return Math.max(this.disturbedAt + recoveryMs, this.wallClockSetAt + SWEEP_MS);
  }

  isTroubled(): boolean {
    const { trouble, misplaced } = this.service.slowStore;
    return trouble !== null || misplaced !== null;
  }

  #noteExecuted(method: string, parameters: unknown[], result: unknown): void {
    const [request] = parameters as [{ id: DestinationId; environment: number }];
    if (/^(create|update|delete)Destination$/.test(method)) this.attempts.noteCommitted(request.id);
    if (/^(update|delete)Destination$/.test(method)) {
      const { id: destinationId, environment } = request;
      this.cluster?.leaveBarrier({ destinationId, environment, version: this.view.configVersion(environment) });
    }
    if (method !== 'recordResults') return;
    const { results } = request as unknown as { results: ResultToRecord[] };
    const { outcomes, paused } = result as { outcomes: RecordOutcome[]; paused: DestinationId[] };
    for (const [i, { id }] of results.entries()) {
      if (outcomes[i]!.result === 'recorded') this.recorded.set(id, (this.recorded.get(id) ?? 0) + 1);
    }
    for (const id of paused) this.attempts.noteCommitted(id);
  }

  /** From the turn in which it hears of a change of the configuration the service goes by it. */
  #noteAnswered(method: string, result: unknown): void {
    if (method !== 'readChanges') return;
    for (const { id, status, maxInFlight, ratePerSecond, url } of (result as ConfigurationChanges).destinations) {
      const version = { isPaused: status === 'paused', maxInFlight, ratePerSecond, url };
      this.attempts.destinations.get(id)?.noteFollowed(version, this.clock.monotonic());
    }
  }
}
