// Starting on a database at the same moment as others: one lock decides who was first.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Client } from 'pg';
import { delay, systemClock } from '../../src/runtime/clock.ts';
import { openPostgresCopyTarget } from '../../src/store/postgres/copy/copy-target.ts';
import { openPostgresStore, type PostgresStoreOptions } from '../../src/store/postgres/postgres-store.ts';
import { TURN_LOCK } from '../../src/store/postgres/wire/turns.ts';
import { StoreError } from '../../src/store/store.ts';
import type { NewNode } from '../../src/store/cluster-store.ts';
import { Service, environmentOf, runCommand, startService } from '../e2e/service.ts';
import { MASTER_KEY, atEnd } from './data-dirs.ts';
import { restorePostgres } from './layouts/layouts.ts';
import { CITUS_URL } from './postgres/citus.ts';
import { sharedDatabases, storeOptions } from './postgres/databases.ts';
import { startProxy } from './postgres/proxy.ts';
import { stepped } from './postgres/stepped-pipeline.ts';
import { Scene } from './scene.ts';

const SOURCE = 'source-1';
const NOT_ON_CITUS = 'a layout is restored without Citus';
const HEX_KEY = Buffer.from(MASTER_KEY).toString('hex');
const WAIT_MS_MAX = 10_000;
const LOOK_EVERY_MS = 10;

const databases = sharedDatabases();

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

async function connect(t: TestContext, url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  atEnd(t, () => client.end());
  return client;
}

/** As a node that serves has it. */
async function open(t: TestContext, url: string, options: Partial<PostgresStoreOptions> = {}) {
  const store = await openPostgresStore(storeOptions(url, options));
  atEnd(t, () => store.close());
  const { ids } = new Scene(store);
  const node: NewNode = { id: ids.next('nod'), name: 'web-1', version: '1', address: '10.0.0.1:8383', leaseMs: 60_000 };
  return { store, cluster: store.cluster!, node };
}

async function openTarget(t: TestContext, url: string, options: Partial<PostgresStoreOptions> = {}) {
  const target = await openPostgresCopyTarget(storeOptions(url, options));
  atEnd(t, () => target.close());
  return target;
}

const refuses =
  (...words: string[]) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof StoreError, String(error));
    assert.equal(error.code, 'in_use', error.message);
    for (const word of words) assert.ok(error.message.includes(word), error.message);
    return true;
  };

/** Stops before the statement until it is let go, for a while at most. */
function stopBefore(statement: string) {
  const reached = Promise.withResolvers<void>();
  const letGo = Promise.withResolvers<void>();
  const beforeStatement = async (name: string): Promise<void> => {
    if (name !== statement) return;
    reached.resolve();
    // A test that fails has nobody who lets go.
    await Promise.race([letGo.promise, delay(systemClock, 2 * WAIT_MS_MAX)]);
  };
  return { createPipeline: stepped(beforeStatement), reached: reached.promise, letGo: () => letGo.resolve() };
}

/** Resolves when somebody waits for another's lock: of the kind that those who start take, unless told otherwise. */
async function whenSomebodyWaits(url: string, kind: 'advisory' | 'relation' = 'advisory'): Promise<void> {
  const sql = `SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
               WHERE d.datname = '${nameOf(url)}' AND l.locktype = '${kind}' AND NOT l.granted`;
  const deadline = performance.now() + WAIT_MS_MAX;
  while ((await databases.server.query(sql)).length === 0) {
    assert.ok(performance.now() < deadline, 'nobody waits');
    await delay(systemClock, LOOK_EVERY_MS);
  }
}

