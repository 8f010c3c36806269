// Writers whose clock is behind that of who wrote before: up to a second on two nodes, or an hour where a machine's
// clock was set. What a row tells of its last change does not step back.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HOUR, LIVE, START, die, result, retryAt, succeed } from '../scene.ts';
import { createOperation, stepOf } from './operations.ts';
import type { MakeScene } from './suite.ts';

const BEHIND = START - HOUR;

export function testClocks(makeScene: MakeScene): void {
  describe('a clock that is behind', () => {
    it('sets no updated_at of a destination back', async (t) => {
      const scene = await makeScene(t);
      const { store } = scene;
      const id = await scene.createDestination();
      const { id: delivery } = await scene.acceptOne(id);
      const updatedAt = async () => (await store.readDestination({ environment: LIVE, id }))!.updatedAt;
      const change = { name: 'later' };
      const changed = await store.updateDestination({ environment: LIVE, id, change, now: BEHIND });
      assert.deepEqual([changed!.updatedAt, await updatedAt()], [START, START]);
      scene.now = BEHIND;
      const gone = { ...die('gone'), pauseDestination: 'gone' } as const;
      assert.deepEqual((await scene.record(result(delivery, 0, gone))).paused, [id]);
      assert.equal(await updatedAt(), START);
    });

    it('sets no updated_at of a delivery back', async (t) => {
      const scene = await makeScene(t);
      const { store } = scene;
      const destination = await scene.createDestination();
      const [one, other] = [await scene.acceptOne(destination), await scene.acceptOne(destination)];
      scene.now = BEHIND;
      const assertKept = async ({ id } = one) => assert.equal((await scene.read(id))!.updatedAt, START);
      const rev = async () => (await scene.open(destination, one.id)).rev;

      await scene.record(result(one.id, 0, retryAt(START + HOUR)));
      await assertKept();
      const retried = await store.retryDelivery(scene.sendAgain(one.id));
      assert.equal(retried.result === 'scheduled' && retried.delivery.updatedAt, START);
      await assertKept();
      await scene.record(result(one.id, await rev(), null));
      await assertKept();
      await scene.record(result(one.id, await rev(), die()));
      await assertKept();
      await scene.record(result(one.id, 0, null));
      await assertKept();
      assert.ok((await store.replayDead(scene.sendAgain(one.id))).result === 'scheduled');
      await assertKept();
      await scene.record(result(one.id, await rev(), succeed()));
      await assertKept();

      const { eventId } = other;
      while ((await store.eraseBodies({ cutoff: START + 1, now: BEHIND, budgetMs: 100 })).more);
      assert.equal((await store.readEvent({ environment: LIVE, id: eventId }))!.body, null);
      assert.equal((await scene.read(other.id))!.deadReason, 'expired');
      await assertKept(other);
      await scene.record(result(other.id, 0, succeed()));
      assert.equal((await scene.read(other.id))!.status, 'succeeded');
      await assertKept(other);
    });

    it('sets no updated_at of an operation back', async (t) => {
      const scene = await makeScene(t);
      const { store } = scene;
      const operation = await createOperation(scene);
      scene.now = BEHIND;
      const stepped = await store.advanceOperation(stepOf(scene, operation));
      assert.ok(stepped.result === 'advanced');
      assert.equal(stepped.operation.updatedAt, START);
      const cancelled = await store.changeOperation({
        environment: LIVE,
        id: operation.id,
        action: 'cancel',
        now: BEHIND,
      });
      assert.deepEqual(await store.readOperation({ environment: LIVE, id: operation.id }), cancelled);
      assert.ok(typeof cancelled !== 'string');
      assert.equal(cancelled.updatedAt, START);
    });
  });
}
