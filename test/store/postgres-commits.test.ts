// A COMMIT that goes wrong is recognised as what it was, whatever was to be committed: what was stored is answered as
// stored, and what was not is done again, so that each thing happens once and its caller hears how it went.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { NewEvent } from '../../src/store/store.ts';
import { atEnd } from './data-dirs.ts';
import { createOperation, stepOf } from './conformance/operations.ts';
import { sharedDatabases, storeOptions } from './postgres/databases.ts';
import { startProxy, type Cut, type Proxy } from './postgres/proxy.ts';
import { stepped } from './postgres/stepped-pipeline.ts';
import { DAY, LIVE, MANY, Scene, die, result, retryAt, succeed } from './scene.ts';

type Operation = {
  /** The last table that it writes to. */
  table: string;
  /** All that comes before it; what it is; what must hold after it. */
  prepare: (scene: Scene) => Promise<{ run: () => Promise<unknown>; answer: unknown; check: () => Promise<void> }>;
};

const FINGERPRINT = new Uint8Array(32);

const OPERATIONS: Record<string, Operation> = {
  'an event': {
    table: 'open_deliveries',
    async prepare(scene) {
      const { store } = scene;
      const idempotency = { fingerprint: FINGERPRINT, expiresAt: scene.now + DAY };
      const to = [await scene.createDestination()];
      const event = await scene.event(to, { idempotencyKey: `key ${scene.ids.next('evt')}`, idempotency });
      const unfinished = await scene.unfinishedCount();
      return {
        run: () => store.acceptEvents([event]),
        answer: [{ result: 'accepted', backlogFull: [], mayBeUnderWay: true }],
        async check() {
          assert.equal((await store.readEvent({ environment: LIVE, id: event.id }))!.deliveries.length, 1);
          assert.equal(await scene.unfinishedCount(), unfinished + 1);
        },
      };
    },
  },
  'an event without a key': {
    table: 'open_deliveries',
    async prepare(scene) {
      const { store } = scene;
      const event = await scene.event([await scene.createDestination()]);
      const unfinished = await scene.unfinishedCount();
      return {
        run: () => store.acceptEvents([event]),
        answer: [{ result: 'accepted', backlogFull: [], mayBeUnderWay: true }],
        async check() {
          assert.equal((await store.readEvent({ environment: LIVE, id: event.id }))!.deliveries.length, 1);
          assert.equal(await scene.unfinishedCount(), unfinished + 1);
        },
      };
    },
  },
  'a first result that is the last': {
    table: 'attempts',
    async prepare(scene) {
      const { id } = await scene.acceptOne(await scene.createDestination());
      const unfinished = await scene.unfinishedCount();
      return {
        run: () => scene.record(result(id, 0, succeed())),
        answer: { outcomes: [{ result: 'recorded' }], paused: [] },
        async check() {
          const { attemptCount, attempts, status } = (await scene.read(id))!;
          assert.deepEqual([attemptCount, attempts.length, status], [1, 1, 'succeeded']);
          assert.equal(await scene.unfinishedCount(), unfinished - 1);
        },
      };
    },
  },
  'a result': {
    table: 'attempts',
    async prepare(scene) {
      const { id } = await scene.acceptOne(await scene.createDestination());
      return {
        run: () => scene.record(result(id, 0, retryAt(scene.now))),
        answer: { outcomes: [{ result: 'recorded' }], paused: [] },
        async check() {
          const { attemptCount, attempts } = (await scene.read(id))!;
          assert.deepEqual([attemptCount, attempts.length], [1, 1]);
        },
      };
    },
  },
  'a last result that pauses its destination': {
    table: 'attempts',
    async prepare(scene) {
      const destination = await scene.createDestination();
      const { id } = await scene.acceptOne(destination);
      const decision = { ...die('gone'), pauseDestination: 'gone' as const };
      return {
        run: () => scene.record(result(id, 0, decision)),
        answer: { outcomes: [{ result: 'recorded' }], paused: [destination] },
        async check() {
          const { attemptCount, attempts, status } = (await scene.read(id))!;
          assert.deepEqual([attemptCount, attempts.length, status], [1, 1, 'dead']);
        },
      };
    },
  },
  'a manual retry': { table: 'open_deliveries', prepare: (scene) => prepareSendAgain(scene, 'retryDelivery') },
  'a DLQ replay': { table: 'open_deliveries', prepare: (scene) => prepareSendAgain(scene, 'replayDead') },
  'an event replay': {
    table: 'open_deliveries',
    async prepare(scene) {
      const { store, now } = scene;
      const destination = await scene.createDestination();
      const { eventId } = await scene.acceptOne(destination);
      const configVersion = await scene.configVersion();
      const deliveries = [scene.delivery(destination)];
      const about = { environment: LIVE, eventId, configVersion, now, bodyCutoff: 0 };
      return {
        run: async () => {
          const came = await store.replayEvent({ ...about, deliveries });
          return came.result === 'replayed' ? ['replayed', came.backlogFull] : came;
        },
        answer: ['replayed', []],
        async check() {
          assert.equal((await scene.list({ eventId })).rows.length, 2);
        },
      };
    },
  },
  'a new destination': {
    table: 'destinations',
    prepare: (scene) => {
      const destination = scene.destination();
      const { id } = destination;
      return once(scene, {
        run: () => scene.store.createDestination(destination, { max: 1_000 }),
        answer: 'created',
        async check() {
          assert.equal((await scene.store.readDestination({ environment: LIVE, id }))!.signingKeys.length, 1);
        },
      });
    },
  },
  'a change of a destination': {
    table: 'barriers',
    async prepare(scene) {
      const { store, now } = scene;
      const id = await scene.createDestination();
      const change = { status: 'paused' as const };
      return once(scene, {
        run: async () => (await store.updateDestination({ environment: LIVE, id, change, now }))?.status,
        answer: 'paused',
        check: async () => assert.equal(await store.cluster!.isChangeWaiting(id), true),
      });
    },
  },
  'a deletion': {
    table: 'barriers',
    async prepare(scene) {
      const { store, now } = scene;
      const id = await scene.createDestination();
      await scene.createSubscription(id);
      return once(scene, {
        run: () => store.deleteDestination({ environment: LIVE, id, now }),
        answer: true,
        check: async () => assert.equal(await store.readDestination({ environment: LIVE, id }), null),
      });
    },
  },
  'a key rotation': {
    table: 'barriers',
    async prepare(scene) {
      const { store, now } = scene;
      const id = await scene.createDestination();
      const rotation = { key: scene.signingKey(), previousExpiresAt: now + DAY, now };
      return once(scene, {
        run: () => store.rotateSigningKey({ environment: LIVE, id, ...rotation }),
        answer: { result: 'rotated' },
        async check() {
          assert.equal((await store.readDestination({ environment: LIVE, id }))!.signingKeys.length, 2);
        },
      });
    },
  },
  'a new subscription': {
    table: 'subscriptions',
    async prepare(scene) {
      const { store } = scene;
      const destinationId = await scene.createDestination();
      const subscription = scene.subscription(destinationId);
      return once(scene, {
        run: () => store.createSubscription({ subscription, identity: FINGERPRINT }, MANY),
        answer: { result: 'created', subscription },
        async check() {
          const page = { environment: LIVE, destinationId, before: null, limit: 10 };
          assert.deepEqual((await store.listSubscriptions(page)).rows, [subscription]);
        },
      });
    },
  },
  'the end of a subscription': {
    table: 'environments',
    async prepare(scene) {
      const id = await scene.createSubscription(await scene.createDestination());
      return once(scene, {
        run: () => scene.store.deleteSubscription({ environment: LIVE, id }),
        answer: true,
        check: async () => assert.equal(await scene.store.readSubscription({ environment: LIVE, id }), null),
      });
    },
  },
};

