// Manual retry and DLQ replay: what they do to each kind of delivery, and what they refuse.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeliveryStatus } from '../../../src/model/delivery.ts';
import type { DeliveryId, DestinationId } from '../../../src/model/id.ts';
import type { Decision } from '../../../src/model/transitions.ts';
import { DAY, HOUR, LIVE, START, TEST, die, fallBack, result, retryAt, succeed, type Scene } from '../scene.ts';
import type { MakeScene } from './suite.ts';

export function testSendingAgain(makeScene: MakeScene): void {
  describe('a forced attempt', () => testRetry(makeScene));
  describe('the replay of a dead delivery', () => testReplayDead(makeScene));
}

/** A delivery in each status, how it came there, and what it falls back to. */
const HISTORIES: { status: DeliveryStatus; decision: Decision | null; scheduledAt: number | null }[] = [
  { status: 'pending', decision: null, scheduledAt: START },
  { status: 'retrying', decision: retryAt(START + HOUR, 4), scheduledAt: START + HOUR },
  { status: 'succeeded', decision: succeed(START + 1), scheduledAt: null },
  { status: 'dead', decision: die('exhausted', START + 1), scheduledAt: null },
];

async function make(scene: Scene, decision: Decision | null): Promise<{ destination: DestinationId; id: DeliveryId }> {
  const destination = await scene.createDestination();
  const { id } = await scene.acceptOne(destination);
  if (decision !== null) await scene.record(result(id, 0, decision));
  return { destination, id };
}

function testRetry(makeScene: MakeScene): void {
  for (const { status, decision, scheduledAt } of HISTORIES) {
    it(`makes a ${status} delivery retrying, due at once; failing, it is what it was`, async (t) => {
      const scene = await makeScene(t);
      const { destination, id } = await make(scene, decision);
      const before = (await scene.read(id))!;
      const retried = await scene.store.retryDelivery({ ...scene.sendAgain(id), now: scene.pass(HOUR) });
      assert.ok(retried.result === 'scheduled');
      const { status: shown, nextAttemptAt, updatedAt, deadReason, completedAt } = retried.delivery;
      assert.deepEqual([shown, nextAttemptAt, updatedAt], ['retrying', scene.now, scene.now]);
      assert.deepEqual([deadReason, completedAt], [null, null], 'how it ended is not shown while it is open');
      const open = await scene.open(destination, id);
      assert.deepEqual(retried.open, open);
      assert.deepEqual([open.dueAt, open.fallbackStatus, open.scheduledAt], [0, status, scheduledAt]);
      assert.equal(await scene.unfinishedCount(), 1);

      const goesOn = status === 'pending' || status === 'retrying';
      const decided = { ...fallBack(status, before), dueAt: goesOn ? scheduledAt : null };
      const recorded = await scene.record(
        result(id, open.rev, { ...decided, schedulePosition: open.schedulePosition }),
      );
      assert.deepEqual(recorded.outcomes, [{ result: 'recorded' }]);
      const {
        attempts: _a,
        attemptCount: _b,
        retryCount: _c,
        responseCodes: _d,
        updatedAt: _e,
        ...after
      } = (await scene.read(id))!;
      const { attempts: _f, attemptCount: _g, retryCount: _h, responseCodes: _i, updatedAt: _j, ...was } = before;
      assert.deepEqual(after, was);
      assert.equal(await scene.unfinishedCount(), goesOn ? 1 : 0);
    });
  }

  it('that succeeds ends the delivery, whatever it was', async (t) => {
    const scene = await makeScene(t);
    const { destination, id } = await make(scene, die('gone'));
    await scene.store.retryDelivery(scene.sendAgain(id));
    const { rev } = await scene.open(destination, id);
    await scene.record(result(id, rev, succeed(START + HOUR)));
    const { status, deadReason, completedAt } = (await scene.read(id))!;
    assert.deepEqual([status, deadReason, completedAt], ['succeeded', null, START + HOUR]);
  });

  it('is not asked for twice: the second request changes nothing', async (t) => {
    const scene = await makeScene(t);
    const { destination, id } = await make(scene, null);
    await scene.store.retryDelivery(scene.sendAgain(id));
    const open = await scene.open(destination, id);
    const again = await scene.store.retryDelivery({ ...scene.sendAgain(id), now: scene.pass(HOUR) });
    assert.ok(again.result === 'scheduled');
    assert.equal(again.open, null);
    assert.equal(again.delivery.updatedAt, START);
    assert.deepEqual(await scene.open(destination, id), open);
  });

  it('is refused for what is unknown, foreign, too old, or has no destination any more', async (t) => {
    const scene = await makeScene(t);
    const { destination, id } = await make(scene, null);
    const retry = async (overrides: object) =>
      (await scene.store.retryDelivery({ ...scene.sendAgain(id), ...overrides })).result;
    assert.equal(await retry({ id: scene.ids.next('dlv') }), 'not_found');
    assert.equal(await retry({ environment: TEST }), 'not_found');
    assert.equal(await retry({ bodyCutoff: START + 1 }), 'too_old');
    assert.equal(await retry({ bodyCutoff: START }), 'scheduled');
    await scene.store.eraseBodies({ cutoff: START + 1, now: START + DAY, budgetMs: 1_000 });
    assert.equal(await retry({}), 'too_old');
    await scene.store.deleteDestination({ environment: LIVE, id: destination, now: START });
    assert.equal(await retry({}), 'destination_deleted');
  });
}

function testReplayDead(makeScene: MakeScene): void {
  it('gives it a fresh schedule and keeps its history', async (t) => {
    const scene = await makeScene(t);
    const { destination, id } = await make(scene, { ...die(), schedulePosition: 9 });
    const replayed = await scene.store.replayDead({ ...scene.sendAgain(id), now: scene.pass(HOUR) });
    assert.ok(replayed.result === 'scheduled');
    const { status, deadReason, completedAt, nextAttemptAt, attemptCount, responseCodes } = replayed.delivery;
    assert.deepEqual([status, deadReason, completedAt, nextAttemptAt], ['pending', null, null, scene.now]);
    assert.deepEqual([attemptCount, responseCodes], [1, [200]]);
    const open = await scene.open(destination, id);
    assert.deepEqual(replayed.open, open);
    assert.deepEqual([open.dueAt, open.schedulePosition, open.fallbackStatus, open.rev], [scene.now, 0, null, 2]);
    assert.equal(await scene.unfinishedCount(), 1);
  });

  it('is refused for what is not dead, unknown, foreign, too old, or has no destination any more', async (t) => {
    const scene = await makeScene(t);
    for (const { status, decision } of HISTORIES.slice(0, 3)) {
      const { id } = await make(scene, decision);
      assert.equal((await scene.store.replayDead(scene.sendAgain(id))).result, 'not_found', status);
    }
    const { destination, id } = await make(scene, die());
    const replay = async (overrides: object) =>
      (await scene.store.replayDead({ ...scene.sendAgain(id), ...overrides })).result;
    assert.equal(await replay({ id: scene.ids.next('dlv') }), 'not_found');
    assert.equal(await replay({ environment: TEST }), 'not_found');
    assert.equal(await replay({ bodyCutoff: START + 1 }), 'too_old');
    await scene.store.deleteDestination({ environment: LIVE, id: destination, now: START });
    assert.equal(await replay({}), 'destination_deleted');
  });
}
