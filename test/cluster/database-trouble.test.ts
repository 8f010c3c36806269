// The database takes no writes for a while, in each of the ways it comes to that: accepts are refused, nothing that was
// answered 202 is lost, nobody sends what cannot be recorded, and all goes on by itself.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test, type TestContext } from 'node:test';
import { delay, systemClock } from '../../src/runtime/clock.ts';
import type { Received, Receiver } from '../e2e/receiver.ts';
import type { Service } from '../e2e/service.ts';
import { mountDisk } from '../e2e/small-disk.ts';
import { startPostgres, type OwnPostgres } from '../store/postgres/server.ts';
import { Publisher, eventually, startStage, tally, type Stage } from './stage.ts';

const LEASE_MS = 2_500;
const LEASE = { NODE_LEASE: `${LEASE_MS}ms` };
const TYPES = Array.from({ length: 12 }, (_, i) => `order.kind-${i}`);

/** A server with little of everything, so that a small disk is enough, and full soon. */
const SMALL = ['max_wal_size=32MB', 'min_wal_size=32MB', 'autovacuum=off', 'fsync=off'];
const WITH_SMALL_SEGMENTS = { initdb: ['--wal-segsize=1'] };
/** More than a segment of the WAL has, and less than tables that are in use. */
const FILE_BYTES_MAX = 1_200 * 1_024;
const DISK_MB = 256;
/** Results take up more room than events, so that they are the first that cannot be stored. */
const EVENT_BYTES = 3_000;
const RESPONSE_BYTES = 12_000;

const slowly = (request: Received): void => void setTimeout(() => request.answer(200), 5);