async function prepareSendAgain(scene: Scene, method: 'retryDelivery' | 'replayDead') {
  const { id } = await scene.acceptOne(await scene.createDestination());
  await scene.record(result(id, 0, die()));
  const request = scene.sendAgain(id);
  return {
    run: async () => {
      const came = await scene.store[method](request);
      return came.result === 'scheduled' ? [came.open?.rev, came.delivery.status] : came;
    },
    answer: [2, method === 'retryDelivery' ? 'retrying' : 'pending'],
    async check() {
      const delivery = (await scene.read(id))!;
      assert.equal((await scene.open(delivery.destinationId, id)).rev, 2);
      assert.equal(delivery.attemptCount, 1);
    },
  };
}

/** A change of the configuration: it has one version. */
async function once(
  scene: Scene,
  { run, answer, check }: Awaited<ReturnType<Operation['prepare']>>,
): ReturnType<Operation['prepare']> {
  const version = await scene.configVersion();
  return {
    run,
    answer,
    async check() {
      assert.equal(await scene.configVersion(), version + 1);
      await check();
    },
  };
}

type Trouble = (on: {
  proxy: Proxy;
  failOnce: (at: 'statement' | 'COMMIT') => Promise<void>;
}) => Promise<() => unknown>;

const none = (): void => {};

