// A run that a seed decides: hours of clients that post, change, delete, pause and retry, receivers that come and go,
// a store in trouble, crashes and a wall clock that is set; then everything recovers, and must come to rest.
import { auditEnd, auditProgress, Meter } from './audit.ts';
import { Clients, type DestinationSpec } from './clients.ts';
import type { DeliveryId, DestinationId } from '../../src/model/id.ts';
import { delay } from '../../src/runtime/clock.ts';
import type { RetryPolicy } from '../../src/model/retry-policy.ts';
import { BEHAVIOURS, flapping, type Behaviour } from './receivers.ts';
import type { SeededRandom } from './seeded-random.ts';
import { World } from './world.ts';

export type ScenarioOptions = {
  /** Operations of clients and of fate. */
  operations?: number;
  /** Without crashes and restarts the history must be the receivers' log to the last attempt. */
  crashes?: boolean;
  slots?: number;
  /** Bodies are erased and rows removed while the run goes on. */
  hasShortRetention?: boolean;
  /** The service is a node on a store that nodes share. Its clock is not set: leases go by that. */
  isShared?: boolean;
};

export type ScenarioReport = { violations: string[]; starts: number; deliveries: number; virtualMs: number };

const TYPES = ['order.paid', 'order.shipped', 'order.line.added', 'user.created', 'user.deleted'];
const PATTERNS = ['**', 'order.*', 'order.**', 'order.paid', 'user.*', 'user.created'];
const FILTERS = [null, null, '{"$.kind":"k1"}', '{"$.n":{"$gt":100}}', '{"$.kind":{"$ne":"k0"}}'];
const POLICIES: (RetryPolicy | null)[] = [
  { schedule_seconds: [1, 2, 5, 10, 60], timeout_seconds: 5 },
  { schedule_seconds: [5, 300] },
  { schedule_seconds: [], timeout_seconds: 2 },
  { max_attempts: 6, initial_seconds: 1, factor: 2, max_seconds: 30, jitter: 1 },
  { schedule_seconds: [30, 30, 30, 30, 30, 30, 600, 600, 600, 600, 3_600], jitter: 0 },
];
const WEATHER: Behaviour[] = [
  ...[BEHAVIOURS.ok, BEHAVIOURS.ok, BEHAVIOURS.ok, BEHAVIOURS.slow, BEHAVIOURS.hangs, BEHAVIOURS.refuses],
  ...[BEHAVIOURS.resets, BEHAVIOURS.fails, BEHAVIOURS.dislikes, BEHAVIOURS.gone, BEHAVIOURS.busy],
  ...[BEHAVIOURS.unavailable, BEHAVIOURS.picky, flapping, flapping, flapping],
];

const OPERATIONS = {
  post: 60,
  burst: 1.5,
  flood: 0.1,
  retry: 8,
  retryMany: 1,
  replayDead: 4,
  replayEvent: 3,
  operate: 1,
  tellOperation: 1,
  createDestination: 1.5,
  deleteDestination: 1,
  patch: 5,
  pause: 2,
  resume: 3,
  move: 1,
  subscribe: 2,
  unsubscribe: 1,
  weather: 8,
  trouble: 0.7,
  crash: 0.3,
  restart: 0.2,
  wallClock: 0.4,
  wait: 4,
} as const;

const AUDIT_INTERVAL_MS = 5_000;
const HOUR_MS = 3_600_000;

export async function runScenario(seed: number, options: ScenarioOptions = {}): Promise<ScenarioReport> {
  const { operations = 600, crashes = true, slots = 256, hasShortRetention = false, isShared = false } = options;
  const retention = hasShortRetention ? { BODY_RETENTION: HOUR_MS / 3, ROW_RETENTION: HOUR_MS } : {};
  const world = new World(seed, {
    MAX_IN_FLIGHT: slots,
    MAX_BACKLOG: 3_000,
    FAILING_AFTER: HOUR_MS,
    ...retention,
    DATABASE_URL: isShared ? 'shared' : null,
  });
  await world.start();
  const scenario = new Scenario(world, crashes);
  await scenario.begin();
  for (let i = 0; i < operations && world.violations.length === 0; i++) await scenario.step();
  if (world.violations.length === 0) await scenario.recover();
  const { violations, attempts, clock } = world;
  const report = {
    violations,
    starts: attempts.starts,
    deliveries: scenario.clients.promised.size,
    virtualMs: clock.monotonic(),
  };
  await world.end();
  world.close();
  return report;
}

class Scenario {
  readonly clients: Clients;
  readonly #world: World;
  readonly #random: SeededRandom;
  readonly #hasCrashes: boolean;
  readonly #meter: Meter;
  #auditedAt = 0;
  #meteredAt = 0;
  #operations = 0;

  constructor(world: World, hasCrashes: boolean) {
    this.#world = world;
    this.#random = world.random.fork();
    this.#hasCrashes = hasCrashes;
    this.clients = new Clients(world);
    this.#meter = new Meter(world);
  }

  async begin(): Promise<void> {
    for (let i = 0; i < 6; i++) await this.#world.clock.runFor(this.#createDestination());
  }

