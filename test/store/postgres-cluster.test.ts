// The cluster part of the store on real PostgreSQL: what every store promises of it, and what is PostgreSQL's own:
// epochs, counts by shard, and connections that are lost.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ALL_SHARDS, idShard } from '../../src/model/id.ts';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { addNode, testCluster } from './conformance/cluster.ts';
import { atEnd } from './data-dirs.ts';
import { Databases, storeOptions } from './postgres/databases.ts';
import { startProxy } from './postgres/proxy.ts';
import { databaseOf, startPostgres, type PostgresServer } from './postgres/server.ts';
import { LIVE, Scene, result, succeed } from './scene.ts';

/** What we wait for by our own clock passes ten times as fast. */
const HASTE = 10;
const hastyClock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * HASTE,
  setTimer: (callback, delayMs) => systemClock.setTimer(callback, delayMs / HASTE),
  afterTurn: (callback) => systemClock.afterTurn(callback),
};

describe('the cluster on PostgreSQL', () => {
  let server: PostgresServer;
  let databases: Databases;
  before(async () => {
    server = await startPostgres(['fsync=off']);
    databases = new Databases(() => server);
  });
  after(() => server.stop());

  const open = async (t: Parameters<typeof atEnd>[0], options: { maxBacklogPerDestination?: number } = {}) => {
    const url = await databases.make(t);
    const store = await openPostgresStore({ ...storeOptions(url), ...options });
    atEnd(t, () => store.close());
    const scene = new Scene(store);
    return { url, store, cluster: store.cluster!, scene };
  };

  testCluster('as of every store', async (t) => {
    const { url, store, cluster, scene } = await open(t);
    return {
      cluster,
      async joinOther() {
        const other = await openPostgresStore(storeOptions(url));
        atEnd(t, () => other.close());
        return other.cluster!;
      },
      createDestination: () => scene.createDestination(),
      pauseDestination: (id) =>
        store.updateDestination({ environment: LIVE, id, change: { status: 'paused' }, now: scene.now }),
      deleteDestination: (id) => store.deleteDestination({ environment: LIVE, id, now: scene.now }),
      configVersion: () => scene.configVersion(),
    };
  });

  it('each owner has an epoch of its own', async (t) => {
    const { cluster, url } = await open(t);
    const [first, second] = [await addNode(cluster), await addNode(cluster)];
    await cluster.takeShards({ node: first, shards: [7] });
    await cluster.freeShards({ node: first, shards: [7] });
    await cluster.takeShards({ node: second, shards: [7] });
    const rows = await server.query('SELECT epoch FROM shards WHERE shard = 7', databaseOf(url));
    assert.equal(Number(rows[0]!['epoch']), 2);
  });

  it('nothing is born dead of a backlog that another node has worked off', async (t) => {
    const { url, store } = await open(t, { maxBacklogPerDestination: 3 });
    const other = await openPostgresStore(storeOptions(url));
    atEnd(t, () => other.close());
    const [accepting, recording] = [new Scene(store), new Scene(other)];
    const destination = await accepting.createDestination();
    for (let i = 0; i < 12; i++) {
      const { id } = await accepting.acceptOne(destination);
      assert.equal((await accepting.read(id))!.status, 'pending', `after ${i} that have succeeded`);
      await recording.record(result(id, 0, succeed()));
    }
    const event = await accepting.event(Array.from({ length: 5 }, () => destination));
    const [accepted] = await store.acceptEvents([event]);
    const tooMany = event.deliveries.slice(3).map(({ id }) => id);
    assert.deepEqual(accepted, { result: 'accepted', backlogFull: tooMany }, 'and what there is counts');
  });

  it('what another node has accepted and ended is counted anew, in every shard', async (t) => {
    const { url, store } = await open(t);
    const other = await openPostgresStore(storeOptions(url));
    atEnd(t, () => other.close());
    const [counting, elsewhere] = [new Scene(store), new Scene(other)];
    const ids = ALL_SHARDS.map((shard) => counting.ids.next('dst', shard));
    for (const id of ids) await counting.createDestination({ id });
    const event = await elsewhere.accept(ids);
    const countOf = async () => (await store.readStats()).unfinished;
    assert.deepEqual(await countOf(), []);
    await store.cluster!.recountUnfinished();
    assert.deepEqual(await countOf(), [{ environment: LIVE, count: ALL_SHARDS.length }]);
    for (const { id } of event.deliveries) await elsewhere.record(result(id, 0, succeed()));
    await store.cluster!.recountUnfinished();
    assert.deepEqual(await countOf(), []);
  });

  it('work is found in the shards that are asked for, and counted there', async (t) => {
    const { cluster, store, scene } = await open(t);
    const ids = await Promise.all(Array.from({ length: 12 }, () => scene.createDestination()));
    await scene.accept(ids);
    await cluster.recountUnfinished();
    const wanted = ids.slice(0, 5);
    const shards = [...new Set(wanted.map(idShard))];
    const expected = ids.filter((id) => shards.includes(idShard(id)));
    const found = [];
    for (let position: string | null = null; ;) {
      const page: Awaited<ReturnType<typeof store.sweep>> = await store.sweep({ after: position, limit: 2, shards });
      found.push(...page.destinations.map(({ destinationId }) => destinationId));
      if (page.next === null) break;
      position = page.next;
    }
    assert.deepEqual(found.sort(), expected.sort());
    const { unfinished } = await store.readStats(shards);
    assert.deepEqual(unfinished, [{ environment: LIVE, count: expected.length }]);
    assert.deepEqual((await store.sweep({ after: null, limit: 10, shards: [] })).destinations, []);
  });

  it('messages are kept for a minute, and then neither read nor kept', async (t) => {
    const { cluster, scene, url } = await open(t);
    const [node, database] = [scene.ids.next('nod'), databaseOf(url)];
    await cluster.publishMessages({ environment: LIVE, node, number: 0, lost: 0, text: '[]' });
    await server.query('UPDATE stream_batches SET published_at = published_at - 60001', database);
    await cluster.publishMessages({ environment: LIVE, node, number: 1, lost: 0, text: '[]' });
    const numbers = (await cluster.readMessages({ environment: LIVE, node: null, after: -1 })).map(
      ({ number }) => number,
    );
    assert.deepEqual(numbers, [1]);
    await cluster.dropMessages();
    assert.deepEqual(await server.query('SELECT number::int FROM stream_batches', database), [{ number: 1 }]);
  });

  it('a connection that is lost is replaced, and its listener told that something may have been missed', async (t) => {
    const { cluster } = await open(t);
    let gap = Promise.withResolvers<void>();
    const heard = Promise.withResolvers<string>();
    cluster.listen({ onAnnounced: heard.resolve, onGap: () => gap.resolve() });
    await gap.promise;
    gap = Promise.withResolvers<void>();
    await server.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'postrider-announcements'`,
    );
    await gap.promise;
    await cluster.announce('again');
    assert.equal(await heard.promise, 'again');
  });

  it('a connection that was forgotten on the way is noticed without a word from it, and replaced', async (t) => {
    const { url, cluster } = await open(t);
    const proxy = await startProxy(url);
    atEnd(t, () => proxy.close());
    const other = await openPostgresStore(storeOptions(proxy.url, { clock: hastyClock }));
    atEnd(t, () => other.close());
    let [onGap, onHeard] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const listener = { onAnnounced: (text: string) => onHeard.resolve(text), onGap: () => onGap.resolve() };
    other.cluster!.listen(listener);
    await onGap.promise;
    [onGap, onHeard] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    proxy.forget();
    await onGap.promise;
    await new Promise<void>((resolve) => cluster.listen({ onAnnounced: () => undefined, onGap: resolve }));
    await cluster.announce('heard again');
    assert.equal(await onHeard.promise, 'heard again');
  });

  it('a connection that was forgotten does not keep a store from being closed', async (t) => {
    const { url } = await open(t);
    const proxy = await startProxy(url);
    atEnd(t, () => proxy.close());
    const other = await openPostgresStore(storeOptions(proxy.url));
    await new Promise<void>((resolve) => other.cluster!.listen({ onAnnounced: () => undefined, onGap: resolve }));
    proxy.forget();
    await other.close();
  });
});