const TROUBLES: Record<string, Trouble> = {
  'that never arrives': async ({ proxy }) => {
    const cut = proxy.cutNextCommit('before');
    return () => cut;
  },
  'whose answer never arrives': async ({ proxy }) => {
    const cut = proxy.cutNextCommit('after');
    return () => cut;
  },
  'that is refused, and nobody hears of it': async ({ proxy, failOnce }) => {
    await failOnce('COMMIT');
    const cut = proxy.cutNextCommit('after');
    return () => cut;
  },
  'that is refused': async ({ failOnce }) => {
    await failOnce('COMMIT');
    return none;
  },
  'of a transaction that was aborted': async ({ failOnce }) => {
    await failOnce('statement');
    return none;
  },
};

/** Conflicts with nobody, once each time its sequence is set back: what has failed may be tried again. */
const FAILURES = (table: string): string => `
  CREATE SEQUENCE statement_tries START 2;
  CREATE SEQUENCE commit_tries START 2;
  CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF nextval(TG_ARGV[0]) = 1 THEN RAISE EXCEPTION 'as the test wants it' USING ERRCODE = '40001'; END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER fail_statement AFTER INSERT OR UPDATE ON ${table}
    FOR EACH STATEMENT EXECUTE FUNCTION fail_once('statement_tries');
  CREATE CONSTRAINT TRIGGER fail_commit AFTER INSERT OR UPDATE ON ${table} DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION fail_once('commit_tries');`;

describe('a COMMIT', () => {
  const databases = sharedDatabases();

  for (const [what, { table, prepare }] of Object.entries(OPERATIONS)) {
    it(`of ${what}: whatever becomes of it, it is done once`, async (t) => {
      const url = await databases.make(t);
      const database = new URL(url).pathname.slice(1);
      await databases.server.query(FAILURES(table), database);
      const proxy = await startProxy(url);
      atEnd(t, () => proxy.close());
      const store = await openPostgresStore(storeOptions(proxy.url));
      atEnd(t, () => store.close());
      const readTries = async (): Promise<unknown> =>
        (
          await databases.server.query(
            'SELECT s.last_value + c.last_value AS n FROM statement_tries s, commit_tries c',
            database,
          )
        )[0];
      for (const [how, trouble] of Object.entries(TROUBLES)) {
        await t.test(`one ${how}`, async () => {
          const { run, answer, check } = await prepare(new Scene(store));
          let tries: unknown;
          const failOnce = async (at: 'statement' | 'COMMIT'): Promise<void> => {
            await databases.server.query(`SELECT setval('${at.toLowerCase()}_tries', 1, false)`, database);
            tries = await readTries();
          };
          const struck = await trouble({ proxy, failOnce });
          assert.deepEqual(await run(), answer);
          await struck();
          if (tries !== undefined) assert.notDeepEqual(await readTries(), tries, 'it did fail once');
          await check();
        });
      }
    });
  }
});

