// The cluster part of a store, for every adapter that has one: who is alive, who owns what, which changes wait for
// whom, and what nodes tell one another. A node that was given up finds out, and nobody takes what another node has.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { SHARD_COUNT, ALL_SHARDS, type DestinationId, type NodeId } from '../../../src/model/id.ts';
import { createIds } from '../../../src/runtime/ids.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import type { ClusterStore, MessageBatch } from '../../../src/store/cluster-store.ts';
import { LIVE } from '../scene.ts';

export type ClusterStage = {
  cluster: ClusterStore;
  /** What another node is given of the same store. */
  joinOther: () => Promise<ClusterStore>;
  /** In the environment LIVE, all three. */
  createDestination: () => Promise<DestinationId>;
  pauseDestination: (id: DestinationId) => Promise<unknown>;
  deleteDestination: (id: DestinationId) => Promise<unknown>;
  configVersion: () => Promise<number>;
};

type MakeStage = (t: TestContext) => Promise<ClusterStage>;

const ids = createIds(systemClock, systemRandom);

export async function addNode(cluster: ClusterStore, leaseMs = 60_000): Promise<NodeId> {
  const id = ids.next('nod');
  await cluster.addNode({ id, name: 'a\u0000b', version: '1', address: 'a:1', leaseMs });
  return id;
}

export function testCluster(name: string, makeStage: MakeStage): void {
  describe(name, () => {
    testLeases(makeStage);
    testShards(makeStage);
    testChanges(makeStage);
    testAnnouncing(makeStage);
    testMessages(makeStage);
    testReserving(makeStage);
  });
}

function testLeases(makeStage: MakeStage): void {
  it('a node renews its lease and sees all there is', async (t) => {
    const { cluster } = await makeStage(t);
    const id = await addNode(cluster);
    const view = (await cluster.renewLease(id))!;
    assert.deepEqual(
      view.nodes.map((node) => [node.id, node.name, node.isLeaving]),
      [[id, 'a\u0000b', false]],
    );
    assert.equal(view.nodes[0]!.heartbeatAt, view.now);
    assert.deepEqual(
      view.owners,
      ALL_SHARDS.map(() => null),
    );
    await cluster.setLeaving(id);
    assert.equal((await cluster.readCluster()).nodes[0]!.isLeaving, true);
  });

  /** A lease of nothing has run out when the store's clock has moved on. */
  const removed = async (cluster: ClusterStore): Promise<NodeId[]> => {
    for (;;) {
      const nodes = await cluster.removeExpired();
      if (nodes.length > 0) return nodes;
    }
  };

  it('one that was silent for too long is removed with all it had, and finds out', async (t) => {
    const { cluster } = await makeStage(t);
    const [silent, other] = [await addNode(cluster, 0), await addNode(cluster)];
    await cluster.takeShards({ node: silent, shards: ALL_SHARDS });
    assert.deepEqual(await removed(cluster), [silent]);
    assert.equal(await cluster.renewLease(silent), null);
    assert.deepEqual(await cluster.takeShards({ node: silent, shards: ALL_SHARDS }), []);
    assert.equal((await cluster.takeShards({ node: other, shards: ALL_SHARDS })).length, SHARD_COUNT);
    await cluster.freeShards({ node: silent, shards: ALL_SHARDS });
    assert.deepEqual(new Set((await cluster.readCluster()).owners), new Set([other]), 'it frees nothing of others');
  });

  it('one that goes leaves all it had, and may come back', async (t) => {
    const { cluster } = await makeStage(t);
    const id = await addNode(cluster);
    await cluster.takeShards({ node: id, shards: ALL_SHARDS });
    const [node] = (await cluster.readCluster()).nodes;
    await cluster.setLeaving(id);
    await cluster.removeNode(id);
    const { nodes, owners } = await cluster.readCluster();
    assert.deepEqual([nodes, new Set(owners)], [[], new Set([null])]);
    await cluster.addNode(node!);
    const view = (await cluster.renewLease(id))!;
    assert.deepEqual([view.nodes[0]!.isLeaving, new Set(view.owners)], [false, new Set([null])]);
  });
}

function testShards(makeStage: MakeStage): void {
  it('of nodes that want the same shards each gets others', async (t) => {
    const { cluster } = await makeStage(t);
    const nodes = await Promise.all([addNode(cluster), addNode(cluster), addNode(cluster)]);
    const taken = await Promise.all(nodes.map((node) => cluster.takeShards({ node, shards: ALL_SHARDS })));
    assert.equal(taken.flat().length, SHARD_COUNT);
    assert.deepEqual(new Set(taken.flat()), new Set(ALL_SHARDS));
    const { owners } = await cluster.readCluster();
    for (const [i, node] of nodes.entries()) for (const shard of taken[i]!) assert.equal(owners[shard], node);
  });
}

