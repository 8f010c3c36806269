// What goes wrong between us and the server: nothing that was answered is lost, nothing is stored twice, and whoever
// waits is answered in bounded time.
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { systemClock, type Clock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { openPool } from '../../src/store/postgres/wire/connections.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { statement } from '../../src/store/postgres/wire/statement.ts';
import { createTransactions, type Tx } from '../../src/store/postgres/wire/transaction.ts';
import type { SubscriptionId } from '../../src/model/id.ts';
import { StoreError } from '../../src/store/store.ts';
import { atEnd } from './data-dirs.ts';
import { Databases, makeDistributed, storeOptions } from './postgres/databases.ts';
import { stepped } from './postgres/stepped-pipeline.ts';
import { startProxy, type Proxy } from './postgres/proxy.ts';
import { startPostgres, type OwnPostgres } from './postgres/server.ts';
import { LIVE, MANY, START, Scene, result, retryAt, succeed } from './scene.ts';

let server: OwnPostgres;
let databases: Databases;

before(async () => {
  server = await startPostgres();
  databases = new Databases(() => server);
});
after(() => server.stop());

/** Waits pass twenty times as fast: what takes seconds of patience takes a moment. */
const HASTE = 20;
const hastyClock: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * HASTE,
  setTimer: (callback, delayMs) => systemClock.setTimer(callback, delayMs / HASTE),
  afterTurn: (callback) => systemClock.afterTurn(callback),
};

/** What is given up after seconds is not: a restart takes long on a machine with much else to do. */
const patientClock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() / HASTE };

async function makeProxied(t: TestContext, clock: Clock = systemClock): Promise<{ scene: Scene; proxy: Proxy }> {
  const proxy = await startProxy(await databases.make(t));
  atEnd(t, () => proxy.close());
  const store = await openPostgresStore(storeOptions(proxy.url, { clock }));
  atEnd(t, () => store.close());
  return { scene: new Scene(store), proxy };
}

const isUnavailable = (error: unknown): boolean => error instanceof StoreError && error.code === 'unavailable';

