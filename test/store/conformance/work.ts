// Finding work: the sweep names every destination with work, the refill its next deliveries in order.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeliveryId, DestinationId } from '../../../src/model/id.ts';
import type { SweepPage } from '../../../src/store/store.ts';
import { HOUR, LIVE, MINUTE, START, result, retryAt, succeed, type Scene } from '../scene.ts';
import type { MakeScene } from './suite.ts';

export function testWork(makeScene: MakeScene): void {
  describe('the sweep', () => testSweep(makeScene));
  describe('the refill', () => testRefill(makeScene));
}

async function sweepAll(scene: Scene, limit: number) {
  const found = [];
  for (let after: string | null = null, isFirst = true; isFirst || after !== null; isFirst = false) {
    const page: SweepPage = await scene.store.sweep({ after, limit });
    assert.ok(page.destinations.length <= limit);
    found.push(...page.destinations);
    after = page.next;
  }
  return found;
}

function testSweep(makeScene: MakeScene): void {
  it('names every destination with unfinished deliveries once, with its earliest due time', async (t) => {
    const scene = await makeScene(t);
    const [idle, busy, later, forced] = await Promise.all(Array.from({ length: 4 }, () => scene.createDestination()));
    const { id: finished } = await scene.acceptOne(idle!);
    await scene.record(result(finished, 0, succeed()));
    for (let i = 0; i < 3; i++, scene.pass(MINUTE)) await scene.acceptOne(busy!);
    const { id: postponed } = await scene.acceptOne(later!);
    await scene.record(result(postponed, 0, retryAt(START + HOUR)));
    const { id: retried } = await scene.acceptOne(forced!);
    await scene.store.retryDelivery(scene.sendAgain(retried));
    for (const limit of [1, 2, 100]) {
      const found = new Map((await sweepAll(scene, limit)).map((one) => [one.destinationId, one.dueAt]));
      assert.deepEqual(
        found,
        new Map([
          [busy, START],
          [later, START + HOUR],
          [forced, 0],
        ]),
      );
    }
  });

  it('names paused destinations and not deleted ones', async (t) => {
    const scene = await makeScene(t);
    const [paused, deleted] = [await scene.createDestination(), await scene.createDestination()];
    await scene.acceptOne(paused);
    await scene.acceptOne(deleted);
    await scene.store.updateDestination({ environment: LIVE, id: paused, change: { status: 'paused' }, now: START });
    await scene.store.deleteDestination({ environment: LIVE, id: deleted, now: START });
    assert.deepEqual(
      (await sweepAll(scene, 10)).map((one) => one.destinationId),
      [paused],
    );
  });
}

async function refill(
  scene: Scene,
  destinationId: DestinationId,
  options: {
    dueBy?: number;
    limit?: number;
    dueFrom?: number;
    exclude?: DeliveryId[];
  },
) {
  const request = { destinationId, dueBy: scene.now, dueFrom: 0, limit: 100, exclude: [], ...options };
  const [found] = await scene.store.refill([request]);
  assert.equal(found!.destinationId, destinationId);
  return { ids: found!.deliveries.map((delivery) => delivery.id), nextDueAt: found!.nextDueAt };
}

