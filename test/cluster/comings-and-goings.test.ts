// Nodes are stopped, killed, put to sleep and started while events come in: nothing that was answered 202 is lost, and
// limits hold as promised. The suite has one of each fault; `npm run test:soak` has two minutes of them, whose seed it
// tells:
//
//   CHAOS_SECONDS=120 CHAOS_SEED=123 npm test -- test/cluster/comings-and-goings.test.ts
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { delay, systemClock } from '../../src/runtime/clock.ts';
import type { Destination } from '../e2e/api.ts';
import type { Received, Receiver } from '../e2e/receiver.ts';
import type { Service } from '../e2e/service.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import type { PostgresServer } from '../store/postgres/server.ts';
import { sharedPostgres } from '../store/postgres/shared.ts';
import { AFTERMATH_MS, OnWire, assertDuplicates, assertRate, removalsIn, type Span } from './limits.ts';
import { Publisher, eventually, startStage, tally, type Stage } from './stage.ts';

/** Zero: as many faults as there are kinds. */
const DURATION_MS = Number(process.env['CHAOS_SECONDS'] ?? 0) * 1_000;
/** Of this one the first four faults are of all four kinds, meet each of the nodes and take the least time. */
const SEED_OF_EACH_KIND = 8_731;
const LEASE_MS = 4_000;
const SETTLE_MS = 120_000;

const FREE = names('free', 12);
const ONE_AT_A_TIME = names('one-at-a-time', 4);
const PACED = names('paced', 4);
const FLAKY = names('flaky', 2);
const TYPES = [...FREE, ...ONE_AT_A_TIME, ...PACED, ...FLAKY];
const RATE = 10;
const PACED_IN_FLIGHT = 2;

/**
 * Of each: how often, in proportion. `nap`: shorter than the lease. The two that force a takeover excuse what happens
 * about then, so most of the time there shall be none.
 */
const FAULTS = { stop: 5, kill: 2, nap: 3, sleep: 1 } as const;
const KINDS = Object.keys(FAULTS).length;

let server: PostgresServer;
before(async () => {
  server = await sharedPostgres();
});
after(() => server.stop());

test('nodes that come and go lose nothing', async (t) => {
  const seed = Number(process.env['CHAOS_SEED'] ?? SEED_OF_EACH_KIND);
  t.diagnostic(`CHAOS_SEED=${seed}`);
  const random = new SeededRandom(seed);
  const stage = await startStage(t, server, 3, { NODE_LEASE: `${LEASE_MS}ms`, LOG_LEVEL: 'warn' });
  const onWire = new OnWire();
  const receiver = await stage.receiver(respondWith(random.fork(), onWire));
  const paced = await makeDestinations(stage, receiver);
  const publisher = new Publisher(stage, TYPES, { connections: 6, pauseMs: 100 });

  const chaos = new Chaos(stage, random);
  const endsAt = performance.now() + DURATION_MS;
  do await chaos.strike();
  while (chaos.count < KINDS || performance.now() < endsAt);
  await publisher.promisedCount(publisher.promised.size + 2 * TYPES.length);
  const result = await tally(receiver, await publisher.stop(), SETTLE_MS);
  await stage.whenShared();
  for (const node of stage.nodes) await stage.whenNothingIsSent(node);

  const removals = removalsIn(stage.nodes, LEASE_MS);
  const forced = [...chaos.forced, ...removals];
  const most = onWire.assertWithin(ONE_AT_A_TIME.map(pathOf), 1, forced);
  const excesses = [];
  for (const destination of paced) {
    const limit = { rate: RATE, onWire: PACED_IN_FLIGHT, forced, name: destination.url };
    excesses.push(assertRate(await stage.attemptsAt(destination), limit).excess);
  }
  assertDuplicates(receiver, forced);
  t.diagnostic(`faults: ${JSON.stringify(chaos.counts)}, ${removals.length} takeovers by force`);
  t.diagnostic(`${JSON.stringify(result)}, ${publisher.refused} posts retried`);
  t.diagnostic(`of 1 allowed at once: ${most.calm}, around forced takeovers ${most.forced}`);
  t.diagnostic(`starts above the rate around forced takeovers: ${Math.max(...excesses).toFixed(2)}`);
  if (seed === SEED_OF_EACH_KIND) assert.ok(Object.values(chaos.counts).every((count) => count > 0));
});

/** One after the other, so that two nodes are awake at any time. */
class Chaos {
  readonly counts = { stop: 0, kill: 0, nap: 0, sleep: 0 };
  /** When a takeover by force may have been under way. */
  readonly forced: Span[] = [];
  readonly #stage: Stage;
  readonly #random: SeededRandom;

  constructor(stage: Stage, random: SeededRandom) {
    this.#stage = stage;
    this.#random = random;
  }

  get count(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  async strike(): Promise<void> {
    const fault = this.#random.weighted(FAULTS);
    this.counts[fault]++;
    await this[fault](this.#random.pick(this.#stage.nodes));
    await this.#pause(0, 1_500);
  }

  async stop(node: Service): Promise<void> {
    assert.deepEqual(await node.stop(), { code: 0, signal: null });
    await this.#pause(0, 3_000);
    await node.start();
  }

  async kill(node: Service): Promise<void> {
    const from = Date.now();
    await node.kill();
    this.forced.push({ from, to: from + LEASE_MS + AFTERMATH_MS });
    await this.#pause(0, LEASE_MS + 2_000);
    await node.start();
  }

  /** Others may not take what it owns: it has to go on as if nothing had been. */
  async nap(node: Service): Promise<void> {
    process.kill(node.pid, 'SIGSTOP');
    await this.#pause(50, LEASE_MS / 4);
    process.kill(node.pid, 'SIGCONT');
  }

  async sleep(node: Service): Promise<void> {
    const from = Date.now();
    process.kill(node.pid, 'SIGSTOP');
    await this.#pause(LEASE_MS + 500, LEASE_MS + 3_000);
    process.kill(node.pid, 'SIGCONT');
    this.forced.push({ from, to: Date.now() + AFTERMATH_MS });
    // Asleep it was no member: it must be one again before another goes.
    await eventually(
      () => this.#stage.api(node).send('GET', '/readyz'),
      ({ status }) => status === 200,
    );
  }

  #pause(min: number, max: number): Promise<void> {
    return delay(systemClock, this.#random.between(min, max));
  }
}

/** Returns those that have a rate. */
async function makeDestinations(stage: Stage, receiver: Receiver): Promise<Destination[]> {
  const api = stage.api(stage.nodes[0]!);
  const make = (types: readonly string[], options: object): Promise<Destination[]> =>
    Promise.all(types.map((type) => api.subscribed(`${receiver.url}${type}`, type, options)));
  await make(FREE, {});
  await make(ONE_AT_A_TIME, { max_in_flight: 1 });
  await make(FLAKY, { retry_policy: { schedule_seconds: [1, 1, 1, 2, 2, 3, 3], jitter: 0 } });
  return make(PACED, { rate_per_second: RATE, max_in_flight: PACED_IN_FLIGHT });
}

/** Slow enough for requests to be on the wire when their sender goes; some fail at first. */
function respondWith(random: SeededRandom, onWire: OnWire): (request: Received) => void {
  const flaky = new Set(FLAKY.map(pathOf));
  return (request) => {
    onWire.note(request);
    const status = flaky.has(request.path) && request.attempt === 1 ? 500 : 200;
    setTimeout(() => request.answer(status), random.between(5, 60));
  };
}

function names(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${kind}.${i}`);
}

function pathOf(type: string): string {
  return `/${type}`;
}