  /** One operation is begun, and time passes; it may still be under way when the next begins. */
  async step(): Promise<void> {
    this.#operations++;
    const operation = this.#random.weighted(OPERATIONS);
    if (operation === 'crash' || operation === 'restart') {
      if (this.#hasCrashes) await this.#end(operation);
    } else {
      void this.clients.attempt(this.#begin(operation));
    }
    const pauseMs = operation === 'wait' ? this.#random.between(10, 900) * 1_000 : this.#random.fraction() * 4_000;
    await this.#pass(this.#random.chance(0.3) ? this.#random.fraction() * 5 : pauseMs);
  }

  /** Everything is well again: all must be delivered, and then nothing more happens. */
  async recover(): Promise<void> {
    const { clients } = this;
    const world = this.#world;
    world.setTrouble(null);
    await world.clock.run(10_000);
    for (const { id, url } of clients.destinations.values()) {
      world.receivers.set(url, BEHAVIOURS.ok);
      await world.clock.runFor(clients.patchDestination(id, { status: 'active', ratePerSecond: null }));
    }
    for (const id of clients.operations.keys()) await world.clock.runFor(clients.tell(id, 'resume'));
    await world.clock.runFor(this.#auditOperations());
    for (let minutes = 0; world.view.unfinishedCount() > 0 && world.violations.length === 0; minutes++) {
      if (minutes > 5 * 24 * 60) return world.violate(`${world.view.unfinishedCount()} deliveries are never finished`);
      await this.#pass(60_000);
    }
    await world.clock.run(60_000);
    auditEnd(world, clients);
    this.#meter.take();
    await world.clock.run(600_000);
    const { timers, refills, starts } = this.#meter.take();
    // A retry that was due later and has ended otherwise is still looked for at its time, once.
    if (refills > clients.destinations.size || starts > 0 || timers > 2_500)
      world.violate(`no rest: ${JSON.stringify({ timers, refills, starts })}`);
  }

  /** Each comes to its end, where what it is about adds up. */
  async #auditOperations(): Promise<void> {
    const { clock } = this.#world;
    for (const id of this.clients.operations.keys()) {
      let operation = await this.clients.readOperation(id);
      for (let minutes = 0; operation?.finishedAt === null && minutes < 60; minutes++) {
        await delay(clock, 60_000);
        operation = await this.clients.readOperation(id);
      }
      if (operation === null) continue;
      const { status, total, done, failed, skipped } = operation;
      const isWhole = status === 'cancelled' || (operation.finishedAt !== null && done + failed + skipped === total);
      if (!isWhole) this.#world.violate(`${id} is ${JSON.stringify({ status, total, done, failed, skipped })}`);
    }
  }

  async #pass(durationMs: number): Promise<void> {
    const { clock } = this.#world;
    const end = clock.monotonic() + durationMs;
    while (clock.monotonic() < end && this.#world.violations.length === 0) {
      const auditAt = this.#auditedAt + AUDIT_INTERVAL_MS;
      await clock.run(Math.min(end, auditAt) - clock.monotonic());
      if (clock.monotonic() < auditAt) return;
      this.#auditedAt = clock.monotonic();
      auditProgress(this.#world);
      if (this.#auditedAt - this.#meteredAt >= 60_000) this.#measure();
    }
  }

  /** However much there is to do, the store is not asked far more often than that. */
  #measure(): void {
    this.#meteredAt = this.#world.clock.monotonic();
    const { refills, payloadReads, records, timers, starts } = this.#meter.take();
    const work = starts + this.clients.promised.size + this.#operations;
    const calls = refills + payloadReads + records;
    if (calls > 3 * work + 3_000 || timers > 30 * work + 20_000) {
      this.#world.violate(`it spins: ${JSON.stringify({ refills, payloadReads, records, timers, work })}`);
    }
  }

  async #end(how: 'crash' | 'restart'): Promise<void> {
    if (how === 'crash') await this.#world.crash();
    else await this.#world.restart(this.#random.between(0, 20_000));
    this.#meter.take();
  }

  async #begin(operation: Exclude<keyof typeof OPERATIONS, 'crash' | 'restart'>): Promise<unknown> {
    const { clients } = this;
    switch (operation) {
      case 'post':
        return this.#post(1);
      case 'burst':
        return this.#post(this.#random.between(20, 120));
      case 'flood':
        return this.#post(1_500);
      case 'retry':
        return this.#withDelivery((id) => clients.retry(id));
      case 'retryMany':
        return Promise.all(Array.from({ length: 30 }, () => this.#withDelivery((id) => clients.retry(id))));
      case 'replayDead':
        return this.#withDelivery((id) => clients.replayDead(id));
      case 'replayEvent':
        return this.#replayEvent();
      case 'operate':
        return this.#operate();
      case 'tellOperation':
        return this.#tellOperation();
      case 'createDestination':
        return clients.destinations.size < 16 ? this.#createDestination() : null;
      case 'deleteDestination':
        return clients.destinations.size > 4 ? this.#withDestination((id) => clients.deleteDestination(id)) : null;
      case 'patch':
        return this.#withDestination((id) => clients.patchDestination(id, this.#spec()));
      case 'pause':
        return this.#withDestination((id) => clients.patchDestination(id, { status: 'paused' }));
      case 'resume':
        return this.#withDestination((id) => clients.patchDestination(id, { status: 'active' }));
      case 'move':
        return this.#withDestination((id) => clients.moveDestination(id, this.#random.pick(WEATHER)));
      case 'subscribe':
        return this.#withDestination((id) => this.#subscribe(id));
      case 'unsubscribe':
        return this.#unsubscribe();
      case 'weather':
        return this.#changeWeather();
      case 'trouble':
        return this.#makeTrouble();
      case 'wallClock':
        if (this.#world.cluster !== null) return null;
        return this.#world.setWallClock(
          this.#random.pick([-3_600_000, -30_000, -1_500, -20, 20, 1_500, 30_000, 3_600_000]),
        );
      case 'wait':
        return null;
    }
  }

  #post(count: number): Promise<unknown> {
    const { clients } = this;
    const type = this.#random.pick(TYPES);
    return Promise.all(
      Array.from({ length: count }, () => {
        const key = this.#random.chance(0.3) ? `key ${this.#random.between(0, 60)}` : null;
        // Equal keys come with equal events, mostly.
        const n = key !== null && this.#random.chance(0.9) ? Number(key.slice(4)) + 1_000_000 : clients.nextBody();
        const environment = this.#random.pick([1, 1, 2]);
        return clients.attempt(clients.post({ environment, type: key === null ? type : 'order.paid', n, key }));
      }),
    );
  }

  async #createDestination(): Promise<void> {
    const environment = this.#random.pick([1, 1, 2]);
    const id = await this.clients.createDestination(environment, this.#random.pick(WEATHER), this.#spec());
    const count = this.#random.between(1, 2);
    for (let i = 0; i < count && this.clients.destinations.has(id); i++) await this.#subscribe(id);
  }

  #subscribe(id: DestinationId): Promise<unknown> {
    return this.clients.subscribe(id, this.#random.pick(PATTERNS), this.#random.pick(FILTERS));
  }

  async #unsubscribe(): Promise<void> {
    const { subscriptions } = this.clients;
    if (subscriptions.size > 6) await this.clients.unsubscribe(this.#random.pick([...subscriptions.keys()]));
  }

  #spec(): DestinationSpec {
    const spec: DestinationSpec = {};
    if (this.#random.chance(0.7)) spec.retryPolicy = this.#random.pick(POLICIES);
    if (this.#random.chance(0.4)) spec.maxInFlight = this.#random.pick([1, 2, 5, 50]);
    if (this.#random.chance(0.3)) spec.ratePerSecond = this.#random.pick([null, 0.5, 3, 20, 100]);
    return spec;
  }

  async #replayEvent(): Promise<void> {
    const ids = [...this.clients.events.keys()];
    if (ids.length > 0) await this.clients.replayEvent(this.#random.pick(ids));
  }

  #operate(): Promise<unknown> {
    const now = this.#world.clock.now();
    const range = { since: now - this.#random.between(1, 3 * HOUR_MS), until: null, perSecond: 100 };
    const environment = this.#random.pick([1, 1, 2]);
    const eventType = this.#random.pick([null, 'order.**']);
    const dlq = { kind: 'dlq_replay', destinationId: null, eventType, deadReason: null, ...range } as const;
    const missingOnly = this.#random.chance(0.8);
    const events = { kind: 'event_replay', eventType, destinationIds: null, missingOnly, ...range } as const;
    return this.#withDestination((destinationId) => {
      const recovery = { kind: 'destination_recovery', destinationId, ...range } as const;
      return this.clients.operate(environment, this.#random.pick([dlq, recovery, recovery, events]));
    });
  }

  async #tellOperation(): Promise<void> {
    const ids = [...this.clients.operations.keys()];
    if (ids.length === 0) return;
    await this.clients.tell(
      this.#random.pick(ids.slice(-4)),
      this.#random.pick(['pause', 'resume', 'resume', 'cancel']),
    );
  }

  async #withDelivery(operation: (id: DeliveryId) => Promise<unknown>): Promise<void> {
    const ids = [...this.clients.promised.keys()];
    if (ids.length === 0) return;
    // The newest are the likeliest to be under way.
    const recent = ids.slice(-20);
    await this.clients.attempt(operation(this.#random.pick(this.#random.chance(0.5) ? recent : ids)));
  }

  async #withDestination(operation: (id: DestinationId) => Promise<unknown>): Promise<void> {
    const ids = [...this.clients.destinations.keys()];
    if (ids.length > 0) await operation(this.#random.pick(ids));
  }

  async #changeWeather(): Promise<void> {
    const { url } = this.#random.pick([...this.clients.destinations.values()]);
    this.#world.receivers.set(url, this.#random.pick(WEATHER));
  }

  async #makeTrouble(): Promise<void> {
    const world = this.#world;
    world.setTrouble(this.#random.pick(['accepts', 'writes', 'reads', 'all']));
    const { service } = world;
    world.clock.setTimer(() => world.service === service && world.setTrouble(null), this.#random.fraction() * 20_000);
  }
}