describe('a server that crashes at COMMIT and gives the transaction’s id to another one', () => {
  type Crashing = { scene: Scene; crashAt: (statementName: string) => { isOver: () => boolean } };

  const startCrashing = async (t: TestContext, layout: 'partitioned' | 'distributed'): Promise<Crashing> => {
    const crashing = await startPostgres(['wal_writer_delay=10s']);
    atEnd(t, () => crashing.stop());
    await crashing.query('CREATE DATABASE crashing');
    const url = crashing.urlOf('crashing');
    if (layout === 'distributed') await makeDistributed(url);
    /** The COMMIT after this statement does not arrive. */
    let next: { name: string; step: 'before' | 'running' | 'crashed' } | null = null;
    const beforeStatement = async (name: string): Promise<void> => {
      if (name === next?.name && next.step === 'before') next.step = 'running';
      if (name !== 'COMMIT' || next?.step !== 'running') return;
      next.step = 'crashed';
      const [mine] = await crashing.query('SELECT max(backend_xid::text::int8) AS xid FROM pg_stat_activity');
      await crashing.halt();
      await crashing.resume();
      for (let given = 0; given < Number(mine!['xid']);) {
        const [other] = await crashing.query('SELECT pg_current_xact_id()::text::int8 AS xid');
        given = Number(other!['xid']);
      }
    };
    const store = await openPostgresStore(
      storeOptions(url, { clock: patientClock, createPipeline: stepped(beforeStatement) }),
    );
    atEnd(t, () => store.close());
    const crashAt = (name: string): { isOver: () => boolean } => {
      const crash: NonNullable<typeof next> = { name, step: 'before' };
      next = crash;
      return { isOver: () => crash.step === 'crashed' };
    };
    return { scene: new Scene(store), crashAt };
  };

  // What inserts the event: sent again, or in a transaction whose id is asked for.
  const INSERTS = { partitioned: 'accept_at_once', distributed: 'events_insert' } as const;

  const accept = (layout: keyof typeof INSERTS) => async (t: TestContext) => {
    const { scene, crashAt } = await startCrashing(t, layout);
    const crash = crashAt(INSERTS[layout]);
    const destination = await scene.createDestination();
    // Whether it was tried again and stored then, or refused: what is answered as accepted is there.
    const accepted = await scene.acceptOne(destination).catch(() => null);
    if (accepted !== null) assert.ok((await scene.read(accepted.id)) !== null, 'it was accepted and is not stored');
    assert.ok(crash.isOver());
  };

  it('an event of which nothing is stored is not answered as accepted', accept('partitioned'));
  it('nor is it where tables are distributed', accept('distributed'));

  it('a change of which nothing is stored is not answered as made', async (t) => {
    const { scene, crashAt } = await startCrashing(t, 'partitioned');
    const { store } = scene;
    const environment = LIVE;
    const id = await scene.createDestination();
    const destination = () => store.readDestination({ environment, id });
    const isThere = async (subscriptionId: SubscriptionId) =>
      (await store.readSubscription({ environment, id: subscriptionId })) !== null;
    const hasKey = async (keyId: string) => (await store.readApiKeys()).some((key) => key.id === keyId);

    /** Resolves when it was answered as made, also by a second try. */
    const make = async (statementName: string, change: () => Promise<unknown>): Promise<void> => {
      const crash = crashAt(statementName);
      await change();
      assert.ok(crash.isOver(), statementName);
    };

    const other = scene.destination();
    await make('destinations_insert', () => store.createDestination(other, { max: 100 }));
    assert.ok((await store.readDestination({ environment, id: other.id })) !== null);

    const pause = { status: 'paused', pausedReason: 'manual' } as const;
    await make('destinations_update', () =>
      store.updateDestination({ environment, id, change: pause, now: scene.now }),
    );
    assert.equal((await destination())!.status, 'paused');

    const key = { ...scene.signingKey(), createdAt: scene.pass(1) };
    const overlap = { environment, id, key, previousExpiresAt: scene.now + 1_000, now: scene.now };
    await make('signing_keys_insert', () => store.rotateSigningKey(overlap));
    const [newest, previous] = (await destination())!.signingKeys;
    assert.equal(newest!.id, key.id);

    const ending = { environment, id, keyId: previous!.id, now: scene.now };
    await make('signing_keys_delete', () => store.endSigningKey(ending));
    assert.equal((await destination())!.signingKeys.length, 1);

    const subscription = scene.subscription(id);
    const identity = systemRandom.bytes(32);
    await make('subscriptions_insert', () => store.createSubscription({ subscription, identity }, MANY));
    assert.ok(await isThere(subscription.id));

    await make('subscriptions_bury', () => store.deleteSubscription({ environment, id: subscription.id }));
    assert.ok(!(await isThere(subscription.id)));

    const apiKey = scene.apiKey();
    await make('api_keys_insert', () => store.createApiKey(apiKey));
    assert.ok(await hasKey(apiKey.id));

    await make('api_keys_delete', () => store.revokeApiKey({ environments: [environment], id: apiKey.id }));
    assert.ok(!(await hasKey(apiKey.id)));

    const delivery = await scene.acceptOne(id);
    await make('open_deliveries_move', () => store.retryDelivery(scene.sendAgain(delivery.id)));
    assert.equal((await scene.read(delivery.id))!.status, 'retrying');

    await make('destinations_bury', () => store.deleteDestination({ environment, id, now: scene.now }));
    assert.equal(await destination(), null);
  });

  it('a result of which nothing is stored is not answered as recorded', async (t) => {
    const { scene, crashAt } = await startCrashing(t, 'distributed');
    const { id } = await scene.acceptOne(await scene.createDestination());
    const crash = crashAt('attempts_insert');
    assert.deepEqual((await scene.record(result(id, 0, succeed()))).outcomes, [{ result: 'recorded' }]);
    assert.ok(crash.isOver());
    const { status, attemptCount } = (await scene.read(id))!;
    assert.deepEqual({ status, attemptCount }, { status: 'succeeded', attemptCount: 1 });
  });

  it('a node does not count a shard as its own that it has not been given', async (t) => {
    const { scene, crashAt } = await startCrashing(t, 'partitioned');
    const cluster = scene.store.cluster!;
    const id = scene.ids.next('nod');
    await cluster.addNode({ id, name: 'a', version: '1', address: 'http://a', leaseMs: 3_600_000 });
    const crash = crashAt('shards_take');
    const taken = await cluster.takeShards({ node: id, shards: [1, 2] });
    assert.ok(crash.isOver());
    const { owners } = await cluster.readCluster();
    assert.deepEqual(
      taken.map((shard) => owners[shard]),
      [id, id],
    );
  });
});

