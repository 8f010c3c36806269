// Transactions that write the same rows take their locks in one order: of two that took them crosswise the database
// would end one, after a second in which everybody who needs those rows waits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { atEnd } from './data-dirs.ts';
import { sharedDatabases, storeOptions } from './postgres/databases.ts';
import { stepped } from './postgres/stepped-pipeline.ts';
import { LIVE, Scene, die, result, retryAt } from './scene.ts';

const databases = sharedDatabases();

test('a destination is deleted while a result that pauses it and tells of its trouble is recorded', async (t) => {
  const url = await databases.make(t);
  const store = await openPostgresStore(storeOptions(url));
  atEnd(t, () => store.close());
  const pausing = Promise.withResolvers<void>();
  const deleted = Promise.withResolvers<void>();
  const beforeStatement = async (name: string): Promise<void> => {
    if (name !== 'environments_raise_config') return;
    pausing.resolve();
    await deleted.promise;
  };
  const recorder = await openPostgresStore(storeOptions(url, { createPipeline: stepped(beforeStatement) }));
  atEnd(t, () => recorder.close());

  const scene = new Scene(store);
  const destinationId = await scene.createDestination();
  const { id } = await scene.acceptOne(destinationId);
  const { now } = scene;
  const health = [{ destinationId, failingSince: now, failureCount: 1, heldUntil: null }];
  await store.recordResults({ results: [result(id, 0, retryAt(now))], health, now });
  const last = result(id, 1, { ...die('gone'), pauseDestination: 'gone' });
  const recording = recorder.recordResults({ results: [last], health, now });
  await pausing.promise;
  await store.deleteDestination({ environment: LIVE, id: destinationId, now }).finally(deleted.resolve);
  assert.deepEqual(await recording, { outcomes: [{ result: 'recorded' }], paused: [] });
});
