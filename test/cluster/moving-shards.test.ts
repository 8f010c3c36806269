// Shards move from node to node, as one leaves and as one joins, while destinations are paused, changed and deleted,
// and while some pause themselves: no attempt begins, on any node, that what was answered or recorded before forbids.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SHARD_COUNT, idShard } from '../../src/model/id.ts';
import { delay, systemClock } from '../../src/runtime/clock.ts';
import type { Destination } from '../e2e/api.ts';
import { hold, ok, type Received, type Receiver } from '../e2e/receiver.ts';
import type { Service } from '../e2e/service.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import type { PostgresServer } from '../store/postgres/server.ts';
import { sharedPostgres } from '../store/postgres/shared.ts';
import { Publisher, eventually, startStage, tally, type Stage } from './stage.ts';

/** Of each kind in a round; what happens to them while shards move. */
const EACH = 5;
const KINDS = ['untouched', 'paused', 'changed', 'deleted', 'gone', 'failing'] as const;
type Kind = (typeof KINDS)[number];

const CHANGED = { headers: { 'x-version': '2' } };
/** A node that leaves does so at once; shards move for balance after 3 s, 16 a second. */
const LEAVING_MS = 1_000;
const JOINING_MS = 10_000;
const SETTLE_MS = 60_000;

let server: PostgresServer;
before(async () => {
  server = await sharedPostgres();
});
after(() => server.stop());

test('what was answered or recorded holds while shards move', async (t) => {
  const stage = await startStage(t, server, 3, { FAILING_AFTER: '1s', LOG_LEVEL: 'warn' });
  const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 32));
  t.diagnostic(`CHAOS_SEED=${seed}`);
  const random = new SeededRandom(seed);
  const moving = stage.nodes[2]!;
  await t.test('because a node leaves', async (part) => {
    const round = await startRound(stage, { name: 'leaves', random });
    const left = moving.stop();
    await round.change(LEAVING_MS);
    assert.deepEqual(await left, { code: 0, signal: null });
    await round.check(part, stage.nodes.slice(0, 2));
  });
  await t.test('because a node joins', async (part) => {
    const round = await startRound(stage, { name: 'joins', random });
    await moving.start();
    await round.change(JOINING_MS);
    await round.check(part, stage.nodes);
    await stage.whenShared();
  });
});

test('a node that is stopped keeps a shard until what is on its wire is answered', async (t) => {
  // Longer than anything is waited for here: nobody takes a shard that was not handed over.
  const stage = await startStage(t, server, 2, { NODE_LEASE: '10m' });
  const [staying, leaving] = stage.nodes as [Service, Service];
  const receiver = await stage.receiver(hold);
  const destination = await stage.destinationOf(leaving, receiver, 'order.held', { max_in_flight: 1 });
  const [stayingId, leavingId] = [await stage.idOf(staying), await stage.idOf(leaving)];
  await stage.api(staying).publish('order.held');
  const [held] = await receiver.arrived(1);
  const exiting = leaving.stop();
  const owners = await eventually(
    () => stage.owners(),
    (all) => all.filter((owner) => owner === stayingId).length >= SHARD_COUNT - 1,
  );
  assert.equal(owners[idShard(destination.id)], leavingId);
  await stage.api(staying).publish('order.held');
  receiver.respond = ok;
  held!.answer(200);
  assert.deepEqual(await exiting, { code: 0, signal: null });
  const [first, second] = await receiver.arrived(2);
  assert.notEqual(second!.deliveryId, first!.deliveryId);
  await stage.whenNothingIsSent(staying);
  assert.equal(receiver.requests.length, 2);
});

type Subject = {
  kind: Kind;
  type: string;
  destination: Destination;
  /** Unix ms: from then on it holds. */
  since: number;
};

/** Under load on the nodes that stay. */
async function startRound(stage: Stage, { name, random }: { name: string; random: SeededRandom }): Promise<Round> {
  const gone = new Set<string>();
  const receiver = await stage.receiver(respondWith(random, gone));
  const [asked] = stage.nodes;
  const types = KINDS.flatMap((kind) =>
    Array.from({ length: EACH }, (_, i) => ({ kind, type: `${name}.${kind}-${i}` })),
  );
  // One after the other begins, so that a change that comes late would be seen.
  const options = { max_in_flight: 1, retry_policy: { schedule_seconds: [1, 2, 3, 4, 5], jitter: 0 } };
  const subjects = await Promise.all(
    types.map(async ({ kind, type }): Promise<Subject> => {
      const destination = await stage.api(asked!).subscribed(`${receiver.url}${type}`, type, options);
      return { kind, type, destination, since: Number.POSITIVE_INFINITY };
    }),
  );
  const publisher = new Publisher(
    stage,
    types.map(({ type }) => type),
    { nodes: stage.nodes.slice(0, 2), pauseMs: 15 },
  );
  await publisher.promisedCount(10 * types.length);
  return new Round({ stage, receiver, publisher, subjects, random, gone });
}