describe('a connection that is lost at COMMIT, and nobody to ask for long', () => {
  it('the event is told to have been in the store for a while: its delivery may have been sent since', async (t) => {
    const { scene, proxy } = await makeProxied(t);
    const destination = await scene.createDestination();
    const [ordinary, cut] = [await scene.event([destination]), await scene.event([destination])];
    assert.deepEqual(await scene.store.acceptEvents([ordinary]), [{ result: 'accepted', backlogFull: [] }]);
    const cutting = proxy.cutNextCommit('after');
    const accepted = [{ result: 'accepted', backlogFull: [], mayBeUnderWay: true }];
    assert.deepEqual(await scene.store.acceptEvents([cut]), accepted);
    await cutting;
  });

  it('the result that is handed in again is recorded once', async (t) => {
    const { scene, proxy } = await makeProxied(t, hastyClock);
    const { id } = await scene.acceptOne(await scene.createDestination());
    const cutting = proxy.cutNextCommit('after').then(() => proxy.goAway());
    const one = result(id, 0, retryAt(START));
    await assert.rejects(scene.record(one), isUnavailable);
    await cutting;
    await assert.rejects(scene.record(one), isUnavailable, 'still away');
    proxy.comeBack();
    assert.deepEqual((await scene.record(one)).outcomes, [{ result: 'recorded' }]);
    assert.equal((await scene.read(id))!.attemptCount, 1);
    const again = await scene.record(result(id, 0, succeed()));
    assert.equal(again.outcomes[0]!.result, 'conflict', 'another result of the same revision is another attempt');
  });
});

describe('a transaction', () => {
  const SELECT_ONE = statement<{ one: number }>('test_one', 'SELECT 1 AS one');
  const SELECT_XID = statement<{ xid: string }>('test_xid', 'SELECT pg_current_xact_id()::text AS xid');
  const FAIL = statement<never>('test_fail', 'SELECT 1 / $1::int4');

  const open = (url: string) => {
    const pool = openPool({ url, settings: [] }, 1);
    return { pool, ...createTransactions({ pool, clock: systemClock, random: systemRandom, isDistributed: false }) };
  };

  it('whose COMMIT the server turns into a ROLLBACK fails with what was wrong', async (t) => {
    const { pool, write } = open(await databases.make(t));
    atEnd(t, () => pool.end());
    const failing = write((tx) => {
      // Nobody looks at this one, and the work seems to have gone well.
      void tx.run(FAIL, [0]);
      void tx.run(SELECT_ONE);
      return Promise.resolve('done');
    });
    await assert.rejects(failing, { code: '22012' });
    assert.equal(await write(async (tx) => (await tx.run(SELECT_ONE))[0]!.one), 1, 'the connection goes on');
  });

  it('that the server has never heard of did not happen: a standby was promoted before it got there', async (t) => {
    const { pool, write, isCommitted } = open(await databases.make(t));
    atEnd(t, () => pool.end());
    const xid = await write(async (tx) => (await tx.run(SELECT_XID))[0]!.xid);
    assert.ok(await isCommitted({ xid, proof: null }));
    assert.ok(!(await isCommitted({ xid: String(BigInt(xid) + 1_000_000n), proof: null })));
  });

  it('that meets a connection of somebody else, as a pooler by transaction gives, fails with what to do', async (t) => {
    const { pool, write, look } = open(await databases.make(t));
    atEnd(t, () => pool.end());
    const select = (tx: Tx) => tx.run(SELECT_ONE);
    await write(select);
    const says = { code: 'unwritable', message: /pool by session/ };
    await pool.query('DEALLOCATE ALL');
    await assert.rejects(look(select), says);
    await assert.rejects(write(select), says);
  });

  it('is planned anew when its tables have grown since', async (t) => {
    const url = await databases.make(t);
    const settings = ['plan_cache_mode = force_generic_plan'];
    const pool = openPool({ url, settings }, 1);
    atEnd(t, () => pool.end());
    let now = 0;
    const clock = { ...systemClock, monotonic: () => now };
    const { read, look, write } = createTransactions({ pool, clock, random: systemRandom, isDistributed: false });
    await pool.query('CREATE TABLE grown (n int4 PRIMARY KEY) WITH (autovacuum_enabled = off)');
    await pool.query('VACUUM ANALYZE grown');
    const FIND = statement<{ n: number }>('test_grown', 'SELECT n FROM grown WHERE n = $1::int4');
    const find = (tx: Tx) => tx.run(FIND, [7]);
    const planned = async (): Promise<string> =>
      JSON.stringify((await pool.query('EXPLAIN EXECUTE test_grown (7)')).rows);

    await write(find);
    await pool.query('INSERT INTO grown SELECT generate_series(1, 20000)');
    for (const work of [read, look, write]) assert.deepEqual(await work(find), [{ n: 7 }]);
    assert.match(await planned(), /Seq Scan/, 'the server has kept the plan for an empty table');
    for (const work of [read, look, write]) {
      await pool.query('TRUNCATE grown');
      await pool.query('VACUUM ANALYZE grown');
      await look(find);
      await pool.query('INSERT INTO grown SELECT generate_series(1, 20000)');
      now += 2_000;
      assert.deepEqual(await work(find), [{ n: 7 }]);
      assert.match(await planned(), /Index/);
    }
  });

  it('is tried again when another one was in the way', async (t) => {
    const { pool, write } = open(await databases.make(t));
    atEnd(t, () => pool.end());
    let tries = 0;
    const CONFLICT = `DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$`;
    const done = await write(async (tx) => {
      if (++tries < 3) await tx.run({ name: 'test_conflict', text: CONFLICT });
      return tries;
    });
    assert.equal(done, 3);
  });
});

