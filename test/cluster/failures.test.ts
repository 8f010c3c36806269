// What may happen to a node or to the database while events come in: nothing that was answered 202 is lost.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { delay, systemClock } from '../../src/runtime/clock.ts';
import type { Received } from '../e2e/receiver.ts';
import { startService } from '../e2e/service.ts';
import { needsOwnServer } from '../store/postgres/citus.ts';
import { startProxy } from '../store/postgres/proxy.ts';
import { startPostgres, type OwnPostgres } from '../store/postgres/server.ts';
import { Publisher, duplicatesAt, eventually, startStage, tally } from './stage.ts';

const LEASE_MS = 2_500;
const LEASE = { NODE_LEASE: `${LEASE_MS}ms` };
const IN_FLIGHT = 8;
const TYPES = Array.from({ length: 24 }, (_, i) => `order.kind-${i}`);

const slowly = (request: Received): void => void setTimeout(() => request.answer(200), 5);

describe('a cluster', () => {
  let server: OwnPostgres;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  test('a killed node is replaced, and nothing is lost', async (t) => {
    const stage = await startStage(t, server, 3, LEASE);
    const receiver = await stage.receiver(slowly);
    for (const type of TYPES) await stage.api(stage.nodes[0]!).subscribed(`${receiver.url}${type}`, type);
    const publisher = new Publisher(stage, TYPES);
    await publisher.promisedCount(300);

    const killed = stage.nodes[2]!;
    const lost = await stage.idOf(killed);
    await killed.kill();
    const killedAt = performance.now();
    await eventually(
      () => stage.owners(),
      (owners) => !owners.includes(lost) && !owners.includes(null),
    );
    const takeoverMs = performance.now() - killedAt;
    await publisher.promisedCount(publisher.promised.size + 300);
    const result = await tally(receiver, await publisher.stop());
    // How soon after its lease is for the bench to say: on a busy machine a time proves nothing.
    t.diagnostic(
      `${JSON.stringify(result)}, taken over after ${Math.round(takeoverMs)} ms, ${publisher.refused} retried`,
    );
  });

  test('a node that slept past its lease sends nothing for the shards it lost', async (t) => {
    const stage = await startStage(t, server, 2, LEASE);
    const [awake, asleep] = stage.nodes as [(typeof stage.nodes)[0], (typeof stage.nodes)[0]];
    const lost = await stage.idOf(asleep);
    const receiver = await stage.receiver();
    const limit = { max_in_flight: IN_FLIGHT };
    const destination = await stage.destinationOf(asleep, receiver, 'one.of-many', limit);
    const open = new Set<Received>();
    // That an answer is out is noticed here later than by its sender, who may send the next meanwhile.
    const countOpen = (): number => [...open].filter(({ answeredAt }) => answeredAt === null).length;
    let onWireMax = 0;
    receiver.respond = (request) => {
      open.add(request);
      onWireMax = Math.max(onWireMax, countOpen());
      void request.closed.then(() => open.delete(request));
      // Slower than events come in, so that it has more to send when it wakes up.
      setTimeout(() => request.answer(200), 100);
    };
    const publisher = new Publisher(stage, ['one.of-many'], { nodes: [awake], connections: 4 });
    await publisher.promisedCount(100);

    const recorded = await stage.finishedEvents(destination);
    process.kill(asleep.pid, 'SIGSTOP');
    const unrecorded = new Set(receiver.requests.map(({ eventId }) => eventId)).difference(recorded);
    await eventually(
      () => stage.owners(),
      (owners) => !owners.includes(lost) && !owners.includes(null),
    );
    const arrived = receiver.requests.length;
    await receiver.until(() => receiver.requests.length > arrived + 20, 'the successor sends');
    // What the one had begun, the other has ended by now.
    const begun = new Set(receiver.requests.map(({ eventId }) => eventId));
    await eventually(
      () => stage.finishedEvents(destination),
      (finished) => begun.isSubsetOf(finished),
    );
    const earlier = new Set(duplicatesAt(receiver));
    onWireMax = countOpen();
    process.kill(asleep.pid, 'SIGCONT');
    await eventually(
      async () => asleep.output,
      (output) => output.includes('silent for longer than its lease'),
    );
    const result = await tally(receiver, await publisher.stop());
    // One that was past its last look when it fell asleep goes out when it wakes up.
    t.diagnostic(`${JSON.stringify(result)}, at most ${onWireMax} at once after it woke`);
    assert.ok(onWireMax <= IN_FLIGHT + 1, `${onWireMax} at once`);
    // Sent twice is what was not recorded when it fell asleep, and what was on its way to the receiver just then.
    const others = earlier.difference(unrecorded);
    assert.ok(others.size <= IN_FLIGHT, `${others.size} duplicates beside ${unrecorded.size} unrecorded`);
    const later = new Set(duplicatesAt(receiver)).difference(earlier);
    assert.ok(later.size <= 1, `${later.size} more when it woke`);
    await stage.whenShared();
    assert.equal((await stage.api(awake).readDestination(destination.id)).status, 'active');
  });

  test('a node that is stopped while the database is away ends all the same', { skip: needsOwnServer }, async (t) => {
    const own = await startPostgres(['fsync=off']);
    t.after(() => own.stop());
    const stage = await startStage(t, own, 1, LEASE);
    const [node] = stage.nodes as [(typeof stage.nodes)[0]];
    await own.halt();
    assert.deepEqual(await node.stop(), { code: 0, signal: null });
  });

  test('so does one whose connections were forgotten on the way, where nobody says that they are gone', async (t) => {
    const database = 'forgotten';
    await server.create(database);
    const proxy = await startProxy(server.urlOf(database));
    t.after(() => proxy.close());
    const node = await startService(t, { DATABASE_URL: proxy.url, MASTER_KEY: '7'.repeat(64) });
    proxy.forget();
    assert.deepEqual(await node.stop(), { code: 0, signal: null });
  });

  test('a node that is killed and started again goes on at once, whatever its lease', async (t) => {
    // Longer than anything is waited for here.
    const stage = await startStage(t, server, 1, { NODE_LEASE: '10m' });
    const [node] = stage.nodes as [(typeof stage.nodes)[0]];
    const receiver = await stage.receiver((request) => request.answer(503));
    const destination = await stage.destinationOf(node, receiver, 'one.of-many', {});
    const { event_id: id } = await stage.api(node).publish('one.of-many');
    await receiver.until(() => receiver.requests.length > 0, 'the first attempt');
    await node.kill();
    receiver.respond = (request) => request.answer(200);
    await node.start();
    await eventually(
      () => stage.finishedEvents(destination),
      (finished) => finished.has(id),
    );
    await stage.whenShared();
  });

  test('a node that is stopped hands over at once, without a duplicate', async (t) => {
    // Longer than anything is waited for here: shards that are not handed over are nobody's.
    const stage = await startStage(t, server, 2, { NODE_LEASE: '10m' });
    const receiver = await stage.receiver(slowly);
    for (const type of TYPES) await stage.api(stage.nodes[0]!).subscribed(`${receiver.url}${type}`, type);
    const [staying, leaving] = stage.nodes as [(typeof stage.nodes)[0], (typeof stage.nodes)[0]];
    const publisher = new Publisher(stage, TYPES);
    await publisher.promisedCount(200);
    const exiting = leaving.stop();
    await stage.whenShared([staying]);
    assert.deepEqual(await exiting, { code: 0, signal: null });
    await publisher.promisedCount(publisher.promised.size + 200);
    const result = await tally(receiver, await publisher.stop());
    t.diagnostic(JSON.stringify(result));
    assert.equal(result.duplicates, 0);
  });

  test('a restart of the database loses nothing', { skip: needsOwnServer }, async (t) => {
    const stage = await startStage(t, server, 2, LEASE);
    const receiver = await stage.receiver(slowly);
    for (const type of TYPES) await stage.api(stage.nodes[0]!).subscribed(`${receiver.url}${type}`, type);
    const publisher = new Publisher(stage, TYPES);
    await publisher.promisedCount(200);
    await server.halt();
    // For longer than the lease: nobody can renew it, and nobody shall be given up for that.
    for (const node of stage.nodes) {
      await eventually(
        async () => stage.api(node).send('GET', '/readyz'),
        ({ status, text }) => status === 503 && text.includes('has run out'),
      );
    }
    await delay(systemClock, LEASE_MS);
    await server.resume();
    await publisher.promisedCount(publisher.promised.size + 200);
    const result = await tally(receiver, await publisher.stop());
    t.diagnostic(`${JSON.stringify(result)}, ${publisher.refused} posts retried`);
    for (const node of stage.nodes) assert.ok(!node.output.includes('silent for longer'), 'nobody was given up');
    await eventually(
      async () => stage.api(stage.nodes[0]!).send('GET', '/readyz'),
      ({ status }) => status === 200,
    );
  });

  test('connections that break at random lose nothing', async (t) => {
    const stage = await startStage(t, server, 2, LEASE);
    const receiver = await stage.receiver(slowly);
    for (const type of TYPES) await stage.api(stage.nodes[0]!).subscribed(`${receiver.url}${type}`, type);
    const publisher = new Publisher(stage, TYPES);
    for (let i = 0; i < 12; i++) {
      await publisher.promisedCount(publisher.promised.size + 25);
      await server.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name LIKE 'postrider%' AND random() < 0.4`,
        stage.database,
      );
    }
    await publisher.promisedCount(publisher.promised.size + 100);
    const result = await tally(receiver, await publisher.stop());
    t.diagnostic(`${JSON.stringify(result)}, ${publisher.refused} posts retried`);
  });
});
