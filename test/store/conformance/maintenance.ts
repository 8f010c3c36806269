// Erasing, pruning, ending: in steps of any size, what is too old goes and nothing else.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StepReport } from '../../../src/store/store.ts';
import { DAY, HOUR, LIVE, START, TEST, die, result, retryAt, succeed, type Scene } from '../scene.ts';
import type { MakeScene } from './suite.ts';

export function testMaintenance(makeScene: MakeScene): void {
  describe('erasing bodies', () => testErase(makeScene));
  describe('pruning rows', () => testPrune(makeScene));
  describe('ending what a deleted destination left', () => testEndDeleted(makeScene));
  it('stats count unfinished deliveries by environment', async (t) => {
    const scene = await makeScene(t);
    const [live, test] = [await scene.createDestination(), await scene.createDestination({ environment: TEST })];
    const { id } = await scene.acceptOne(live);
    await scene.acceptOne(live);
    await scene.accept([test, test, test], { environment: TEST });
    await scene.record(result(id, 0, succeed()));
    const { unfinished, storedBytes } = await scene.store.readStats();
    assert.deepEqual(
      unfinished.sort((a, b) => a.environment - b.environment),
      [
        { environment: LIVE, count: 1 },
        { environment: TEST, count: 3 },
      ],
    );
    assert.ok(storedBytes === null || storedBytes > 0);
  });
  it('the largest backlogs are found, the largest first', async (t) => {
    const scene = await makeScene(t);
    const [small, large, test] = [
      await scene.createDestination(),
      await scene.createDestination(),
      await scene.createDestination({ environment: TEST }),
    ];
    await scene.accept([small, small, large, large, large]);
    await scene.accept([test, test, test, test], { environment: TEST });
    const { id } = await scene.acceptOne(small);
    await scene.record(result(id, 0, succeed()));
    const backlogs = [
      { destinationId: test, environment: TEST, unfinished: 4 },
      { destinationId: large, environment: LIVE, unfinished: 3 },
      { destinationId: small, environment: LIVE, unfinished: 2 },
    ];
    assert.deepEqual(await scene.store.findBacklogs({ min: 1, limit: 10 }), backlogs);
    assert.deepEqual(await scene.store.findBacklogs({ min: 1, limit: 1 }), backlogs.slice(0, 1));
    assert.deepEqual(await scene.store.findBacklogs({ min: 3, limit: 10 }), backlogs.slice(0, 2));
    await scene.store.deleteDestination({ environment: LIVE, id: large, now: START });
    assert.deepEqual(await scene.store.findBacklogs({ min: 3, limit: 10 }), backlogs.slice(0, 1));
  });
}

/** With no time at all every step does the least it can. Returns how many it took. */
async function untilDone(step: () => Promise<StepReport>): Promise<number> {
  for (let steps = 1; ; steps++) {
    if (!(await step()).more) return steps;
    assert.ok(steps < 10_000, 'it comes to an end');
  }
}

const erase = (scene: Scene, cutoff: number, budgetMs = 0) =>
  untilDone(() => scene.store.eraseBodies({ cutoff, now: scene.now, budgetMs }));
const prune = (scene: Scene, cutoff: number, budgetMs = 0) =>
  untilDone(() => scene.store.pruneRows({ cutoff, now: scene.now, budgetMs }));