type RoundParts = {
  stage: Stage;
  receiver: Receiver;
  publisher: Publisher;
  subjects: Subject[];
  random: SeededRandom;
  /** Paths at which it is. */
  gone: Set<string>;
};

class Round {
  readonly #parts: RoundParts;

  constructor(parts: RoundParts) {
    this.#parts = parts;
  }

  /** Each within the time that shards take to move, through one node. */
  async change(withinMs: number): Promise<void> {
    const { subjects, random } = this.#parts;
    await Promise.all(
      subjects.map(async (subject) => {
        await delay(systemClock, random.between(0, withinMs));
        await this.#changeOne(subject);
      }),
    );
  }

  async check(t: { diagnostic: (message: string) => void }, nodes: readonly Service[]): Promise<void> {
    const { stage, publisher, receiver, subjects } = this.#parts;
    await publisher.promisedCount(publisher.promised.size + 2 * subjects.length);
    await this.#whenPaused(nodes);
    const promised = await publisher.stop();
    for (const node of nodes) await stage.whenNothingIsSent(node);
    const sent = receiver.requests.length;
    for (const subject of subjects) await this.#checkOne(subject);
    for (const { destination } of this.#of('paused')) {
      await stage.api(nodes[0]!).change(destination.id, { status: 'active' });
    }
    const result = await tally(receiver, promised.filter(this.#mustArrive()), SETTLE_MS);
    t.diagnostic(`${JSON.stringify(result)}, ${sent} requests`);
    assert.equal(result.duplicates, 0);
  }

  async #changeOne(subject: Subject): Promise<void> {
    const { stage, gone } = this.#parts;
    const { kind, type, destination } = subject;
    const api = stage.api(stage.nodes[0]!);
    const path = `/v1/destinations/${destination.id}`;
    if (kind === 'gone') gone.add(`/${type}`);
    if (kind === 'paused') await api.expect(200, 'PATCH', path, { status: 'paused' });
    if (kind === 'changed') await api.expect(200, 'PATCH', path, CHANGED);
    if (kind === 'deleted') await api.expect(204, 'DELETE', path);
    if (kind === 'paused' || kind === 'changed' || kind === 'deleted') subject.since = Date.now();
  }

  /** The ones that pause themselves: since when is what the store says. */
  async #whenPaused(nodes: readonly Service[]): Promise<void> {
    const { stage } = this.#parts;
    for (const kind of ['gone', 'failing'] as const) {
      for (const subject of this.#of(kind)) {
        for (const node of nodes) {
          const { updated_at: at } = await eventually(
            () =>
              stage.api(node).readDestination(subject.destination.id) as Promise<Destination & { updated_at: string }>,
            ({ status, paused_reason: reason }) => status === 'paused' && reason === kind,
          );
          subject.since = Date.parse(at);
        }
      }
    }
  }

  async #checkOne(subject: Subject): Promise<void> {
    const { stage, receiver } = this.#parts;
    const { kind, type, destination, since } = subject;
    const attempts = await stage.attemptsOf(destination);
    assert.ok(attempts.length > 0, `${type} has had attempts`);
    const later = attempts.filter(({ at }) => at > since);
    if (kind === 'untouched') return;
    if (kind === 'changed') {
      const isOld = (request: Received): boolean => request.headers['x-version'] !== '2';
      const sent = new Set(receiver.requests.filter(isOld).map((request) => nameOf(request)));
      const wrong = later.filter((attempt) => sent.has(nameOf(attempt)));
      assert.deepEqual(wrong, [], `${type}: sent as it was before the change, ${later[0]?.at} after ${since}`);
      return;
    }
    assert.deepEqual(later, [], `${type}: began after ${since}`);
    if (kind !== 'gone' && kind !== 'failing') return;
    // By whoever recorded it, one that has left since included.
    const pauses = await eventually(
      async () =>
        stage.nodes.flatMap((node) => node.logEntries()).filter((entry) => entry['destination'] === destination.id),
      ({ length }) => length > 0,
    );
    assert.equal(pauses.length, 1, `${type} was paused once: ${JSON.stringify(pauses)}`);
  }

  #of(kind: Kind): Subject[] {
    return this.#parts.subjects.filter((subject) => subject.kind === kind);
  }

  /** Events of those that nothing keeps from being delivered in the end. */
  #mustArrive(): (eventId: string) => boolean {
    const { publisher, subjects } = this.#parts;
    const arriving = new Set<Kind>(['untouched', 'paused', 'changed']);
    const wanted = new Set<string>();
    for (const [n, eventId] of publisher.promised) {
      if (arriving.has(subjects[n % subjects.length]!.kind)) wanted.add(eventId);
    }
    return (eventId) => wanted.has(eventId);
  }
}

function respondWith(random: SeededRandom, gone: ReadonlySet<string>): (request: Received) => void {
  return (request) => {
    const status = gone.has(request.path) ? 410 : request.path.includes('.failing-') ? 404 : 200;
    setTimeout(() => request.answer(status), random.between(40, 100));
  };
}

function nameOf({ deliveryId, attempt }: { deliveryId: string; attempt: number }): string {
  return `${deliveryId} ${attempt}`;
}
