// Accepting and replaying events: all of it or nothing, each event for itself, keys taken once.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { born, bornDead } from '../../../src/model/transitions.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import type { DeliveryId } from '../../../src/model/id.ts';
import { SCHEDULED_PAGE, type NewEvent, type Refill } from '../../../src/store/store.ts';
import { DAY, HOUR, LIVE, START, TEST, firstOf, type Scene } from '../scene.ts';
import type { MakeScene } from './suite.ts';

export function testAccepting(makeScene: MakeScene): void {
  describe('accepting', () => testAccept(makeScene));
  describe('idempotency keys', () => testIdempotency(makeScene));
  describe('replaying an event', () => testReplay(makeScene));
}

function testAccept(makeScene: MakeScene): void {
  it('stores the event, its body to the byte, and its deliveries in their order', async (t) => {
    const scene = await makeScene(t);
    const [one, other] = [await scene.createDestination(), await scene.createDestination()];
    const pool = Buffer.from('…{"n":1.00,"s":"\\ud800"}…');
    const body = pool.subarray(3, pool.length - 3);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const event = await scene.event([one, other, one], { body, type: 'a.b', occurredAt: START - DAY, traceparent });
    assert.deepEqual(await scene.store.acceptEvents([event]), [{ result: 'accepted', backlogFull: [] }]);
    const { id, environment, type, idempotencyKey, occurredAt, createdAt } = event;
    const stored = await scene.store.readEvent({ environment: LIVE, id });
    assert.deepEqual(stored!.event, { id, environment, type, idempotencyKey, occurredAt, createdAt, traceparent });
    assert.equal(Buffer.from(stored!.body!).toString(), body.toString());
    const scheduled = event.deliveries.map((delivery) => ({ ...delivery, status: 'pending' }));
    assert.deepEqual(stored!.deliveries, scheduled);
    assert.deepEqual(await scene.store.readScheduledDeliveries(firstOf(LIVE, id)), scheduled);
    assert.equal(await scene.store.readEvent({ environment: TEST, id }), null);
    assert.deepEqual(await scene.store.readScheduledDeliveries(firstOf(TEST, id)), []);
    const [payload] = await scene.store.readPayloads([scene.ids.next('evt'), id]);
    assert.deepEqual([payload!.id, payload!.type, payload!.occurredAt], [id, 'a.b', START - DAY]);
    assert.equal(payload!.traceparent, traceparent);
    assert.equal(Buffer.from(payload!.body).toString(), body.toString());
  });

  it('keeps an event that matches nothing, and an empty batch is no trouble', async (t) => {
    const scene = await makeScene(t);
    const event = await scene.accept([]);
    assert.deepEqual((await scene.store.readEvent({ environment: LIVE, id: event.id }))!.deliveries, []);
    assert.deepEqual(await scene.store.acceptEvents([]), []);
  });

  it('makes deliveries that are due at once, in their environment only', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const { id, eventId } = await scene.acceptOne(destination);
    assert.equal(await scene.store.readDelivery({ environment: TEST, id }), null);
    const { attempts, ...delivery } = (await scene.read(id))!;
    assert.deepEqual(attempts, []);
    assert.deepEqual(delivery, {
      id,
      eventId,
      eventType: 'order.paid',
      destinationId: destination,
      subscriptionId: delivery.subscriptionId,
      status: 'pending',
      deadReason: null,
      origin: 'event',
      attemptCount: 0,
      retryCount: 0,
      responseCodes: [],
      nextAttemptAt: START,
      createdAt: START,
      updatedAt: START,
      completedAt: null,
    });
  });

  it('makes deliveries that stand where transitions.ts has new ones', async (t) => {
    const scene = await makeScene(t, { maxBacklogPerDestination: 1 });
    const destination = await scene.createDestination();
    const { id } = await scene.acceptOne(destination);
    const request = { destinationId: destination, dueBy: START, dueFrom: 0, limit: 1, exclude: [] };
    const [{ deliveries }] = (await scene.store.refill([request])) as [Refill];
    const state = born(START);
    assert.deepEqual({ ...deliveries[0], ...state }, deliveries[0]);
    assert.deepEqual([deliveries[0]!.id, deliveries[0]!.rev, deliveries[0]!.attemptCount], [id, 0, 0]);
    const dead = (await scene.read((await scene.acceptOne(destination)).id))!;
    const { status, deadReason, completedAt, dueAt } = bornDead(START);
    const found = [dead.status, dead.deadReason, dead.completedAt, dead.nextAttemptAt, dead.updatedAt];
    assert.deepEqual(found, [status, deadReason, completedAt, dueAt, START]);
  });

  it('leaves out what was matched against an older configuration, and only that', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const stale = await scene.event([destination]);
    const foreign = await scene.event([], { environment: TEST });
    await scene.createSubscription(destination);
    const current = await scene.event([destination]);
    const results = await scene.store.acceptEvents([stale, current, foreign]);
    assert.deepEqual(
      results.map((one) => one.result),
      ['stale', 'accepted', 'accepted'],
    );
    assert.equal(await scene.store.readEvent({ environment: LIVE, id: stale.id }), null);
    assert.equal(await scene.read(stale.deliveries[0]!.id), null);
  });

  it('lets deliveries be born dead beyond a destination’s backlog, until it has room', async (t) => {
    const scene = await makeScene(t, { maxBacklogPerDestination: 2 });
    const [full, other] = [await scene.createDestination(), await scene.createDestination()];
    const event = await scene.event([full, full, full, other]);
    const tooMany = event.deliveries[2]!.id;
    assert.deepEqual(await scene.store.acceptEvents([event]), [{ result: 'accepted', backlogFull: [tooMany] }]);
    const { status, deadReason, completedAt, nextAttemptAt } = (await scene.read(tooMany))!;
    assert.deepEqual([status, deadReason, completedAt, nextAttemptAt], ['dead', 'backlog_full', START, null]);
    assert.equal(await scene.unfinishedCount(), 3);
    await scene.store.replayDead(scene.sendAgain(tooMany));
    const again = await scene.accept([full]);
    assert.equal((await scene.read(again.deliveries[0]!.id))!.deadReason, 'backlog_full');
  });
}