describe('a COMMIT that was lost, and the configuration has changed since', () => {
  const databases = sharedDatabases();

  async function lose(
    t: TestContext,
    cut: Cut,
  ): Promise<{ scene: Scene; event: NewEvent; accepting: Promise<unknown> }> {
    const url = await databases.make(t);
    const proxy = await startProxy(url);
    atEnd(t, () => proxy.close());
    const [store, other] = [
      await openPostgresStore(storeOptions(proxy.url)),
      await openPostgresStore(storeOptions(url)),
    ];
    for (const one of [store, other]) atEnd(t, () => one.close());
    const [scene, elsewhere] = [new Scene(store), new Scene(other)];
    const event = await scene.event([await scene.createDestination()]);
    const isLost = proxy.cutNextCommit(cut);
    const accepting = store.acceptEvents([event]);
    accepting.catch(() => {});
    await isLost;
    // The second try comes after the change.
    proxy.goAway();
    await elsewhere.createSubscription(await elsewhere.createDestination());
    proxy.comeBack();
    return { scene, event, accepting };
  }

  it('is found, if it was one after all', async (t) => {
    const { scene, event, accepting } = await lose(t, 'after');
    assert.deepEqual(await accepting, [{ result: 'accepted', backlogFull: [], mayBeUnderWay: true }]);
    assert.equal((await scene.store.readEvent({ environment: LIVE, id: event.id }))!.deliveries.length, 1);
  });

  // It may still be under way: the event, matched again under another id, would be stored twice.
  it('is refused for an event without a key, if nothing of it is to be seen', async (t) => {
    const { scene, event, accepting } = await lose(t, 'before');
    await assert.rejects(accepting, { name: 'StoreError', code: 'unavailable', message: /during a commit/ });
    assert.equal(await scene.store.readEvent({ environment: LIVE, id: event.id }), null);
  });
});

