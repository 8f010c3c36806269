// Operations: one at a time of a kind, each step all or nothing with how far it has come, and the running ones found.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DestinationId, EventId } from '../../../src/model/id.ts';
import type { Operation } from '../../../src/model/operation.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import type { OperationStep, OperationStepResult } from '../../../src/store/store.ts';
import { DAY, HOUR, LIVE, START, TEST, die, result, retryAt, succeed, type Scene } from '../scene.ts';
import type { MakeScene } from './suite.ts';

export function testOperations(makeScene: MakeScene): void {
  describe('an operation', () => testLife(makeScene));
  describe('a step of an operation', () => testSteps(makeScene));
  describe('whom an event has reached', () => testSucceeded(makeScene));
}

function operationOf(scene: Scene, overrides: Partial<Operation> = {}): Operation {
  return {
    id: scene.ids.next('op'),
    environment: LIVE,
    request: {
      kind: 'dlq_replay',
      destinationId: null,
      eventType: null,
      deadReason: null,
      since: null,
      until: null,
      perSecond: 100,
    },
    status: 'running',
    rev: 0,
    position: '{}',
    total: 3,
    done: 0,
    failed: 0,
    skipped: 0,
    createdAt: scene.now,
    updatedAt: scene.now,
    finishedAt: null,
    createdBy: scene.ids.next('key'),
    ...overrides,
  };
}

const MANY = { unfinishedMax: 100 };

export async function createOperation(scene: Scene, overrides: Partial<Operation> = {}): Promise<Operation> {
  const operation = operationOf(scene, overrides);
  const created = await scene.store.createOperation({ operation, identity: systemRandom.bytes(32) }, MANY);
  assert.equal(created.result, 'created');
  return operation;
}

export function stepOf(scene: Scene, operation: Operation, overrides: Partial<OperationStep> = {}): OperationStep {
  const now = scene.now;
  const nothing = { counted: 0, failed: 0, sendAgain: null, replays: null };
  return { operation, now, position: 'next', end: null, bodyCutoff: 0, ...nothing, ...overrides };
}

function advanced(stepped: OperationStepResult): Extract<OperationStepResult, { result: 'advanced' }> {
  assert.ok(stepped.result === 'advanced', stepped.result);
  return stepped;
}

const countsOf = ({ total, done, failed, skipped }: Operation) => [total, done, failed, skipped];