describe('a start', { skip: CITUS_URL === undefined ? false : NOT_ON_CITUS }, () => {
  it('waits for the count of a large backlog, which takes longer than other statements may', async (t) => {
    const url = await databases.make(t);
    const before = await open(t, url);
    await new Scene(before.store).createDestination();
    await before.store.close();
    const client = await connect(t, url);
    await client.query('ALTER TABLE open_deliveries RENAME TO kept');
    // Only the first of its statements sleeps, and leaves a lock for the others to see: all would take three minutes.
    const hasSlept = `EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 11)`;
    const sleep = 'concat(pg_advisory_lock(11), pg_sleep(11))';
    const whenSlept = `(SELECT CASE WHEN ${hasSlept} THEN '' ELSE ${sleep} END) = ''`;
    await client.query(`CREATE VIEW open_deliveries AS SELECT * FROM kept WHERE ${whenSlept}`);
    const { store } = await open(t, url);
    assert.deepEqual((await store.readStats()).unfinished, []);
  });
});

describe('the first node of a new version', { skip: CITUS_URL === undefined ? false : NOT_ON_CITUS }, () => {
  it('lets the others go on while somebody reads a table that it has to change', async (t) => {
    const url = await databases.makeEmpty(t);
    await restorePostgres(1, url);
    const [reader, other] = [await connect(t, url), await connect(t, url)];
    await reader.query('BEGIN');
    await reader.query('SELECT 1 FROM events');
    const opening = open(t, url);
    opening.catch(() => {});
    await whenSomebodyWaits(url, 'relation');
    await other.query(`SET lock_timeout = ${WAIT_MS_MAX}`);
    await other.query('DELETE FROM events WHERE false');
    await reader.query('COMMIT');
    assert.equal((await (await opening).store.readEnvironments()).length, 2);
  });
});

describe('the first keys', () => {
  it('are made by one of those who start together', async (t) => {
    const url = await databases.make(t);
    const { createPipeline, reached, letGo } = stopBefore('api_keys_insert');
    const [fast, slow] = [await open(t, url, { createPipeline }), await open(t, url)];
    const [first, second] = [new Scene(fast.store).apiKey(), new Scene(slow.store).apiKey()];
    const making = fast.store.createFirstApiKeys([first]);
    await reached;
    const late = slow.store.createFirstApiKeys([second]);
    await whenSomebodyWaits(url);
    letGo();
    assert.deepEqual(await Promise.all([making, late]), [true, false]);
    assert.deepEqual(await fast.store.readApiKeys(), [first]);
  });

  it('are not made in a database that a copy is going into', async (t) => {
    const url = await databases.make(t);
    const { store } = await open(t, url);
    const target = await openTarget(t, url);
    await target.begin(SOURCE);
    await assert.rejects(store.createFirstApiKeys([new Scene(store).apiKey()]), refuses('copy command'));
  });

  it('are printed by one of two services that start together', async (t) => {
    const settings = { DATABASE_URL: await databases.make(t), MASTER_KEY: HEX_KEY };
    const services = [new Service(settings), new Service(settings)];
    for (const service of services) atEnd(t, () => service.end());
    await Promise.all(services.map((service) => service.start()));
    assert.equal(services.filter(({ key }) => key !== '').length, 1);
  });
});

describe('a database that is away from the second connection on', () => {
  for (const command of [['serve'], ['keys', 'list']]) {
    it(`ends ${command.join(' ')} with the cause, in bounded time`, async (t) => {
      const proxy = await startProxy(await databases.make(t));
      atEnd(t, () => proxy.close());
      proxy.admit(1);
      const environment = environmentOf({ DATABASE_URL: proxy.url, MASTER_KEY: HEX_KEY, PORT: '0' });
      const { code, stderr } = await runCommand(command, environment);
      assert.equal(code, 1, stderr);
      assert.match(stderr, /POSTRIDER_DATABASE_URL cannot be reached: (Connection terminated|read ECONNRESET)/);
    });
  }
});

describe('a service on PostgreSQL', () => {
  it('says which database it serves, without the password', async (t) => {
    const url = new URL(await databases.make(t));
    url.password = 'not-to-be-shown';
    const service = await startService(t, { DATABASE_URL: url.href, MASTER_KEY: HEX_KEY });
    await service.stop();
    const { database, data_dir: dataDir } = service.logEntries().find(({ msg }) => msg === 'listening')!;
    assert.deepEqual([database, dataDir], [`${url.host}${url.pathname}`, undefined]);
    assert.ok(!service.output.includes('not-to-be-shown'));
  });
});

