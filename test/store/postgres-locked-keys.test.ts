// An idempotency key that a transaction without an end holds, as a prepared one does whose coordinator is gone: who
// needs that key is refused, and everybody else is served.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Client } from 'pg';
import { systemClock } from '../../src/runtime/clock.ts';
import { openPostgresStore, type PostgresStoreOptions } from '../../src/store/postgres/postgres-store.ts';
import { shardOfKey } from '../../src/store/postgres/queries/events/idempotency.ts';
import { StoreError, type AcceptResult, type NewEvent } from '../../src/store/store.ts';
import { Api } from '../e2e/api.ts';
import { startService } from '../e2e/service.ts';
import { MASTER_KEY, atEnd } from './data-dirs.ts';
import { sharedDatabases, storeOptions } from './postgres/databases.ts';
import { stepped } from './postgres/stepped-pipeline.ts';
import type { Layout } from '../../src/store/postgres/schema/migrate.ts';
import { databaseOf } from './postgres/server.ts';
import { DAY, LIVE, Scene, TEST } from './scene.ts';

const databases = sharedDatabases();

/** Another session that has taken these keys and neither commits nor rolls back until it is told to. */
async function holdKeys(t: TestContext, url: string, keys: readonly string[], environment = LIVE): Promise<Client> {
  const holder = new Client({ connectionString: url });
  await holder.connect();
  atEnd(t, () => holder.end());
  await holder.query('BEGIN');
  for (const key of keys) {
    await holder.query(
      `INSERT INTO idempotency (shard, environment, key, event_id, fingerprint, expires_at)
       VALUES ($1, $2, $3, gen_random_uuid(), '', 0)`,
      [shardOfKey(environment, key), environment, key],
    );
  }
  return holder;
}

/** Far longer than a statement that waits for nobody takes, on whatever machine. */
const PATIENT = { keyWaitMs: 4_000, clock: { ...systemClock, monotonic: () => systemClock.monotonic() / 20 } };

/** What the store sends, by name. */
async function openWatched(t: TestContext, layout: Layout, options: Partial<PostgresStoreOptions> = PATIENT) {
  const url = await databases.make(t, layout);
  const sent: string[] = [];
  const beforeStatement = (name: string): Promise<void> => {
    sent.push(name);
    return Promise.resolve();
  };
  const store = await openPostgresStore(storeOptions(url, { ...options, createPipeline: stepped(beforeStatement) }));
  atEnd(t, () => store.close());
  const scene = new Scene(store);
  return { url, scene, sent, destination: await scene.createDestination() };
}

const keyed = (scene: Scene, idempotencyKey: string): Partial<NewEvent> => ({
  idempotencyKey,
  idempotency: { fingerprint: new Uint8Array(32), expiresAt: scene.now + DAY },
});

const isHeld = (one: AcceptResult): boolean =>
  one.result === 'failed' && one.error instanceof StoreError && one.error.code === 'key_locked';