describe('what cannot be stored', () => {
  it('fails alone, and the rest of its batch is accepted', async (t) => {
    const scene = new Scene(await databases.open(t));
    const destination = await scene.createDestination();
    const events = await Promise.all(Array.from({ length: 7 }, () => scene.event([destination])));
    events[4] = { ...events[4]!, type: 'order.\u0000' };
    const results = await scene.store.acceptEvents(events);
    const wanted = events.map((_, i) => (i === 4 ? 'failed' : 'accepted'));
    assert.deepEqual(
      results.map((one) => one.result),
      wanted,
    );
    assert.equal(await scene.unfinishedCount(), 6, 'nothing of it counts');
  });

  it('leaves what is stored accepted when the database goes away before the rest is', async (t) => {
    const proxy = await startProxy(await databases.make(t));
    atEnd(t, () => proxy.close());
    let commits = 0;
    const beforeStatement = (name: string): Promise<void> => {
      if (name === 'COMMIT') commits++;
      // All together and the first half have been tried.
      if (name === 'accept_at_once' && commits === 2) proxy.goAway();
      return Promise.resolve();
    };
    const store = await openPostgresStore(
      storeOptions(proxy.url, { clock: hastyClock, createPipeline: stepped(beforeStatement) }),
    );
    atEnd(t, () => store.close());
    const scene = new Scene(store);
    const destination = await scene.createDestination();
    const events = await Promise.all(Array.from({ length: 8 }, () => scene.event([destination])));
    events[6] = { ...events[6]!, type: 'order.\u0000' };
    commits = 0;
    const results = await store.acceptEvents(events);
    const wanted = events.map((_, i) => (i < 4 ? 'accepted' : 'failed'));
    assert.deepEqual(
      results.map((one) => one.result),
      wanted,
    );
    for (const one of results) if (one.result === 'failed') assert.ok(isUnavailable(one.error));
    proxy.comeBack();
    assert.equal((await scene.list()).rows.length, 4);
  });

  it('does not keep other results from being recorded, nor has them recorded twice', async (t) => {
    const scene = new Scene(await databases.open(t));
    const destination = await scene.createDestination();
    const deliveries = [];
    for (let i = 0; i < 5; i++) deliveries.push(await scene.acceptOne(destination));
    const results = deliveries.map(({ id }) => result(id, 0, retryAt(START)));
    // A decision that the schema refuses.
    results[3]!.decision = { ...succeed(), status: 'dead' };
    await assert.rejects(scene.record(...results), { code: '23514' });
    results[3]!.decision = succeed();
    const { outcomes } = await scene.record(...results);
    assert.deepEqual(
      outcomes,
      results.map(() => ({ result: 'recorded' })),
    );
    for (const { id } of deliveries) assert.equal((await scene.read(id))!.attemptCount, 1);
  });
});