function testChanges(makeStage: MakeStage): void {
  it('a change of a destination waits for the owner of its shard, and nobody else', async (t) => {
    const { cluster, configVersion, ...stage } = await makeStage(t);
    const [owner, other] = [await addNode(cluster), await addNode(cluster)];
    await cluster.takeShards({ node: owner, shards: ALL_SHARDS });
    const id = await stage.createDestination();
    assert.equal(await cluster.isChangeWaiting(id), false);
    await stage.pauseDestination(id);
    assert.deepEqual((await cluster.renewLease(owner))!.changedEnvironments, [LIVE]);
    assert.deepEqual((await cluster.renewLease(other))!.changedEnvironments, []);
    const version = await configVersion();
    const acknowledge = (node: NodeId, upTo: number) =>
      cluster.acknowledgeChanges({ node, environment: LIVE, version: upTo });
    assert.deepEqual(await acknowledge(other, version), []);
    assert.deepEqual(await acknowledge(owner, version - 1), [], 'it has not seen it yet');
    assert.equal(await cluster.isChangeWaiting(id), true);
    assert.deepEqual(await acknowledge(owner, version), [id]);
    assert.equal(await cluster.isChangeWaiting(id), false);
    assert.deepEqual((await cluster.renewLease(owner))!.changedEnvironments, []);
    await stage.deleteDestination(id);
    assert.equal(await cluster.isChangeWaiting(id), true);
  });

  it('a change that no owner has acknowledged waits for the next one', async (t) => {
    const { cluster, configVersion, ...stage } = await makeStage(t);
    const [first, next] = [await addNode(cluster), await addNode(cluster)];
    await cluster.takeShards({ node: first, shards: ALL_SHARDS });
    const id = await stage.createDestination();
    await stage.pauseDestination(id);
    const version = await configVersion();
    await cluster.removeNode(first);
    assert.deepEqual(await cluster.acknowledgeChanges({ node: first, environment: LIVE, version }), []);
    assert.equal(await cluster.isChangeWaiting(id), true);
    await cluster.takeShards({ node: next, shards: ALL_SHARDS });
    assert.deepEqual((await cluster.renewLease(next))!.changedEnvironments, [LIVE]);
    assert.deepEqual(await cluster.acknowledgeChanges({ node: next, environment: LIVE, version }), [id]);
  });
}

function testAnnouncing(makeStage: MakeStage): void {
  it('what one node announces every node hears, this one too, once it has been told that it listens', async (t) => {
    const { cluster, joinOther } = await makeStage(t);
    const heard = await Promise.all([cluster, await joinOther()].map(listenTo));
    const text = 'x'.repeat(7_999);
    await cluster.announce(text);
    assert.deepEqual(await Promise.all(heard.map(({ first }) => first)), [text, text]);
  });
}

/** Resolves when it listens. `first`: what it hears first. */
async function listenTo(store: ClusterStore): Promise<{ first: Promise<string> }> {
  const [listening, heard] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  store.listen({ onAnnounced: heard.resolve, onGap: listening.resolve });
  await listening.promise;
  return { first: heard.promise };
}

function testReserving(makeStage: MakeStage): void {
  it('a destination is one node’s to test, and another’s when the time is over', async (t) => {
    const { cluster, joinOther } = await makeStage(t);
    const other = await joinOther();
    await Promise.all([cluster, other].map(listenTo));
    const [one, another] = [ids.next('dst'), ids.next('dst')];
    const reserve = (store: ClusterStore, destinationId: DestinationId, forMs = 60_000): Promise<boolean> =>
      store.reserveTest({ destinationId, forMs });
    assert.deepEqual([await reserve(cluster, one), await reserve(other, one)], [true, false]);
    assert.deepEqual([await reserve(other, another), await reserve(cluster, another)], [true, false]);
    const brief = ids.next('dst');
    assert.equal(await reserve(cluster, brief, 1), true);
    while (!(await reserve(other, brief)));
  });
}

function testMessages(makeStage: MakeStage): void {
  it('messages of a node are read in their order, those of all nodes too, each environment for itself', async (t) => {
    const { cluster, joinOther } = await makeStage(t);
    const other = await joinOther();
    const [first, second] = [ids.next('nod'), ids.next('nod')];
    const batch = (node: NodeId, number: number, environment = LIVE): MessageBatch => {
      return { environment, node, number, lost: number, text: `[${number},"\u20ac\\u0000"]` };
    };
    await cluster.publishMessages(batch(first, 0));
    await other.publishMessages(batch(second, 7));
    await cluster.publishMessages(batch(first, 1));
    await cluster.publishMessages(batch(first, 2, LIVE + 1));
    const read = (node: NodeId | null, after: number): Promise<MessageBatch[]> =>
      other.readMessages({ environment: LIVE, node, after });
    assert.deepEqual(await read(first, -1), [batch(first, 0), batch(first, 1)]);
    assert.deepEqual(await read(first, 0), [batch(first, 1)]);
    assert.deepEqual(await read(second, 7), []);
    const all = await read(null, -1);
    assert.deepEqual(new Set(all), new Set([batch(first, 0), batch(second, 7), batch(first, 1)]));
    assert.ok(all.findIndex(({ number }) => number === 0) < all.findIndex(({ number }) => number === 1));
  });
}
