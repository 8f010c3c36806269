// The runner on a store in memory: what it goes on with, and when it gives up. In the second test the store's count of
// deliveries fails as it does by a fault of ours.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { OperationId } from '../../src/model/id.ts';
import type { Operation } from '../../src/model/operation.ts';
import { createDeliveryWork } from '../../src/operate/delivery-work.ts';
import { START, writePosition } from '../../src/operate/work.ts';
import { OPERATE_INTERVAL_MS, Runner } from '../../src/operate/runner.ts';
import { systemRandom as random } from '../../src/runtime/random.ts';
import type { Store } from '../../src/store/store.ts';
import { Scene, LIVE, die, result } from '../store/scene.ts';
import { openInThreadStore } from '../support/in-thread-store.ts';
import { ManualClock } from '../support/manual-clock.ts';

const DEAD = 250;

type Stand = {
  store: Store;
  clock: ManualClock;
  runner: Runner;
  id: OperationId;
  ended: Operation[];
  errors: unknown[];
};

/** An operation on DEAD deliveries of one destination, of which none is counted yet. */
async function stand(t: TestContext): Promise<Stand> {
  const clock = new ManualClock();
  const store = openInThreadStore({
    path: ':memory:',
    masterKey: random.bytes(32),
    clock,
    random,
    diskReserveBytes: 0,
    maxBacklogPerDestination: 1_000,
  });
  t.after(() => store.close());
  const scene = new Scene(store);
  const destinationId = await scene.createDestination();
  const { deliveries } = await scene.accept(Array.from({ length: DEAD }, () => destinationId));
  await scene.record(...deliveries.map(({ id }) => result(id, 0, die('exhausted', scene.now))));
  const now = scene.pass(1_000);
  const operation: Operation = {
    id: scene.ids.next('op'),
    environment: LIVE,
    request: { kind: 'destination_recovery', destinationId, since: null, until: null, perSecond: 10_000 },
    status: 'running',
    rev: 0,
    position: writePosition({ phase: 'counting', place: START }),
    total: 0,
    done: 0,
    failed: 0,
    skipped: 0,
    createdAt: now,
    updatedAt: now,
    finishedAt: null,
    createdBy: scene.ids.next('key'),
  };
  await store.createOperation({ operation, identity: random.bytes(32) }, { unfinishedMax: 1 });
  const work = createDeliveryWork({ store, clock, dispatch: () => undefined });
  const [ended, errors]: [Operation[], unknown[]] = [[], []];
  const runner = new Runner({
    store,
    clock,
    workOf: () => work,
    isOurs: () => true,
    isDestinationKnown: () => true,
    isBehind: () => false,
    catchUp: async () => undefined,
    bodyRetentionMs: clock.now(),
    onEnded: (one) => ended.push(one),
    onError: (error) => errors.push(error),
  });
  return { store, clock, runner, id: operation.id, ended, errors };
}

test('what is not counted yet is counted before anything is done', async (t) => {
  const { store, runner, id, ended, errors } = await stand(t);
  assert.equal(await runner.step(), 'more');
  const counted = (await store.readOperation({ environment: LIVE, id }))!;
  assert.deepEqual([counted.total, counted.done], [DEAD, 0]);
  let steps = 0;
  while ((await runner.step()) === 'more') assert.ok(++steps < 10);
  assert.deepEqual(errors, []);
  assert.deepEqual(
    ended.map(({ status, total, done, skipped }) => [status, total, done, skipped]),
    [['done', DEAD, DEAD, 0]],
  );
});

test('an operation that fails again and again is given up, and is not in the way of what comes', async (t) => {
  const { store, clock, runner, id, ended, errors } = await stand(t);
  store.countDeliveries = async () => assert.fail('a fault');
  for (let i = 0; i < 10; i++) {
    await runner.step();
    clock.advance(OPERATE_INTERVAL_MS);
  }
  assert.equal(errors.length, 10);
  assert.deepEqual(
    ended.map((operation) => [operation.id, operation.status]),
    [[id, 'failed']],
  );
  assert.equal(await runner.step(), 'idle');
});
