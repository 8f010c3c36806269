// Following the configuration: whoever applies the changes page by page has at the end what is stored.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { DestinationWithKeys } from '../../../src/model/destination.ts';
import type { Subscription } from '../../../src/model/subscription.ts';
import type { Store } from '../../../src/store/store.ts';
import { LIVE, START, TEST, type Scene } from '../scene.ts';
import type { MakeScene } from './suite.ts';

export function testFollowing(makeScene: MakeScene, propertyRuns: number): void {
  describe('following the configuration', () => {
    it('a fresh load shows what is there and not what was deleted', async (t) => {
      const scene = await makeScene(t);
      const { store } = scene;
      const [kept, deleted] = [await scene.createDestination(), await scene.createDestination()];
      const [keptSubscription, deletedSubscription] = [
        await scene.createSubscription(kept),
        await scene.createSubscription(kept, 'order.gone'),
      ];
      await scene.createDestination({ environment: TEST });
      await store.deleteSubscription({ environment: LIVE, id: deletedSubscription });
      await store.deleteDestination({ environment: LIVE, id: deleted, now: START });
      const changes = await store.readChanges({ environment: LIVE, after: 0, limit: 100 });
      assert.equal(changes.version, changes.currentVersion);
      assert.deepEqual(
        changes.destinations.map((row) => row.id),
        [kept],
      );
      assert.deepEqual(
        changes.subscriptions.map((row) => row.id),
        [keptSubscription],
      );
      assert.deepEqual([changes.deletedDestinations, changes.deletedSubscriptions], [[], []]);
    });

    it('a page holds whole versions, at least one, and about the limit', async (t) => {
      const scene = await makeScene(t);
      for (let i = 0; i < 5; i++) await scene.createDestination();
      const page = await scene.store.readChanges({ environment: LIVE, after: 1, limit: 2 });
      assert.deepEqual([page.version, page.currentVersion, page.destinations.length], [3, 5, 2]);
      const last = await scene.store.readChanges({ environment: LIVE, after: 3, limit: 2 });
      assert.deepEqual([last.version, last.destinations.length], [5, 2]);
      const none = await scene.store.readChanges({ environment: LIVE, after: 5, limit: 2 });
      assert.deepEqual([none.version, none.destinations.length], [5, 0]);
    });

    it('any history, followed with any page size from any point, leads to what is stored', async (t) => {
      const step = fc.oneof(
        fc.constant({ kind: 'create' as const }),
        fc.record({ kind: fc.constant('delete' as const), nth: fc.nat(20) }),
        fc.record({ kind: fc.constant('update' as const), nth: fc.nat(20) }),
        fc.record({ kind: fc.constant('subscribe' as const), nth: fc.nat(20) }),
        fc.record({ kind: fc.constant('unsubscribe' as const), nth: fc.nat(20) }),
        fc.constant({ kind: 'follow' as const }),
      );
      const history = fc.array(step, { maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(history, fc.integer({ min: 1, max: 5 }), async (steps, limit) => {
          const scene = await makeScene(t);
          const follower = createFollower(scene.store, limit);
          for (const one of steps) {
            if (one.kind === 'follow') await follower.follow();
            else await change(scene, one.kind, 'nth' in one ? one.nth : 0);
          }
          await follower.follow();
          const fresh = createFollower(scene.store, 1_000);
          await fresh.follow();
          assert.deepEqual(follower.state(), fresh.state());
          await scene.store.close();
        }),
        { numRuns: propertyRuns },
      );
    });
  });
}

type Change = 'create' | 'delete' | 'update' | 'subscribe' | 'unsubscribe';

async function change(scene: Scene, kind: Change, nth: number): Promise<void> {
  const { store } = scene;
  if (kind === 'create') {
    await scene.createDestination();
    return;
  }
  const page = { environment: LIVE, before: null, limit: 100 };
  const destinations = (await store.listDestinations({ ...page, status: null })).rows;
  const subscriptions = (await store.listSubscriptions({ ...page, destinationId: null })).rows;
  const id = destinations[nth % destinations.length]?.id;
  const subscriptionId = subscriptions[nth % subscriptions.length]?.id;
  if (kind === 'unsubscribe' && subscriptionId !== undefined) {
    await store.deleteSubscription({ environment: LIVE, id: subscriptionId });
  }
  if (id === undefined) return;
  if (kind === 'delete') await store.deleteDestination({ environment: LIVE, id, now: START });
  if (kind === 'update')
    await store.updateDestination({ environment: LIVE, id, change: { name: `${nth}` }, now: START });
  if (kind === 'subscribe') await scene.createSubscription(id);
}

/** The obvious follower: maps, and a deleted destination takes its subscriptions along. */
function createFollower(store: Store, limit: number) {
  const destinations = new Map<string, DestinationWithKeys>();
  const subscriptions = new Map<string, Subscription>();
  let version = 0;
  return {
    async follow(): Promise<void> {
      for (;;) {
        const changes = await store.readChanges({ environment: LIVE, after: version, limit });
        for (const one of changes.destinations) destinations.set(one.id, one);
        for (const one of changes.subscriptions) subscriptions.set(one.id, one);
        for (const id of changes.deletedSubscriptions) subscriptions.delete(id);
        for (const id of changes.deletedDestinations) {
          destinations.delete(id);
          for (const one of subscriptions.values()) if (one.destinationId === id) subscriptions.delete(one.id);
        }
        const isDone = changes.version === changes.currentVersion;
        assert.ok(isDone || changes.version > version, 'a page moves on');
        version = changes.version;
        if (isDone) return;
      }
    },
    state: () => ({
      version,
      destinations: [...destinations.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
      subscriptions: [...subscriptions.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    }),
  };
}