describe('a copy into a database that a node serves', () => {
  it('is refused, with the name of the node, though the database is empty', async (t) => {
    const url = await databases.make(t);
    const { cluster, node } = await open(t, url);
    await cluster.addNode(node);
    const target = await openTarget(t, url);
    await assert.rejects(target.begin(SOURCE), refuses('web-1', '10.0.0.1:8383', 'stop'));
    await cluster.removeNode(node.id);
    assert.equal((await target.begin(SOURCE)).isComplete, false);
    await assert.rejects(cluster.addNode(node), refuses('copy command'));
  });

  it('is refused also when it would go on', async (t) => {
    const url = await databases.make(t);
    const { cluster, node } = await open(t, url);
    const target = await openTarget(t, url);
    await target.begin(SOURCE);
    // As a version that did not look would have left it.
    await databases.server.query(`UPDATE meta SET name = 'hidden' WHERE name = 'copy'`, nameOf(url));
    await cluster.addNode(node);
    await databases.server.query(`UPDATE meta SET name = 'copy' WHERE name = 'hidden'`, nameOf(url));
    await assert.rejects(target.begin(SOURCE), refuses('web-1'));
  });

  it('counts nobody whose lease has run out; one that wakes up finds itself removed, and is refused', async (t) => {
    const url = await databases.make(t);
    const { cluster, node } = await open(t, url);
    await cluster.addNode(node);
    await cluster.takeShards({ node: node.id, shards: [1, 2, 3] });
    await databases.server.query('UPDATE nodes SET heartbeat_at = heartbeat_at - 2 * lease_ms', nameOf(url));
    const target = await openTarget(t, url);
    await target.begin(SOURCE);
    assert.equal(await cluster.renewLease(node.id), null);
    await assert.rejects(cluster.addNode(node), refuses('copy command'));
    assert.deepEqual(new Set((await cluster.readCluster()).owners), new Set([null]));
  });

  it('waits for a node that is just starting, and is then refused', async (t) => {
    const url = await databases.make(t);
    const { createPipeline, reached, letGo } = stopBefore('nodes_upsert');
    const { cluster, node } = await open(t, url, { createPipeline });
    const target = await openTarget(t, url);
    const adding = cluster.addNode(node);
    await reached;
    const beginning = assert.rejects(target.begin(SOURCE), refuses('web-1'));
    await whenSomebodyWaits(url);
    letGo();
    await adding;
    await beginning;
  });

  it('makes a node wait that starts at that moment, and then refuses it', async (t) => {
    const url = await databases.make(t);
    const { createPipeline, reached, letGo } = stopBefore('copy_progress_insert');
    const { cluster, node } = await open(t, url);
    const target = await openTarget(t, url, { createPipeline });
    const beginning = target.begin(SOURCE);
    await reached;
    const adding = assert.rejects(cluster.addNode(node), refuses('copy command'));
    await whenSomebodyWaits(url);
    letGo();
    await beginning;
    await adding;
  });

  it('ends a service that was about to serve', async (t) => {
    const url = await databases.make(t);
    const environment = environmentOf({ DATABASE_URL: url, MASTER_KEY: HEX_KEY, PORT: '0' });
    assert.equal((await runCommand(['keys', 'create', '--mode', 'test'], environment)).code, 0);
    // So that the service has opened everything and listens before it learns of the copy.
    const holder = await connect(t, url);
    await holder.query(`SELECT pg_advisory_lock(${TURN_LOCK})`);
    const serving = runCommand(['serve'], environment);
    await whenSomebodyWaits(url);
    const unfinished = Buffer.from(JSON.stringify({ sourceId: SOURCE, isComplete: false, tables: {} })).toString('hex');
    await holder.query(`INSERT INTO meta (name, value) VALUES ('copy', '\\x${unfinished}')`);
    await holder.query(`SELECT pg_advisory_unlock(${TURN_LOCK})`);
    const { code, stderr } = await serving;
    assert.equal(code, 1, stderr);
    assert.match(stderr, /copy command/);
  });
});