function testLife(makeScene: MakeScene): void {
  it('is read back as it was made, in its environment alone', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const made = [
      await createOperation(scene),
      await createOperation(scene),
      await createOperation(scene, { environment: TEST }),
    ];
    for (const { environment, id } of made) {
      assert.deepEqual(
        await store.readOperation({ environment, id }),
        made.find((one) => one.id === id),
      );
      assert.equal(await store.readOperation({ environment: environment === LIVE ? TEST : LIVE, id }), null);
    }
    const first = await store.listOperations({ environment: LIVE, before: null, limit: 1 });
    assert.deepEqual(first, { rows: [made[1]], next: made[1]!.id });
    const second = await store.listOperations({ environment: LIVE, before: first.next, limit: 1 });
    assert.deepEqual(second, { rows: [made[0]], next: null });
    const running = await store.readRunningOperations();
    assert.deepEqual(
      running,
      made.map(({ id, environment, rev }) => ({ id, environment, rev })),
    );
  });

  it('has no equal while it has not ended, and only so many beside it', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const identity = systemRandom.bytes(32);
    const make = (limits = MANY, environment = LIVE, of = identity) =>
      store.createOperation({ operation: operationOf(scene, { environment }), identity: of }, limits);
    const all = await Promise.all([make(), make(), make()]);
    assert.deepEqual(all.map((one) => one.result).sort(), ['created', 'in_progress', 'in_progress']);
    const [{ id }] = (await store.listOperations({ environment: LIVE, before: null, limit: 9 })).rows as [Operation];
    for (const one of all) if (one.result === 'in_progress') assert.equal(one.id, id);
    assert.equal((await make(MANY, TEST)).result, 'created');
    assert.equal((await make({ unfinishedMax: 1 }, LIVE, systemRandom.bytes(32))).result, 'over_limit');
    await store.changeOperation({ environment: LIVE, id, action: 'pause', now: scene.now });
    assert.deepEqual(await make(), { result: 'in_progress', id });
    await store.changeOperation({ environment: LIVE, id, action: 'cancel', now: scene.now });
    assert.equal((await make({ unfinishedMax: 1 })).result, 'created');
  });

  it('is paused, resumed and cancelled; what it is already it stays', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const { id } = await createOperation(scene);
    const tell = async (action: 'cancel' | 'pause' | 'resume') => {
      const changed = await store.changeOperation({ environment: LIVE, id, action, now: scene.pass(1) });
      if (typeof changed !== 'string') assert.deepEqual(await store.readOperation({ environment: LIVE, id }), changed);
      return typeof changed === 'string' ? changed : [changed.status, changed.updatedAt - START, changed.finishedAt];
    };
    assert.deepEqual(await tell('pause'), ['paused', 1, null]);
    assert.deepEqual(await tell('pause'), ['paused', 1, null]);
    assert.deepEqual(await store.readRunningOperations(), []);
    assert.deepEqual(await tell('resume'), ['running', 3, null]);
    assert.deepEqual(await tell('cancel'), ['cancelled', 4, START + 4]);
    assert.deepEqual(await tell('cancel'), ['cancelled', 4, START + 4]);
    assert.equal(await tell('resume'), 'ended');
    const foreign = { environment: TEST, id, action: 'cancel', now: scene.now } as const;
    assert.equal(await store.changeOperation(foreign), 'not_found');
  });

  it('goes with the rows, once it has ended', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const [ended, running] = [await createOperation(scene), await createOperation(scene)];
    await store.advanceOperation(stepOf(scene, ended, { end: 'done' }));
    const prune = async (cutoff: number) => {
      while ((await store.pruneRows({ cutoff, now: scene.now, budgetMs: 100 })).more);
      const { rows } = await store.listOperations({ environment: LIVE, before: null, limit: 9 });
      return rows.map(({ id }) => id);
    };
    scene.pass(DAY);
    assert.deepEqual(await prune(START), [running.id, ended.id]);
    assert.deepEqual(await prune(START + 1), [running.id]);
  });
}