function testErase(makeScene: MakeScene): void {
  it('takes the bodies below the cutoff and ends what is unfinished of their events', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const old = await scene.accept(Array.from({ length: 6 }, () => destination));
    const [pending, retrying, succeeded, dead, forced, forcedAfterSuccess] = old.deliveries.map((one) => one.id);
    await scene.record(
      result(retrying!, 0, retryAt(START + DAY)),
      result(succeeded!, 0, succeed()),
      result(dead!, 0, die()),
      result(forcedAfterSuccess!, 0, succeed()),
    );
    await scene.store.retryDelivery(scene.sendAgain(forced!));
    await scene.store.retryDelivery(scene.sendAgain(forcedAfterSuccess!));
    scene.pass(DAY);
    const young = await scene.accept([destination]);
    assert.equal(await scene.unfinishedCount(), 5);

    await erase(scene, START + 1);
    assert.equal((await scene.store.readEvent({ environment: LIVE, id: old.id }))!.body, null);
    assert.notEqual((await scene.store.readEvent({ environment: LIVE, id: young.id }))!.body, null);
    const states = await Promise.all(old.deliveries.map(async ({ id }) => (await scene.read(id))!));
    const endings = states.map((delivery) => delivery.deadReason ?? delivery.status);
    assert.deepEqual(endings, ['expired', 'expired', 'succeeded', 'exhausted', 'expired', 'succeeded']);
    const arrived = states.at(-1)!;
    assert.deepEqual([arrived.completedAt, arrived.nextAttemptAt, arrived.attemptCount], [START, null, 1]);
    const failed = result(pending!, 0, retryAt(START + DAY));
    assert.deepEqual((await scene.record(failed)).outcomes, [{ result: 'conflict', current: 'finished' }]);
    assert.equal((await scene.read(pending!))!.completedAt, scene.now);
    assert.equal(await scene.unfinishedCount(), 1);
  });

  it('leaves what was on the wire meanwhile to its result: what arrived has succeeded, once', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const [{ id }, other] = [await scene.acceptOne(destination), await scene.acceptOne(destination)];
    await scene.record(result(id, 0, retryAt(START + HOUR)));
    scene.pass(DAY);
    await erase(scene, START + 1);
    assert.equal((await scene.read(id))!.deadReason, 'expired');
    const late = result(id, 1, succeed(START + DAY));
    assert.deepEqual((await scene.record(late)).outcomes, [{ result: 'recorded' }]);
    const delivery = (await scene.read(id))!;
    const { status, deadReason, completedAt, nextAttemptAt, attemptCount, responseCodes } = delivery;
    assert.deepEqual([status, deadReason, completedAt, nextAttemptAt], ['succeeded', null, START + DAY, null]);
    assert.deepEqual([attemptCount, responseCodes.length, delivery.attempts.length], [2, 2, 2]);
    assert.deepEqual(
      (await scene.list({ status: 'dead' })).rows.map((row) => row.id),
      [other.id],
    );
    const again = await scene.record(result(id, 1, succeed()));
    assert.deepEqual(again.outcomes, [{ result: 'conflict', current: 'finished' }]);
    assert.equal(await scene.unfinishedCount(), 0, 'it was counted out once');
    await scene.acceptOne(destination);
    assert.equal(await scene.unfinishedCount(), 1);
  });

  it('goes by the age of the event, also for replayed deliveries', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const event = await scene.accept([]);
    scene.pass(DAY);
    const replay = [scene.delivery(destination)];
    const version = await scene.configVersion();
    const request = { environment: LIVE, eventId: event.id, configVersion: version, deliveries: replay };
    await scene.store.replayEvent({ ...request, now: scene.now, bodyCutoff: 0 });
    await erase(scene, START + 1);
    assert.equal((await scene.read(replay[0]!.id))!.deadReason, 'expired');
  });

  it('reaches the end of an event with many deliveries in small steps', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const event = await scene.accept(Array.from({ length: 205 }, () => destination));
    for (const { id } of event.deliveries.slice(0, 100)) await scene.record(result(id, 0, succeed()));
    assert.ok((await erase(scene, START + 1)) > 5);
    assert.equal(await scene.unfinishedCount(), 0);
    const expired = await scene.list({ status: 'dead', eventId: event.id });
    assert.equal(expired.rows.length, 100);
  });

  it('leaves a deleted destination’s deliveries as they read: ended by the deletion', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const { id } = await scene.acceptOne(destination);
    await scene.store.deleteDestination({ environment: LIVE, id: destination, now: START });
    const before = await scene.read(id);
    scene.pass(DAY);
    await erase(scene, START + 1);
    assert.deepEqual(await scene.read(id), before);
    await untilDone(() => scene.store.endDeletedDeliveries({ now: scene.now, budgetMs: 0 }));
    assert.deepEqual(await scene.read(id), before);
  });
}