function withKey(key: string, overrides: Partial<NewEvent> = {}): Partial<NewEvent> {
  const fingerprint = systemRandom.bytes(32);
  return { idempotencyKey: key, idempotency: { fingerprint, expiresAt: START + DAY }, ...overrides };
}

function testIdempotency(makeScene: MakeScene): void {
  it('belong to the first event, also within a batch, each environment for itself', async (t) => {
    const scene = await makeScene(t);
    const first = await scene.event([], withKey('k'));
    const second = await scene.event([], withKey('k'));
    const foreign = await scene.event([], withKey('k', { environment: TEST }));
    const other = await scene.event([], withKey('K'));
    const { fingerprint } = first.idempotency!;
    const duplicate = { result: 'duplicate', eventId: first.id, fingerprint };
    const accepted = { result: 'accepted', backlogFull: [] };
    const results = await scene.store.acceptEvents([first, second, foreign, other]);
    assert.deepEqual(results, [accepted, duplicate, accepted, accepted]);
    assert.deepEqual(await scene.store.acceptEvents([await scene.event([], withKey('k'))]), [duplicate]);
    assert.equal(await scene.store.readEvent({ environment: LIVE, id: second.id }), null);
    assert.equal((await scene.store.readEvent({ environment: LIVE, id: first.id }))!.event.idempotencyKey, 'k');
  });

  it('name the event that holds them', async (t) => {
    const scene = await makeScene(t);
    const event = await scene.accept([], withKey('k'));
    const holderOf = (key: string, environment: number, now: number) =>
      scene.store.readKeyHolder({ environment, key, now });
    const holder = await holderOf('k', LIVE, START + DAY - 1);
    assert.equal(holder?.eventId, event.id);
    assert.ok(Buffer.from(holder.fingerprint).equals(event.idempotency!.fingerprint));
    assert.equal(await holderOf('k', LIVE, START + DAY), null);
    assert.equal(await holderOf('k', TEST, START), null);
    assert.equal(await holderOf('K', LIVE, START), null);
  });

  it('are free again when their window ends, to the millisecond', async (t) => {
    const scene = await makeScene(t);
    const accept = async (expiresAt: number) => {
      const idempotency = { fingerprint: systemRandom.bytes(32), expiresAt };
      const event = await scene.event([], { idempotencyKey: 'k', idempotency });
      return { event, result: (await scene.store.acceptEvents([event]))[0]!.result };
    };
    assert.equal((await accept(START + DAY)).result, 'accepted');
    scene.pass(DAY - 1);
    assert.equal((await accept(START + 2 * DAY)).result, 'duplicate');
    scene.pass(1);
    const taken = await accept(START + 2 * DAY);
    assert.equal(taken.result, 'accepted');
    const [again] = await scene.store.acceptEvents([await scene.event([], withKey('k'))]);
    assert.equal(again!.result === 'duplicate' && again!.eventId, taken.event.id);
  });

  it('are not taken by an event that is stale', async (t) => {
    const scene = await makeScene(t);
    const stale = await scene.event([], withKey('k'));
    await scene.createDestination();
    assert.equal((await scene.store.acceptEvents([stale]))[0]!.result, 'stale');
    assert.equal((await scene.store.acceptEvents([await scene.event([], withKey('k'))]))[0]!.result, 'accepted');
  });
}