describe('a server that takes no writes', () => {
  const isReadOnly = { code: 'unavailable', message: /is read-only .* primary/ };
  /** For connections that are made from now on, as when a name leads elsewhere. */
  const alter = (url: string, change: string) =>
    server.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} ${change}`);

  it('is none to open a store on, and the error says why', async (t) => {
    const url = await databases.make(t);
    await alter(url, 'SET default_transaction_read_only = on');
    await assert.rejects(openPostgresStore(storeOptions(url)), isReadOnly);
  });

  it('fails methods in bounded time, reading ones too, until there is one that does', async (t) => {
    const url = await databases.make(t);
    const store = await openPostgresStore(storeOptions(url, { clock: hastyClock }));
    atEnd(t, () => store.close());
    const scene = new Scene(store);
    const destination = await scene.createDestination();
    const { id } = await scene.acceptOne(destination);
    const event = await scene.event([destination]);
    await alter(url, 'SET default_transaction_read_only = on');
    await server.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname <> current_database()');
    await assert.rejects(scene.store.acceptEvents([event]), isReadOnly);
    await assert.rejects(scene.record(result(id, 0, succeed())), isReadOnly);
    await assert.rejects(scene.read(id), isReadOnly, 'what a standby has may be old');
    await alter(url, 'RESET default_transaction_read_only');
    assert.equal((await scene.store.acceptEvents([event]))[0]!.result, 'accepted');
    assert.deepEqual((await scene.record(result(id, 0, succeed()))).outcomes, [{ result: 'recorded' }]);
    assert.equal((await scene.read(id))!.status, 'succeeded');
  });
});

describe('a server that goes away', () => {
  it('is reached again after it ended all connections', async (t) => {
    const scene = new Scene(await databases.open(t));
    const destination = await scene.createDestination();
    const end = () =>
      server.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname <> current_database()');
    for (let i = 0; i < 3; i++) {
      await end();
      const { id } = await scene.acceptOne(destination);
      await end();
      assert.deepEqual((await scene.record(result(id, 0, succeed()))).outcomes, [{ result: 'recorded' }]);
    }
    // While work is under way, too.
    const busy = Array.from({ length: 20 }, () => scene.acceptOne(destination));
    await end();
    for (const { id } of await Promise.all(busy)) assert.equal((await scene.read(id))!.status, 'pending');
  });

  it('answers in bounded time while it is down, and goes on when it is back with all that was answered', async (t) => {
    const scene = new Scene(await databases.open(t, { clock: hastyClock }));
    const destination = await scene.createDestination();
    const { id } = await scene.acceptOne(destination);
    const event = await scene.event([destination]);
    await server.halt();
    await assert.rejects(scene.store.acceptEvents([event]), isUnavailable);
    await assert.rejects(scene.record(result(id, 0, succeed())), isUnavailable);
    await assert.rejects(scene.read(id), isUnavailable);
    await server.resume();
    assert.equal((await scene.store.acceptEvents([event]))[0]!.result, 'accepted');
    assert.deepEqual((await scene.record(result(id, 0, succeed()))).outcomes, [{ result: 'recorded' }]);
    assert.equal((await scene.read(id))!.status, 'succeeded');
    assert.equal(await scene.unfinishedCount(), 1);
  });

  it('is away, too, while it stands and lets nobody into the database', async (t) => {
    const url = await databases.make(t);
    const store = await openPostgresStore(storeOptions(url, { clock: hastyClock }));
    atEnd(t, () => store.close());
    const scene = new Scene(store);
    const destination = await scene.createDestination();
    const event = await scene.event([destination]);
    const name = new URL(url).pathname.slice(1);
    await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
    await assert.rejects(store.acceptEvents([event]), isUnavailable);
    await assert.rejects(store.readDestination({ environment: LIVE, id: destination }), isUnavailable);
    await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    assert.equal((await store.acceptEvents([event]))[0]!.result, 'accepted');
  });

  it('is no surprise in the middle of work: what was waiting is done when it is back', async (t) => {
    const scene = new Scene(await databases.open(t, { clock: patientClock }));
    const destination = await scene.createDestination();
    const event = await scene.event([destination]);
    const restarting = server.restart();
    const accepted = scene.store.acceptEvents([event]);
    await restarting;
    assert.equal((await accepted)[0]!.result, 'accepted');
    assert.equal((await scene.store.readEvent({ environment: LIVE, id: event.id }))!.deliveries.length, 1);
  });

  const kinds = {
    'an event': async (scene: Scene) => scene.store.acceptEvents([await scene.event([])]),
    'a destination': (scene: Scene) => scene.createDestination(),
  };
  for (const [what, make] of Object.entries(kinds)) {
    it(`answers ${what} only when a standby has it, where that is asked for`, async (t) => {
      const scene = new Scene(await databases.open(t, { clock: patientClock }));
      const askForStandby = async (names: string): Promise<void> => {
        await server.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
        await server.query('SELECT pg_reload_conf()');
      };
      atEnd(t, () => askForStandby(''));
      await askForStandby('away');
      let isAnswered = false;
      const made = make(scene).then(() => (isAnswered = true));
      const waiting = async (): Promise<unknown[]> => {
        const found = await server.query("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
        return isAnswered || found.length > 0 ? found : waiting();
      };
      const [cutOff] = (await waiting()) as [{ pid: number }];
      // It is committed, on this server alone.
      await server.query(`SELECT pg_terminate_backend(${cutOff.pid}, 10000)`);
      await waiting();
      assert.ok(!isAnswered, 'no standby has it');
      await askForStandby('');
      await made;
    });
  }
});