function testSteps(makeScene: MakeScene): void {
  it('sends dead ones again, and counts those that are not dead any more, or cannot be sent, as skipped', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const [destination, deleted] = [await scene.createDestination(), await scene.createDestination()];
    const old = await scene.acceptOne(destination);
    scene.pass(DAY);
    const { deliveries } = await scene.accept([destination, destination, destination, deleted]);
    const [dead, dying, alive, lost] = deliveries.map(({ id }) => id);
    await scene.record(...[old.id, dead!, dying!, lost!].map((id) => result(id, 0, die('exhausted', scene.now))));
    await store.deleteDestination({ environment: LIVE, id: deleted, now: scene.now });
    const operation = await createOperation(scene, { total: 6 });
    const ids = [old.id, dead!, dying!, alive!, lost!, scene.ids.next('dlv')];
    const before = await scene.unfinishedCount();
    const step = stepOf(scene, operation, {
      sendAgain: { how: 'replay_dead', ids },
      bodyCutoff: START + 1,
      now: scene.pass(HOUR),
    });
    const stepped = advanced(await store.advanceOperation(step));
    assert.deepEqual(countsOf(stepped.operation), [6, 2, 0, 4]);
    assert.deepEqual(new Set(stepped.open.map(({ id }) => id)), new Set([dead, dying]));
    for (const open of stepped.open) assert.deepEqual(await scene.open(destination, open.id), open);
    assert.deepEqual(stepped.open[0], { ...stepped.open[0], status: 'pending', dueAt: scene.now, schedulePosition: 0 });
    assert.equal(await scene.unfinishedCount(), before + 2);
    assert.deepEqual(await store.readOperation({ environment: LIVE, id: operation.id }), stepped.operation);
    const { rev, position, updatedAt } = stepped.operation;
    assert.deepEqual([rev, position, updatedAt], [1, 'next', scene.now]);
  });

  it('forces those that wait for a retry, and no others', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const destination = await scene.createDestination();
    const { deliveries } = await scene.accept(Array.from({ length: 5 }, () => destination));
    const [waiting, succeeded, pending, forced, dead] = deliveries.map(({ id }) => id);
    await scene.record(
      result(waiting!, 0, retryAt(scene.now + DAY, 3)),
      result(succeeded!, 0, succeed(scene.now)),
      result(forced!, 0, retryAt(scene.now + DAY, 3)),
      result(dead!, 0, die('exhausted', scene.now)),
    );
    await store.retryDelivery(scene.sendAgain(forced!));
    const before = await scene.unfinishedCount();
    const ids = [waiting!, succeeded!, pending!, forced!, dead!];
    const step = stepOf(scene, await createOperation(scene), { sendAgain: { how: 'retry_waiting', ids } });
    const { open, operation } = advanced(await store.advanceOperation(step));
    assert.deepEqual(
      open.map(({ id, dueAt, fallbackStatus, scheduledAt }) => [id, dueAt, fallbackStatus, scheduledAt]),
      [[waiting, 0, 'retrying', scene.now + DAY]],
    );
    assert.deepEqual(open, [await scene.open(destination, waiting!)]);
    assert.deepEqual(countsOf(operation).slice(1), [1, 0, 4]);
    assert.equal((await scene.read(succeeded!))!.status, 'succeeded');
    assert.equal((await scene.read(pending!))!.status, 'pending');
    assert.equal(await scene.unfinishedCount(), before);
  });

  it('makes new deliveries of old events: born dead they have failed, of an erased body skipped', async (t) => {
    const scene = await makeScene(t, { maxBacklogPerDestination: 2 });
    const { store } = scene;
    const destination = await scene.createDestination();
    const erased = await scene.accept([]);
    scene.pass(DAY);
    while ((await store.eraseBodies({ cutoff: scene.now, now: scene.now, budgetMs: 100 })).more);
    const kept = await scene.accept([destination]);
    const deliveriesOf = (count: number) => Array.from({ length: count }, () => scene.delivery(destination));
    const [ofErased, ofKept] = [deliveriesOf(3), deliveriesOf(2)];
    const events = [
      { id: erased.id, deliveries: ofErased },
      { id: kept.id, deliveries: ofKept },
    ];
    const operation = await createOperation(scene, { total: 6 });
    const step = stepOf(scene, operation, {
      replays: { configVersion: await scene.configVersion(), events },
      failed: 1,
    });
    const stepped = advanced(await store.advanceOperation(step));
    assert.deepEqual(countsOf(stepped.operation), [6, 1, 2, 3]);
    assert.deepEqual(stepped.tooOld, [erased.id]);
    assert.deepEqual(stepped.backlogFull, [ofKept[1]!.id]);
    const { rows } = await scene.list({ eventId: kept.id });
    assert.deepEqual(
      rows.map(({ origin, status, deadReason }) => [origin, status, deadReason]),
      [
        ['replay', 'dead', 'backlog_full'],
        ['replay', 'pending', null],
        ['event', 'pending', null],
      ],
    );
    assert.deepEqual((await scene.list({ eventId: erased.id })).rows, []);
  });

  it('matched against an older configuration does nothing', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const { id } = await scene.accept([]);
    const configVersion = await scene.configVersion();
    await scene.createSubscription(destination);
    const operation = await createOperation(scene);
    const replays = { configVersion, events: [{ id, deliveries: [scene.delivery(destination)] }] };
    assert.equal((await scene.store.advanceOperation(stepOf(scene, operation, { replays }))).result, 'stale');
    assert.deepEqual((await scene.list({ eventId: id })).rows, []);
    assert.deepEqual(await scene.store.readOperation({ environment: LIVE, id: operation.id }), operation);
  });

  it('is taken once, whoever takes it, and never of one that is paused or has ended', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const destination = await scene.createDestination();
    const { id } = await scene.acceptOne(destination);
    await scene.record(result(id, 0, die('exhausted', scene.now)));
    const operation = await createOperation(scene);
    const step = stepOf(scene, operation, { sendAgain: { how: 'replay_dead', ids: [id] } });
    const both = await Promise.all([store.advanceOperation(step), store.advanceOperation(step)]);
    assert.deepEqual(both.map((one) => one.result).sort(), ['advanced', 'overtaken']);
    const after = (await store.readOperation({ environment: LIVE, id: operation.id }))!;
    assert.deepEqual(countsOf(after), [3, 1, 0, 0]);

    const { rev } = await scene.open(destination, id);
    await scene.record(result(id, rev, die('exhausted', scene.now)));
    const change = { environment: LIVE, id: operation.id, now: scene.now } as const;
    await store.changeOperation({ ...change, action: 'pause' });
    const again = { ...step, operation: after };
    assert.equal((await store.advanceOperation(again)).result, 'overtaken');
    await store.changeOperation({ ...change, action: 'cancel' });
    const cancelled = (await store.readOperation({ environment: LIVE, id: operation.id }))!;
    assert.equal((await store.advanceOperation({ ...step, operation: cancelled })).result, 'overtaken');
    assert.equal((await scene.read(id))!.status, 'dead');
  });

  it('counts; at its end what was counted and not met is skipped, and the counts add up', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const operation = await createOperation(scene, { total: 2, done: 1, failed: 1, skipped: 1 });
    const counted = advanced(await store.advanceOperation(stepOf(scene, operation, { counted: 5 }))).operation;
    assert.deepEqual([counted.status, ...countsOf(counted)], ['running', 7, 1, 1, 1]);
    const done = advanced(await store.advanceOperation(stepOf(scene, counted, { end: 'done' }))).operation;
    assert.deepEqual([done.status, done.finishedAt, ...countsOf(done)], ['done', scene.now, 7, 1, 1, 5]);
    const more = await createOperation(scene, { total: 0, done: 4 });
    const failed = advanced(await store.advanceOperation(stepOf(scene, more, { end: 'failed' }))).operation;
    assert.deepEqual([failed.status, ...countsOf(failed)], ['failed', 4, 4, 0, 0]);
    assert.deepEqual(await store.readRunningOperations(), []);
  });
}

function testSucceeded(makeScene: MakeScene): void {
  it('is whoever has answered it with 2xx, also while a forced attempt waits', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const [reached, again, dead, pending] = await Promise.all([1, 2, 3, 4].map(() => scene.createDestination()));
    const event = await scene.accept([reached!, reached!, again!, dead!, pending!]);
    const [first, second, third, fourth] = event.deliveries.map(({ id }) => id);
    await scene.record(
      result(first!, 0, succeed(scene.now)),
      result(second!, 0, succeed(scene.now)),
      result(third!, 0, succeed(scene.now)),
      result(fourth!, 0, die('gone', scene.now)),
    );
    await store.retryDelivery(scene.sendAgain(third!));
    await scene.accept([pending!]);
    const read = (eventId: EventId, environment = LIVE): Promise<DestinationId[]> =>
      store.readSucceeded({ environment, eventId });
    assert.deepEqual(new Set(await read(event.id)), new Set([reached, again]));
    assert.deepEqual(await read(event.id, TEST), []);
    assert.deepEqual(await read(scene.ids.next('evt')), []);
  });
}