for (const layout of ['partitioned', 'distributed'] as const) {
  describe(`a key that another transaction holds (${layout})`, () => {
    it('is refused to who needs it, and the rest of its batch is accepted', async (t) => {
      const { url, scene, destination } = await openWatched(t, layout);
      const holder = await holdKeys(t, url, ['held']);
      const make = (key: string | null) => scene.event([destination], key === null ? {} : keyed(scene, key));
      const events = await Promise.all(['a', null, 'b', 'held', 'c', null, 'd', 'b'].map(make));
      const results = await scene.store.acceptEvents(events);
      assert.deepEqual(
        results.map(({ result }) => result),
        ['accepted', 'accepted', 'accepted', 'failed', 'accepted', 'accepted', 'accepted', 'duplicate'],
      );
      assert.ok(isHeld(results[3]!));
      assert.equal(await scene.unfinishedCount(), 6, 'nothing of the others counts');
      await holder.query('ROLLBACK');
      assert.equal((await scene.store.acceptEvents([events[3]!]))[0]!.result, 'accepted');
    });

    it('does not keep a second batch waiting: its event is tried apart', async (t) => {
      const { url, scene, sent, destination } = await openWatched(t, layout);
      await holdKeys(t, url, ['held']);
      const make = (key: string) => scene.event([destination], keyed(scene, key));
      await scene.store.acceptEvents(await Promise.all(['a', 'held', 'b', 'c'].map(make)));
      const events = await Promise.all(['d', 'held', 'e', 'f'].map(make));
      sent.length = 0;
      const results = await scene.store.acceptEvents(events);
      assert.deepEqual(
        results.map(({ result }) => result),
        ['accepted', 'failed', 'accepted', 'accepted'],
      );
      const trying = layout === 'partitioned' ? 'accept_at_once' : 'transaction_xid';
      assert.equal(sent.filter((name) => name === trying).length, 2, 'one for the others, one for it');
      assert.ok(sent.indexOf('COMMIT') < sent.lastIndexOf(trying), 'the others came first');
    });

    it('is one of very many: they are not waited for one by one, and who has no key is accepted', async (t) => {
      const keyWaitMs = 500;
      const { url, scene, sent, destination } = await openWatched(t, layout, { keyWaitMs });
      const names = Array.from({ length: 64 }, (_, i) => `held-${i}`);
      await holdKeys(t, url, names);
      const events = await Promise.all(
        names.flatMap((key) => [scene.event([destination], keyed(scene, key)), scene.event([destination])]),
      );
      sent.length = 0;
      const results = await scene.store.acceptEvents(events);
      for (const [i, result] of results.entries()) {
        assert.ok(i % 2 === 0 ? isHeld(result) : result.result === 'accepted', JSON.stringify(result));
      }
      // The first wait, then shorter ones of 150 ms for two seconds, and the one that is under way by then.
      const waits = sent.filter((name) => name === 'idempotency_limit_wait').length;
      assert.ok(waits <= 1 + 14 + 1, `${waits} waits`);
    });

    it('leaves the time-outs of what follows as they were', async (t) => {
      const { url, scene, destination } = await openWatched(t, layout);
      await databases.server.query(
        `CREATE TABLE seen (lock_timeout text, statement_timeout text);
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           INSERT INTO seen VALUES (current_setting('lock_timeout'), current_setting('statement_timeout'));
           RETURN NULL;
         END $$;
         CREATE TRIGGER note AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION note()`,
        databaseOf(url),
      );
      const [answer] = await scene.store.acceptEvents([await scene.event([destination], keyed(scene, 'a'))]);
      assert.equal(answer!.result, 'accepted');
      const seen = await databases.server.query('SELECT * FROM seen', databaseOf(url));
      assert.deepEqual(seen, [{ lock_timeout: '4s', statement_timeout: '10s' }]);
    });
  });
}

it('is told to its sender as unavailable, with the field to blame, while others are answered', async (t) => {
  const url = await databases.make(t);
  const service = await startService(t, { DATABASE_URL: url, MASTER_KEY: Buffer.from(MASTER_KEY).toString('hex') });
  const api = new Api(service, service.key);
  const holder = await holdKeys(t, url, ['held'], TEST);
  const publish = (key: string) => api.send('POST', '/v1/events', { type: 'a.b', body: {}, idempotency_key: key });
  // Whoever is refused because a machine with much else to do had no time left for the others tries again.
  const publishAll = async (key: string): Promise<void> => {
    while ((await publish(key)).status !== 202);
  };
  const [refused] = await Promise.all([publish('held'), ...['a', 'b', 'c'].map(publishAll)]);
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get('retry-after'), '1');
  const { error } = JSON.parse(refused.text) as { error: { code: string; param: string } };
  assert.deepEqual([error.code, error.param], ['unavailable', '/idempotency_key']);
  await holder.query('ROLLBACK');
  assert.equal((await publish('held')).status, 202);
});
