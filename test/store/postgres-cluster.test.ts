// Who is alive and who owns what, on real PostgreSQL: a node that was given up finds out, and nobody takes what another
// has, whatever meets whatever.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { SHARD_COUNT, idShard } from '../../src/model/id.ts';
import type { NodeId } from '../../src/model/id.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { ClusterStore, NewNode } from '../../src/store/store.ts';
import { atEnd } from './data-dirs.ts';
import { Databases, storeOptions } from './postgres/databases.ts';
import { startProxy } from './postgres/proxy.ts';
import { databaseOf, startPostgres } from './postgres/server.ts';
import type { PostgresServer } from './postgres/server.ts';
import { LIVE, Scene } from './scene.ts';

/** What we wait for by our own clock passes ten times as fast. */
const HASTE = 10;
const hastyClock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * HASTE,
  setTimer: (callback, delayMs) => systemClock.setTimer(callback, delayMs / HASTE),
  afterTurn: (callback) => systemClock.afterTurn(callback),
};

const ALL = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

describe('the cluster on PostgreSQL', () => {
  let server: PostgresServer;
  let databases: Databases;
  before(async () => {
    server = await startPostgres(['fsync=off']);
    databases = new Databases(server);
  });
  after(() => server.stop());

  const open = async (t: Parameters<typeof atEnd>[0]) => {
    const url = await databases.make(t);
    const store = await openPostgresStore(storeOptions(url));
    atEnd(t, () => store.close());
    const scene = new Scene(store);
    const add = async (leaseMs = 60_000): Promise<NodeId> => {
      const node: NewNode = { id: scene.ids.next('nod'), name: 'a\u0000b', version: '1', address: 'a:1', leaseMs };
      await store.cluster!.addNode(node);
      return node.id;
    };
    return { url, store, cluster: store.cluster!, scene, add };
  };

  /** A lease of nothing has run out when the database's clock has moved on. */
  const removed = async (cluster: ClusterStore): Promise<NodeId[]> => {
    for (;;) {
      const ids = await cluster.removeExpired();
      if (ids.length > 0) return ids;
    }
  };

  it('a node renews its lease and sees all there is', async (t) => {
    const { cluster, add } = await open(t);
    const id = await add();
    const view = (await cluster.renewLease(id))!;
    assert.deepEqual(
      view.nodes.map((node) => [node.id, node.name, node.isLeaving]),
      [[id, 'a\u0000b', false]],
    );
    assert.equal(view.nodes[0]!.heartbeatAt, view.now);
    assert.deepEqual(
      view.owners,
      ALL.map(() => null),
    );
    await cluster.setLeaving(id);
    assert.equal((await cluster.readCluster()).nodes[0]!.isLeaving, true);
  });

  it('of nodes that want the same shards each gets others', async (t) => {
    const { cluster, add } = await open(t);
    const nodes = await Promise.all([add(), add(), add()]);
    const taken = await Promise.all(nodes.map((node) => cluster.takeShards({ node, shards: ALL })));
    assert.equal(taken.flat().length, SHARD_COUNT);
    assert.deepEqual(new Set(taken.flat()), new Set(ALL));
    const { owners } = await cluster.readCluster();
    for (const [i, node] of nodes.entries()) for (const shard of taken[i]!) assert.equal(owners[shard], node);
  });

  it('one that was silent for too long is removed with all it had, and finds out', async (t) => {
    const { cluster, add } = await open(t);
    const [silent, other] = [await add(0), await add()];
    await cluster.takeShards({ node: silent, shards: ALL });
    assert.deepEqual(await removed(cluster), [silent]);
    assert.equal(await cluster.renewLease(silent), null);
    assert.deepEqual(await cluster.takeShards({ node: silent, shards: ALL }), []);
    assert.equal((await cluster.takeShards({ node: other, shards: ALL })).length, SHARD_COUNT);
    await cluster.freeShards({ node: silent, shards: ALL });
    assert.deepEqual(new Set((await cluster.readCluster()).owners), new Set([other]), 'it frees nothing of others');
  });

  it('each owner has an epoch of its own', async (t) => {
    const { cluster, add, url } = await open(t);
    const [first, second] = [await add(), await add()];
    await cluster.takeShards({ node: first, shards: [7] });
    await cluster.freeShards({ node: first, shards: [7] });
    await cluster.takeShards({ node: second, shards: [7] });
    const rows = await server.query('SELECT epoch FROM shards WHERE shard = 7', databaseOf(url));
    assert.equal(Number(rows[0]!['epoch']), 2);
  });

  it('a change of a destination waits for the owner of its shard, and nobody else', async (t) => {
    const { cluster, store, scene, add } = await open(t);
    const [owner, other] = [await add(), await add()];
    await cluster.takeShards({ node: owner, shards: ALL });
    const id = await scene.createDestination();
    assert.equal(await cluster.isChangeWaiting(id), false);
    await store.updateDestination({ environment: LIVE, id, change: { status: 'paused' }, now: scene.now });
    assert.deepEqual((await cluster.renewLease(owner))!.changedEnvironments, [LIVE]);
    assert.deepEqual((await cluster.renewLease(other))!.changedEnvironments, []);
    const version = await scene.configVersion();
    const acknowledge = (node: NodeId, upTo: number) =>
      cluster.acknowledgeChanges({ node, environment: LIVE, version: upTo });
    assert.deepEqual(await acknowledge(other, version), []);
    assert.deepEqual(await acknowledge(owner, version - 1), [], 'it has not seen it yet');
    assert.equal(await cluster.isChangeWaiting(id), true);
    assert.deepEqual(await acknowledge(owner, version), [id]);
    assert.equal(await cluster.isChangeWaiting(id), false);
    await store.deleteDestination({ environment: LIVE, id, now: scene.now });
    assert.equal(await cluster.isChangeWaiting(id), true);
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

  it('what one node announces every node hears, and it is told when it may have missed something', async (t) => {
    const { url, cluster } = await open(t);
    const other = await openPostgresStore(storeOptions(url));
    atEnd(t, () => other.close());
    const heard: string[] = [];
    const gaps: (() => void)[] = [];
    const nextGap = (): Promise<void> => new Promise((resolve) => gaps.push(resolve));
    const onGap = (): void => gaps.shift()?.();
    let arrived = (): void => undefined;
    const onAnnounced = (text: string): void => {
      heard.push(text);
      arrived();
    };
    const listening = [nextGap(), nextGap()];
    cluster.listen({ onAnnounced: () => undefined, onGap });
    other.cluster!.listen({ onAnnounced, onGap });
    await Promise.all(listening);
    const first = new Promise<void>((resolve) => (arrived = resolve));
    await cluster.announce('x'.repeat(7_999));
    await first;
    assert.deepEqual(heard, ['x'.repeat(7_999)]);
    const again = [nextGap(), nextGap()];
    await server.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'postrider-announcements'`,
    );
    await Promise.all(again);
    const second = new Promise<void>((resolve) => (arrived = resolve));
    await cluster.announce('again');
    await second;
    assert.equal(heard.at(-1), 'again');
  });

  it('a connection that was forgotten on the way is noticed without a word from it, and replaced', async (t) => {
    const { url, cluster } = await open(t);
    const proxy = await startProxy(url);
    atEnd(t, () => proxy.close());
    const errors: Error[] = [];
    const other = await openPostgresStore(
      storeOptions(proxy.url, { clock: hastyClock, onConnectionError: (error) => errors.push(error) }),
    );
    atEnd(t, () => other.close());
    let [onGap, onHeard] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const listener = { onAnnounced: (text: string) => onHeard.resolve(text), onGap: () => onGap.resolve() };
    other.cluster!.listen(listener);
    await onGap.promise;
    [onGap, onHeard] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    proxy.forget();
    await onGap.promise;
    assert.match(errors[0]!.message, /not answered/);
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