describe('a database that has become read-only', () => {
  let server: OwnPostgres;
  before(async () => {
    server = await startPostgres(['fsync=off']);
  });
  after(() => server.stop());

  test('on connections that it keeps', async (t) => {
    const { stage, publisher, receiver } = await underLoad(t, server);
    t.after(() => setReadOnly(server, false));
    await setReadOnly(server, true);
    await assertReadOnly(stage, publisher);
    await setReadOnly(server, false);
    await assertRecovered(t, { stage, publisher, receiver });
  });

  // As when a name leads to a standby for a while: what connects to it then is not led back with the name.
  test('on the connections of a while, and stays so on those', async (t) => {
    const { stage, publisher, receiver } = await underLoad(t, server);
    const { database } = stage;
    await server.query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    await server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`);
    await assertReadOnly(stage, publisher);
    await server.query(`ALTER DATABASE ${database} RESET default_transaction_read_only`);
    await assertRecovered(t, { stage, publisher, receiver });
  });

  test('because it is a standby now, until it is promoted', async (t) => {
    const { stage, publisher, receiver } = await underLoad(t, server);
    await server.halt();
    await assertSaysNotWhere(stage);
    await server.resume({ asStandby: true });
    await assertReadOnly(stage, publisher);
    await server.query('SELECT pg_promote()');
    await assertRecovered(t, { stage, publisher, receiver });
  });
});

// A standby that was promoted before it had everything: what nodes know by heart may never have been.
describe('a database that has come back without its last changes', () => {
  test('is followed, not what was lost', async (t) => {
    const server = await startPostgres(['fsync=off']);
    t.after(() => server.stop());
    const stage = await startStage(t, server, 2, LEASE);
    const [one, other] = stage.nodes as [Service, Service];
    const receiver = await stage.receiver();
    const api = stage.api(one);
    const kept = await api.destination(`${receiver.url}kept`);
    const subscription = await api.subscribe(kept, 'order.kept');
    const ready = (): Promise<unknown[]> =>
      Promise.all(
        stage.nodes.map((node) =>
          eventually(
            () => stage.api(node).send('GET', '/readyz'),
            ({ status }) => status === 200,
          ),
        ),
      );
    await server.halt();
    await server.keep();
    await server.resume();
    await ready();
    await api.subscribed(receiver.url, 'order.lost');
    await api.expect(204, 'DELETE', `/v1/subscriptions/${subscription.id}`);
    // Both nodes know of it.
    await scheduled(stage, [one, other], 'order.lost', 1);

    await server.halt();
    await server.resume({ asKept: true, asStandby: true });
    await server.query('SELECT pg_promote()');
    await ready();
    // As many changes as were lost: their versions could be the same.
    const fresh = await api.subscribed(receiver.url, 'order.new');
    await api.change(fresh.id, { name: 'new' });
    await scheduled(stage, [one, other], 'order.new', 1);
    await scheduled(stage, [one, other], 'order.lost', 0);
    const [, last] = await scheduled(stage, [one, other], 'order.kept', 1);
    await receiver.until(() => receiver.requests.some(({ eventId }) => eventId === last), 'what the store routes');
    await api.change(kept.id, { status: 'paused' });
    const [held] = await scheduled(stage, [one], 'order.kept', 1);
    const [sent] = await scheduled(stage, [one], 'order.new', 1);
    await receiver.until(() => receiver.requests.some(({ eventId }) => eventId === sent), 'what is not paused');
    assert.ok(!receiver.requests.some(({ eventId }) => eventId === held), 'a pause is honoured');
  });
});

/** Posts an event of the type to each node; all of them make so many deliveries. */
async function scheduled(stage: Stage, nodes: readonly Service[], type: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (const node of nodes) {
    const event = await stage.api(node).publish(type);
    assert.equal(event.deliveries.length, count, type);
    ids.push(event.event_id);
  }
  return ids;
}

/** Leases until nothing more is accepted, and no result stored. */
const ROUNDS_MAX = 8;
/** What a node logs when results begin to fail, and when they are stored again. */
const TURN = /results are stored again|results cannot be stored; no new attempts/;

/** Where there is not more room for the data: a disk that is full, or files that may not grow. */
type Quota = { server: OwnPostgres; use: () => Promise<void>; makeRoom: () => Promise<void> };

describe('a database whose disk is full', () => {
  test('as far as its files may grow', async (t) => {
    const server = await startPostgres(SMALL, WITH_SMALL_SEGMENTS);
    t.after(() => server.stop());
    await goesOn(t, {
      server,
      async use() {
        await server.halt();
        await server.resume({ fileBytesMax: FILE_BYTES_MAX });
      },
      async makeRoom() {
        await server.halt();
        await server.resume();
      },
    });
  });

  // The other test is for those who may not mount one.
  const disk = mountDisk({ after }, DISK_MB);
  if (typeof disk === 'string') return;
  test('with not a byte left', async (t) => {
    const server = await startPostgres(SMALL, { ...WITH_SMALL_SEGMENTS, under: disk.path });
    disk.endFirst(() => server.stop());
    await goesOn(t, {
      server,
      use: () => disk.fillTo(0),
      async makeRoom() {
        await disk.makeRoom();
        // If it has ended over this, whatever looks after it starts it again.
        await server.resume();
      },
    });
  });
});

async function goesOn(t: TestContext, { server, use, makeRoom }: Quota): Promise<void> {
  const stage = await startStage(t, server, 2, LEASE);
  const receiver = await stage.receiver(failFirst);
  const retryPolicy = { schedule_seconds: [1, 1, 2, 3, 5, 8], jitter: 0 };
  for (const type of TYPES) {
    const url = `${receiver.url}${type}`;
    await stage.api(stage.nodes[0]!).subscribed(url, type, { retry_policy: retryPolicy });
  }
  const bodyOf = (): object => ({ text: longText(EVENT_BYTES) });
  const publisher = new Publisher(stage, TYPES, { connections: 4, pauseMs: 20, bodyOf });
  await publisher.promisedCount(50);
  await use();

  const { nodes } = stage;
  await Promise.all(
    nodes.map(async (node) => {
      await eventually(
        () => stage.api(node).send('GET', '/readyz'),
        ({ status, text }) => status === 503 && text.includes('results cannot be stored'),
      );
      await eventually(
        () => stage.metric(node, 'postrider_attempts_on_wire'),
        (count) => count === 0,
      );
    }),
  );
  const { headers } = await eventually(
    () => stage.api(nodes[0]!).send('POST', '/v1/events', { type: 'order.kind-0', body: bodyOf() }),
    ({ status }) => status === 503,
  );
  assert.ok(Number(headers.get('retry-after')) > 0);
  // A page that was begun may have room for one more event, or for results, after which attempts go on until the next
  // that has none: that comes to an end.
  const countTurns = (): number => nodes.reduce((sum, { output }) => sum + output.split(TURN).length - 1, 0);
  let [arrived, promised, turns] = [-1, -1, -1];
  for (let round = 0; round < ROUNDS_MAX && (publisher.promised.size !== promised || countTurns() !== turns); round++) {
    [arrived, promised, turns] = [receiver.requests.length, publisher.promised.size, countTurns()];
    await delay(systemClock, LEASE_MS);
  }
  assert.equal(receiver.requests.length, arrived, 'nothing is sent whose result cannot be stored');
  assert.equal(publisher.promised.size, promised, 'nothing is accepted');

  await makeRoom();
  await assertRecovered(t, { stage, publisher, receiver });
}

/** What is to be kept of it does not fit where there is hardly any room. */
function failFirst(request: Received): void {
  const isFirst = request.attempt === 1;
  setTimeout(() => request.answer(isFirst ? 404 : 200, { body: longText(RESPONSE_BYTES) }), 5);
}

/** It cannot be compressed to much less. */
function longText(bytes: number): string {
  return randomBytes(bytes).toString('base64');
}

type Load = { stage: Stage; publisher: Publisher; receiver: Receiver };

async function underLoad(t: TestContext, server: OwnPostgres): Promise<Load> {
  const stage = await startStage(t, server, 2, LEASE);
  const receiver = await stage.receiver(slowly);
  for (const type of TYPES) await stage.api(stage.nodes[0]!).subscribed(`${receiver.url}${type}`, type);
  const publisher = new Publisher(stage, TYPES, { connections: 4 });
  await publisher.promisedCount(100);
  return { stage, publisher, receiver };
}

/** For everybody, also on connections that are there. */
async function setReadOnly(server: OwnPostgres, isReadOnly: boolean): Promise<void> {
  await server.query(`ALTER SYSTEM SET default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`);
  await server.query('SELECT pg_reload_conf()');
}

/** Anybody may ask whether a node is ready; the log has the rest. */
async function assertSaysNotWhere(stage: Stage): Promise<void> {
  const [node] = stage.nodes as [Service];
  const { text } = await eventually(
    () => stage.api(node).send('GET', '/readyz'),
    ({ status, text: said }) => status === 503 && said.includes('cannot be reached'),
  );
  assert.match(text, /not ready: the database of POSTRIDER_DATABASE_URL cannot be reached[";]/);
  await eventually(
    async () => node.output,
    (output) => /cannot be reached: connect ECONNREFUSED 127\.0\.0\.1/.test(output),
  );
}

async function assertReadOnly(stage: Stage, publisher: Publisher): Promise<void> {
  // All at once: each tries for seconds before it refuses.
  await Promise.all(
    stage.nodes.map(async (node) => {
      const { headers } = await eventually(
        () => stage.api(node).send('GET', '/readyz'),
        ({ status, text }) => status === 503 && text.includes('the database is read-only'),
      );
      assert.ok(Number(headers.get('retry-after')) > 0);
      const { status, body, ...answer } = await stage.api(node).send('POST', '/v1/events', { type: 'a.b', body: {} });
      assert.deepEqual([status, body.error.code], [503, 'unavailable']);
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
      assert.equal((await fetch(`${node.url}/healthz`)).status, 200);
    }),
  );
  const { size } = publisher.promised;
  // For longer than the lease: nobody can renew it, and nobody shall be given up for that.
  await delay(systemClock, LEASE_MS);
  assert.equal(publisher.promised.size, size, 'nothing is accepted meanwhile');
}

async function assertRecovered(t: TestContext, { stage, publisher, receiver }: Load): Promise<void> {
  for (const node of stage.nodes) {
    await eventually(
      () => stage.api(node).send('GET', '/readyz'),
      ({ status }) => status === 200,
    );
  }
  await publisher.promisedCount(publisher.promised.size + 100);
  const result = await tally(receiver, await publisher.stop());
  t.diagnostic(`${JSON.stringify(result)}, ${publisher.refused} posts retried`);
  for (const node of stage.nodes) assert.ok(!node.output.includes('silent for longer'), 'nobody was given up');
}