function testRefill(makeScene: MakeScene): void {
  it('finds what is due by the clock, though the ids of it are from a later time', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const event = await scene.accept([destination], { dueAt: START - MINUTE });
    const replayed = scene.delivery(destination);
    const about = { environment: LIVE, eventId: event.id, configVersion: await scene.configVersion() };
    await scene.store.replayEvent({ ...about, deliveries: [replayed], now: START - MINUTE + 1, bodyCutoff: 0 });
    const request = { destinationId: destination, dueFrom: 0, limit: 10, exclude: [] };
    const [found] = await scene.store.refill([{ ...request, dueBy: START - MINUTE + 1 }]);
    assert.deepEqual(
      found!.deliveries.map(({ id, dueAt }) => [id, dueAt]),
      [
        [event.deliveries[0]!.id, START - MINUTE],
        [replayed.id, START - MINUTE + 1],
      ],
    );
  });

  it('returns all that deciding needs', async (t) => {
    const scene = await makeScene(t);
    const destinationId = await scene.createDestination();
    const { id, eventId } = await scene.acceptOne(destinationId);
    const fresh = { id, environment: LIVE, eventId, destinationId, rev: 0, status: 'pending', dueAt: START };
    const ending = { deadReason: null, completedAt: null };
    const nothing = { ...ending, scheduledAt: null, fallbackStatus: null, schedulePosition: 0, attemptCount: 0 };
    assert.deepEqual(await scene.open(destinationId, id), { ...fresh, ...nothing });
    await scene.record(result(id, 0, retryAt(START + HOUR, 3)));
    const retrying = { ...fresh, rev: 1, status: 'retrying', dueAt: START + HOUR };
    const tried = { ...nothing, schedulePosition: 3, attemptCount: 1 };
    assert.deepEqual(await scene.open(destinationId, id), { ...retrying, ...tried });
    await scene.store.retryDelivery(scene.sendAgain(id));
    const waiting = { scheduledAt: START + HOUR, fallbackStatus: 'retrying' };
    assert.deepEqual(await scene.open(destinationId, id), { ...retrying, ...tried, ...waiting, rev: 2, dueAt: 0 });
  });

  it('goes by due time, then by age; what was forced comes first', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const ids: DeliveryId[] = [];
    for (let i = 0; i < 5; i++) ids.push((await scene.acceptOne(destination)).id);
    await scene.record(result(ids[0]!, 0, retryAt(START + 2)), result(ids[1]!, 0, retryAt(START + 1)));
    await scene.record(result(ids[2]!, 0, succeed()));
    await scene.store.retryDelivery(scene.sendAgain(ids[4]!));
    scene.pass(MINUTE);
    const order = [ids[4], ids[3], ids[1], ids[0]];
    assert.deepEqual(await refill(scene, destination, {}), { ids: order, nextDueAt: null });
    assert.deepEqual(await refill(scene, destination, { limit: 2 }), { ids: order.slice(0, 2), nextDueAt: START + 1 });
  });

  it('leaves out what is in memory and what is not due, and says when the next is', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const ids: DeliveryId[] = [];
    for (let i = 0; i < 4; i++, scene.pass(1)) ids.push((await scene.acceptOne(destination)).id);
    const due = (dueBy: number, exclude: DeliveryId[], limit = 100) =>
      refill(scene, destination, { dueBy, exclude, limit });
    assert.deepEqual(await due(START + 1, []), { ids: ids.slice(0, 2), nextDueAt: START + 2 });
    assert.deepEqual(await due(START + 1, [ids[0]!, ids[2]!]), { ids: [ids[1]], nextDueAt: START + 3 });
    assert.deepEqual(await due(START - 1, [ids[0]!]), { ids: [], nextDueAt: START + 1 });
    assert.deepEqual(await due(START + 9, ids), { ids: [], nextDueAt: null });
    assert.deepEqual(await due(START + 9, ids.slice(1), 0), { ids: [], nextDueAt: START });
  });

  it('is asked from when on to look: only what is due from then on comes, and what was forced', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const ids: DeliveryId[] = [];
    for (let i = 0; i < 4; i++, scene.pass(MINUTE)) ids.push((await scene.acceptOne(destination)).id);
    await scene.store.retryDelivery(scene.sendAgain(ids[3]!));
    const dueFrom = START + MINUTE;
    const found = await refill(scene, destination, { dueFrom });
    assert.deepEqual(found, { ids: [ids[3], ids[1], ids[2]], nextDueAt: null });
    const one = await refill(scene, destination, { dueFrom, limit: 1 });
    assert.deepEqual(one, { ids: [ids[3]], nextDueAt: dueFrom });
  });

  it('answers several destinations at once, in order, also those without work', async (t) => {
    const scene = await makeScene(t);
    const [one, two, deleted] = await Promise.all(Array.from({ length: 3 }, () => scene.createDestination()));
    const { id } = await scene.acceptOne(two!);
    await scene.acceptOne(deleted!);
    await scene.store.deleteDestination({ environment: LIVE, id: deleted!, now: START });
    const asked = [two!, one!, deleted!, scene.ids.next('dst')];
    const requests = asked.map((destinationId) => ({ destinationId, dueBy: START, dueFrom: 0, limit: 9, exclude: [] }));
    const found = await scene.store.refill(requests);
    assert.deepEqual(
      found.map((refilled) => refilled.destinationId),
      asked,
    );
    assert.deepEqual(
      found.map((refilled) => refilled.deliveries.map((delivery) => delivery.id)),
      [[id], [], [], []],
    );
  });

  it('finds no payload once the body is erased', async (t) => {
    const scene = await makeScene(t);
    const [old, young] = [await scene.accept([]), (scene.pass(HOUR), await scene.accept([]))];
    await scene.store.eraseBodies({ cutoff: START + 1, now: scene.now, budgetMs: 1_000 });
    const payloads = await scene.store.readPayloads([old.id, young.id]);
    assert.deepEqual(
      payloads.map((payload) => payload.id),
      [young.id],
    );
  });
}
