// The threads behind the embedded store: what happens when one dies, when the store is closed, when errors cross.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { StoreError, type Store } from '../../src/store/store.ts';
import { makeDataDir, openServer } from './data-dirs.ts';
import { LIVE, Scene, attempt, retryAt } from './scene.ts';

/** A store and its threads: the process announces every worker that is started. */
async function openWatched(
  t: TestContext,
  onFatal?: (error: Error) => void,
): Promise<{ store: Store; workers: Worker[] }> {
  const workers: Worker[] = [];
  const note = (worker: Worker) => workers.push(worker);
  process.on('worker', note);
  const store = await openServer(t, makeDataDir(t), onFatal === undefined ? {} : { onFatal });
  process.off('worker', note);
  assert.equal(workers.length, 3);
  return { store, workers };
}

const unavailable = (error: unknown): boolean => error instanceof StoreError && error.code === 'unavailable';

describe('the store’s threads', () => {
  for (const nth of [0, 1, 2]) {
    it(`take the store with them when one dies (${nth})`, async (t) => {
      const fatal: Error[] = [];
      const { promise: died, resolve } = Promise.withResolvers<void>();
      const { store, workers } = await openWatched(t, (error) => {
        fatal.push(error);
        resolve();
      });
      const waiting = Promise.allSettled([store.readStats(), store.readHealth()]);
      await workers[nth]!.terminate();
      await died;
      assert.ok(unavailable(fatal[0]));
      await assert.rejects(store.readStats(), unavailable);
      await assert.rejects(store.readHealth(), unavailable);
      await waiting;
      await store.close();
      assert.equal(fatal.length, 1, 'it is reported once');
    });
  }

  it('finish what was asked before closing, and refuse what comes after', async (t) => {
    const { store } = await openWatched(t);
    const scene = new Scene(store);
    const destination = await scene.createDestination();
    const event = await scene.event([destination]);
    const accepted = store.acceptEvents([event]);
    const read = store.readHealth();
    const closed = store.close();
    assert.equal((await accepted)[0]!.result, 'accepted');
    assert.deepEqual(await read, []);
    await closed;
    await assert.rejects(store.acceptEvents([event]), unavailable);
    await assert.rejects(store.readHealth(), unavailable);
    await store.close();
  });

  it('pass a programming error on as an error of its own kind, and go on', async (t) => {
    const { store } = await openWatched(t);
    const scene = new Scene(store);
    const unknown = await scene.event([scene.ids.next('dst')]);
    await assert.rejects(store.acceptEvents([unknown]), (error) => {
      assert.ok(error instanceof Error && !(error instanceof StoreError));
      assert.ok(error.cause instanceof Error, 'with the other thread’s stack for the log');
      return true;
    });
    const same = await scene.event([]);
    await assert.rejects(store.acceptEvents([same, same]), unavailable, 'an id that is there already');
    assert.equal(await store.readEvent({ environment: LIVE, id: same.id }), null, 'all or nothing');
    assert.equal((await store.acceptEvents([same]))[0]!.result, 'accepted');
  });

  it('do what waits side by side in one transaction, and alone what one of them fails for', async (t) => {
    const { store } = await openWatched(t);
    const scene = new Scene(store);
    const destination = await scene.createDestination();
    const waiting = await scene.event([destination]);
    const due = await scene.event([destination]);
    await store.acceptEvents([due]);
    const events = await Promise.all(Array.from({ length: 200 }, () => scene.event([destination])));
    const unknown = await scene.event([scene.ids.next('dst')]);
    // Sent in one turn: while the thread is at the first, the others come to wait together.
    const busy = store.acceptEvents(events);
    const refused = assert.rejects(store.acceptEvents([unknown]));
    const accepted = store.acceptEvents([waiting]);
    const delivery = due.deliveries[0]!.id;
    const recorded = scene.record({ id: delivery, rev: 0, attempt: attempt(), decision: retryAt(scene.now) });
    await Promise.all([busy, refused, accepted, recorded]);
    assert.equal(await store.readEvent({ environment: LIVE, id: unknown.id }), null);
    assert.ok((await store.readEvent({ environment: LIVE, id: waiting.id })) !== null);
    assert.equal((await scene.read(delivery))!.attempts.length, 1, 'once, though it was tried together first');
    const { unfinished } = await store.readStats();
    assert.equal(unfinished.find(({ environment }) => environment === LIVE)!.count, 202, 'nothing is counted twice');
  });

  it('carry bodies of a batch each to its own row: none, empty, parts of one buffer', async (t) => {
    const { store } = await openWatched(t);
    const scene = new Scene(store);
    const destination = await scene.createDestination();
    const pool = Uint8Array.from({ length: 100 }, (_, i) => i);
    const bodies = [null, pool.subarray(10, 13), null, new Uint8Array(0), pool.subarray(50)];
    const events = await Promise.all(bodies.map((body) => scene.event([destination], { body: body ?? pool })));
    await store.acceptEvents(events);
    const results = events.map((event, i) => ({
      id: event.deliveries[0]!.id,
      rev: 0,
      attempt: attempt({ responseBody: bodies[i]! }),
      decision: retryAt(scene.now),
    }));
    await scene.record(...results);
    for (const [i, event] of events.entries()) {
      const stored = await store.readEvent({ environment: LIVE, id: event.id });
      assert.deepEqual(stored!.body, Uint8Array.from(bodies[i] ?? pool));
      const delivery = await scene.read(event.deliveries[0]!.id);
      assert.deepEqual(delivery!.attempts[0]!.responseBody, bodies[i] && Uint8Array.from(bodies[i]));
    }
  });

  it('leave the caller’s values as they were', async (t) => {
    const { store } = await openWatched(t);
    const scene = new Scene(store);
    const destination = await scene.createDestination();
    const event = await scene.event([destination]);
    const copy = structuredClone(event);
    await store.acceptEvents([event]);
    assert.deepEqual(event, copy);
    const result = { id: event.deliveries[0]!.id, rev: 0, attempt: attempt(), decision: retryAt(scene.now) };
    const resultCopy = structuredClone(result);
    await scene.record(result);
    assert.deepEqual(result, resultCopy);
  });
});