describe('a COMMIT that goes on while its connection is gone', () => {
  const databases = sharedDatabases();

  it('is found by each part of the batch, which was halved since for a key that it held', async (t) => {
    const url = await databases.make(t);
    const open = async (beforeStatement: (name: string) => Promise<void>) => {
      const store = await openPostgresStore(storeOptions(url, { createPipeline: stepped(beforeStatement) }));
      atEnd(t, () => store.close());
      return store;
    };
    const [committing, committed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let events: NewEvent[] = [];
    const server = await open(async (name) => {
      if (name !== 'COMMIT' || events.length === 0) return;
      committing.resolve();
      await committed.promise;
    });
    let goesOn: Promise<unknown> = Promise.resolve();
    const sent: string[] = [];
    const store = await open(async (name) => {
      if (events.length > 0) sent.push(name);
      const isNth = (what: string, nth: number) => name === what && sent.filter((one) => one === what).length === nth;
      if (isNth('COMMIT', 1)) throw new Error('Connection terminated');
      // What the server does with the first try, as if it had gone on with it.
      if (isNth('idempotency_limit_wait', 2)) {
        goesOn = server.acceptEvents(events);
        await committing.promise;
      }
      if (isNth('accept_at_once', 3)) {
        committed.resolve();
        await goesOn;
      }
    });
    const scene = new Scene(server);
    const to = [await scene.createDestination()];
    const idempotency = { fingerprint: FINGERPRINT, expiresAt: scene.now + DAY };
    events = [await scene.event(to), await scene.event(to, { idempotencyKey: 'held', idempotency })];
    const accepted = { result: 'accepted', backlogFull: [], mayBeUnderWay: true };
    assert.deepEqual(await store.acceptEvents(events).finally(committed.resolve), [accepted, accepted]);
    assert.ok(sent.filter((one) => one === 'accept_at_once').length > 2, 'it was halved');
  });
});

describe('a COMMIT that was lost, and its delivery was sent again since', () => {
  const databases = sharedDatabases();

  it('counts what had ended by it, though it is open again', async (t) => {
    const url = await databases.make(t);
    const proxy = await startProxy(url);
    atEnd(t, () => proxy.close());
    const stores = [await openPostgresStore(storeOptions(proxy.url)), await openPostgresStore(storeOptions(url))];
    for (const one of stores) atEnd(t, () => one.close());
    const [scene, elsewhere] = stores.map((store) => new Scene(store)) as [Scene, Scene];
    const { id } = await scene.acceptOne(await scene.createDestination());
    const isLost = proxy.cutNextCommit('after');
    const recording = scene.record(result(id, 0, succeed()));
    recording.catch(() => {});
    await isLost;
    // The second try comes after the retry.
    proxy.goAway();
    await elsewhere.store.retryDelivery(elsewhere.sendAgain(id));
    proxy.comeBack();
    assert.deepEqual((await recording).outcomes, [{ result: 'recorded' }]);
    assert.equal((await scene.read(id))!.status, 'retrying');
    assert.equal(await scene.unfinishedCount(), 0, 'the retry is the other’s to count');
  });
});

describe('a COMMIT that was done, but the server had to be asked', () => {
  const databases = sharedDatabases();

  /** What others may have found in the store meanwhile. */
  const handedOver: Record<string, (scene: Scene) => Promise<() => Promise<unknown>>> = {
    async 'an event that there may be no room for'(scene) {
      const event = await scene.event([await scene.createDestination(), await scene.createDestination()]);
      return async () => (await scene.store.acceptEvents([event]))[0];
    },
    async 'a manual retry'(scene) {
      const { id } = await scene.acceptOne(await scene.createDestination());
      await scene.record(result(id, 0, die()));
      return () => scene.store.retryDelivery(scene.sendAgain(id));
    },
    async 'an event replay'(scene) {
      const destination = await scene.createDestination();
      const { eventId } = await scene.acceptOne(destination);
      await scene.record(result((await scene.list({ eventId })).rows[0]!.id, 0, succeed()));
      const about = { environment: LIVE, eventId, configVersion: await scene.configVersion(), now: scene.now };
      return () => scene.store.replayEvent({ ...about, bodyCutoff: 0, deliveries: [scene.delivery(destination)] });
    },
    async 'a step of an operation'(scene) {
      const { id } = await scene.acceptOne(await scene.createDestination());
      await scene.record(result(id, 0, die()));
      const operation = await createOperation(scene);
      const step = stepOf(scene, operation, { sendAgain: { how: 'replay_dead', ids: [id] } });
      return () => scene.store.advanceOperation(step);
    },
  };

  for (const [what, prepare] of Object.entries(handedOver)) {
    it(`of ${what}: its deliveries may be under way, and are else not said to be`, async (t) => {
      const proxy = await startProxy(await databases.make(t));
      atEnd(t, () => proxy.close());
      // With room for one delivery, an event that makes two is stored in steps.
      const store = await openPostgresStore(storeOptions(proxy.url, { maxBacklogPerDestination: 1 }));
      atEnd(t, () => store.close());
      const scene = new Scene(store);
      const answers: unknown[] = [];
      for (const isCut of [false, true]) {
        const run = await prepare(scene);
        const cut = isCut ? proxy.cutNextCommit('after') : null;
        answers.push(((await run()) as { mayBeUnderWay?: true }).mayBeUnderWay);
        await cut;
      }
      assert.deepEqual(answers, [undefined, true]);
    });
  }
});