function testPrune(makeScene: MakeScene): void {
  it('removes an event below the cutoff with all that hangs on it, of every environment', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const test = await scene.createDestination({ environment: TEST });
    const old = await scene.accept(Array.from({ length: 25 }, () => destination));
    const oldTest = await scene.accept([test], { environment: TEST });
    for (let rev = 0; rev < 60; rev++) await scene.record(result(old.deliveries[0]!.id, rev, retryAt(START)));
    await scene.record(result(old.deliveries[1]!.id, 0, succeed()));
    scene.pass(DAY);
    const young = await scene.accept([destination]);
    await prune(scene, START + 1);
    assert.equal(await scene.store.readEvent({ environment: LIVE, id: old.id }), null);
    assert.equal(await scene.store.readEvent({ environment: TEST, id: oldTest.id }), null);
    assert.deepEqual(
      (await scene.list()).rows.map((row) => row.id),
      [young.deliveries[0]!.id],
    );
    assert.equal(await scene.unfinishedCount(), 1, 'what was unfinished counts no more');
    assert.equal((await scene.store.readEvent({ environment: LIVE, id: young.id }))!.deliveries.length, 1);
    assert.equal(await prune(scene, START + 1), 1, 'then there is nothing left to do');
  });

  it('forgets idempotency keys when they expire, not with their event', async (t) => {
    const scene = await makeScene(t);
    const key = { idempotencyKey: 'k', idempotency: { fingerprint: new Uint8Array(32), expiresAt: START + DAY } };
    const first = await scene.accept([], key);
    scene.pass(HOUR);
    await prune(scene, START + 1);
    const [again] = await scene.store.acceptEvents([await scene.event([], key)]);
    assert.equal(again!.result === 'duplicate' && again!.eventId, first.id);
    scene.pass(DAY);
    await prune(scene, START + 1);
    const late = await scene.event([], { ...key, createdAt: START });
    assert.equal((await scene.store.acceptEvents([late]))[0]!.result, 'accepted', 'the key is gone, not only expired');
  });

  it('keeps a deleted destination for as long as a delivery needs it, and a follower may ask', async (t) => {
    const scene = await makeScene(t);
    const [used, unused] = [await scene.createDestination(), await scene.createDestination()];
    const { id } = await scene.acceptOne(used);
    const trouble = { destinationId: used, failingSince: START, failureCount: 1, heldUntil: null };
    await scene.store.recordResults({ results: [], health: [trouble], now: START });
    const version = await scene.configVersion();
    const deletedAt = scene.pass(DAY);
    for (const one of [used, unused])
      await scene.store.deleteDestination({ environment: LIVE, id: one, now: deletedAt });
    const late = { ...trouble, destinationId: unused };
    await scene.store.recordResults({ results: [], health: [late], now: scene.now });
    const tombstones = async () => {
      const changes = await scene.store.readChanges({ environment: LIVE, after: version, limit: 10 });
      return changes.deletedDestinations;
    };
    await prune(scene, START);
    assert.equal((await scene.read(id))!.destinationId, used);
    await prune(scene, deletedAt);
    assert.deepEqual(await tombstones(), [used, unused], 'the deletions are not older than the cutoff');
    await prune(scene, deletedAt + 1);
    assert.deepEqual(await tombstones(), []);
    assert.equal(await scene.read(id), null);
  });

  it('keeps it also when the clock was set back, and counts none of its deliveries twice', async (t) => {
    const scene = await makeScene(t);
    const [deleted, kept] = [await scene.createDestination(), await scene.createDestination()];
    scene.pass(DAY);
    const { id } = await scene.acceptOne(deleted);
    await scene.acceptOne(kept);
    await scene.store.deleteDestination({ environment: LIVE, id: deleted, now: START });
    await prune(scene, START + 1);
    assert.equal((await scene.read(id))!.deadReason, 'destination_deleted');
    assert.equal(await scene.unfinishedCount(), 1);
    await prune(scene, scene.now + 1);
    assert.equal(await scene.unfinishedCount(), 0);
    await scene.acceptOne(kept);
    assert.equal(await scene.unfinishedCount(), 1);
  });
}

function testEndDeleted(makeScene: MakeScene): void {
  it('writes into the rows what reads show, destination by destination, in small steps', async (t) => {
    const scene = await makeScene(t);
    const destinations = await Promise.all(Array.from({ length: 3 }, () => scene.createDestination()));
    const event = await scene.accept(destinations.flatMap((id) => Array.from({ length: 60 }, () => id)));
    const kept = destinations[2]!;
    scene.pass(HOUR);
    for (const id of destinations.slice(0, 2))
      await scene.store.deleteDestination({ environment: LIVE, id, now: scene.now });
    assert.equal(await scene.unfinishedCount(), 60, 'they count no more at once');
    const before = await scene.store.readDelivery({ environment: LIVE, id: event.deliveries[0]!.id });
    scene.pass(HOUR);
    const steps = await untilDone(() => scene.store.endDeletedDeliveries({ now: scene.now, budgetMs: 0 }));
    assert.ok(steps > 3);
    assert.deepEqual(await scene.store.readDelivery({ environment: LIVE, id: event.deliveries[0]!.id }), before);
    assert.equal(await scene.unfinishedCount(), 60);
    const left = await scene.list({ status: 'pending' });
    assert.ok(left.rows.every((row) => row.destinationId === kept));
    const done = await scene.store.endDeletedDeliveries({ now: scene.now, budgetMs: 1_000 });
    assert.deepEqual(done, { changed: 0, more: false, ended: [] });
  });
}