async function replayRequest(scene: Scene, event: NewEvent, to: `dst_${string}`[]) {
  return {
    environment: LIVE,
    eventId: event.id,
    configVersion: await scene.configVersion(),
    deliveries: to.map((id) => scene.delivery(id)),
    now: scene.now,
    bodyCutoff: scene.now - 30 * DAY,
  };
}

function testReplay(makeScene: MakeScene): void {
  it('adds deliveries that the first answer does not list', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const event = await scene.accept([destination]);
    scene.pass(HOUR);
    const request = await replayRequest(scene, event, [destination, destination]);
    assert.deepEqual(await scene.store.replayEvent(request), { result: 'replayed', backlogFull: [] });
    const stored = await scene.store.readEvent({ environment: LIVE, id: event.id });
    const ids = [...event.deliveries, ...request.deliveries].map((delivery) => delivery.id);
    assert.deepEqual(
      stored!.deliveries.map((delivery) => delivery.id),
      ids,
    );
    const first = await scene.store.readScheduledDeliveries(firstOf(LIVE, event.id));
    assert.deepEqual(
      first.map((delivery) => delivery.id),
      ids.slice(0, 1),
    );
    const replayed = (await scene.read(ids[1]!))!;
    assert.deepEqual([replayed.origin, replayed.createdAt, replayed.nextAttemptAt], ['replay', scene.now, scene.now]);
  });

  it('of very many leaves the list of the newest 10,000, and the whole first answer, page by page', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const event = await scene.accept(Array.from({ length: 6_000 }, () => destination));
    const request = await replayRequest(
      scene,
      event,
      Array.from({ length: 5_000 }, () => destination),
    );
    await scene.store.replayEvent(request);
    const all = [...event.deliveries, ...request.deliveries].map(({ id }) => id);
    const shown = (await scene.store.readEvent({ environment: LIVE, id: event.id }))!.deliveries.map(({ id }) => id);
    assert.deepEqual(shown, all.slice(1_000, 1_000 + SCHEDULED_PAGE));

    const readFrom = async (which: 'first' | 'all', last: DeliveryId | null): Promise<DeliveryId[]> => {
      const ids: DeliveryId[] = [];
      for (let after = last; ; after = ids.at(-1)!) {
        const page = await scene.store.readScheduledDeliveries({ ...firstOf(LIVE, event.id), which, after });
        ids.push(...page.map(({ id }) => id));
        if (page.length < SCHEDULED_PAGE) return ids;
      }
    };
    assert.deepEqual(await readFrom('all', shown.at(-1)!), all.slice(1_000 + SCHEDULED_PAGE));
    assert.deepEqual(await readFrom('first', null), all.slice(0, 6_000));
  });

  it('refuses what is stale, unknown, foreign or too old', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const event = await scene.accept([destination]);
    const request = await replayRequest(scene, event, [destination]);
    const replay = async (overrides: Partial<typeof request>) =>
      (await scene.store.replayEvent({ ...request, ...overrides })).result;
    assert.equal(await replay({ environment: TEST }), 'not_found');
    assert.equal(await replay({ eventId: scene.ids.next('evt') }), 'not_found');
    assert.equal(await replay({ bodyCutoff: START + 1 }), 'too_old');
    assert.equal(await replay({ bodyCutoff: START, deliveries: [] }), 'replayed', 'not older than the cutoff');
    assert.equal(await replay({ configVersion: request.configVersion - 1 }), 'stale');
    await scene.store.eraseBodies({ cutoff: START + 1, now: START, budgetMs: 1_000 });
    assert.equal(await replay({}), 'too_old', 'its body is erased');
  });

  it('counts towards the backlog', async (t) => {
    const scene = await makeScene(t, { maxBacklogPerDestination: 2 });
    const destination = await scene.createDestination();
    const event = await scene.accept([destination]);
    const request = await replayRequest(scene, event, [destination, destination]);
    const backlogFull = [request.deliveries[1]!.id];
    assert.deepEqual(await scene.store.replayEvent(request), { result: 'replayed', backlogFull });
  });
}
