// Moving the embedded store to PostgreSQL: everything is there afterwards, however often the copy was cut off, and what
// must not be copied, or copied over, is refused.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { copyStore, type CopyReport } from '../../src/store/copy.ts';
import { openPostgresCopyTarget } from '../../src/store/postgres/copy/copy-target.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { COPIED_TABLES } from '../../src/store/rows/copied-tables.ts';
import { databasePath } from '../../src/store/sqlite/file/data-dir.ts';
import { openDatabase } from '../../src/store/sqlite/file/database.ts';
import { StoreError, type StoreErrorCode } from '../../src/store/store.ts';
import { MASTER_KEY, atEnd, makeDataDir, openServer } from './data-dirs.ts';
import { TAKEN_KEY, fill, readEverything } from './everything.ts';
import { CITUS_URL } from './postgres/citus.ts';
import { sharedDatabases, storeOptions } from './postgres/databases.ts';
import { stepped } from './postgres/stepped-pipeline.ts';
import type { Layout } from '../../src/store/postgres/schema/migrate.ts';
import { databaseOf } from './postgres/server.ts';
import { DAY, Scene } from './scene.ts';

const databases = sharedDatabases();

const HEX_KEY = Buffer.from(MASTER_KEY).toString('hex');

type CopyOptions = Parameters<typeof copyStore>[0];

function copy(dataDir: string, databaseUrl: string, options: Partial<CopyOptions> = {}): Promise<CopyReport> {
  return copyStore({
    dataDir,
    databaseUrl,
    masterKey: HEX_KEY,
    clock: systemClock,
    random: systemRandom,
    onProgress: () => {},
    ...options,
  });
}

/** A data directory that a server has left, with all there can be in it. */
async function makeSource(t: TestContext): Promise<{ dataDir: string; now: number }> {
  const dataDir = makeDataDir(t);
  const scene = new Scene(await openServer(t, dataDir));
  await fill(scene);
  await scene.store.close();
  return { dataDir, now: scene.now };
}

async function open(t: TestContext, url: string) {
  const store = await openPostgresStore(storeOptions(url));
  atEnd(t, () => store.close());
  return store;
}

const refuses =
  (code: StoreErrorCode, ...words: string[]) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof StoreError, String(error));
    assert.equal(error.code, code, error.message);
    for (const word of words) assert.ok(error.message.includes(word), error.message);
    return true;
  };

/** Ends the copy at the first step of which this holds, as a fault would. */
async function cutOff(dataDir: string, url: string, isThere: (table: string) => boolean): Promise<void> {
  const onProgress: CopyOptions['onProgress'] = ({ doing, table }) => {
    if (doing === 'copying' && isThere(table)) throw new Error('cut off');
  };
  await assert.rejects(copy(dataDir, url, { onProgress }), /cut off/);
}

describe('a copy', () => {
  it('has everything that the embedded store had, as its interface shows it', async (t) => {
    const { dataDir, now } = await makeSource(t);
    const url = await databases.makeEmpty(t);
    const report = await copy(dataDir, url);
    assert.equal(report.isResumed, false);
    for (const [table, { rows }] of Object.entries(report.tables)) assert.ok(rows > 0, table);

    const target = await open(t, url);
    const source = await openServer(t, dataDir);
    assert.deepEqual(await readEverything(target), await readEverything(source));
    const scene = new Scene(target);
    scene.now = now - DAY / 2;
    const again = await scene.event([], {
      idempotencyKey: TAKEN_KEY,
      idempotency: { fingerprint: new Uint8Array(32), expiresAt: scene.now + DAY },
    });
    const [accepted] = await target.acceptEvents([again]);
    assert.equal(accepted!.result, 'duplicate', 'idempotency keys go on');
  });

  it('fits a database that is laid out to be distributed', async (t) => {
    const { dataDir } = await makeSource(t);
    const url = await databases.make(t, 'distributed');
    const report = await copy(dataDir, url);
    assert.ok(report.tables.attempts.rows > 0);
    const target = await open(t, url);
    assert.deepEqual(await readEverything(target), await readEverything(await openServer(t, dataDir)));
  });

  it('leaves no commit for later where others commit with it', async (t) => {
    const [table] = COPIED_TABLES.filter(({ name }) => name === 'events');
    const putOff = async (layout: Layout): Promise<boolean> => {
      const names: string[] = [];
      const beforeStatement = async (name: string): Promise<void> => void names.push(name);
      const url = await databases.make(t, layout);
      const target = await openPostgresCopyTarget(storeOptions(url, { createPipeline: stepped(beforeStatement) }));
      await target.begin('a source');
      await target.insert(table!, { rows: [], progress: { rows: 0, position: null, isDone: true } });
      await target.close();
      return names.includes('copy_asynchronous');
    };
    // A cluster given from outside is never laid out for one machine.
    assert.equal(await putOff('partitioned'), CITUS_URL === undefined);
    assert.equal(await putOff('distributed'), false);
  });

  it('goes on after any table it was cut off in, and cannot be served before', async (t) => {
    const { dataDir } = await makeSource(t);
    const url = await databases.makeEmpty(t);
    for (const table of ['destinations', 'event_bodies', 'attempts']) {
      await cutOff(dataDir, url, (name) => name === table);
      await assert.rejects(openPostgresStore(storeOptions(url)), refuses('in_use', 'copy command'));
    }
    const report = await copy(dataDir, url);
    assert.equal(report.isResumed, true);
    const target = await open(t, url);
    assert.deepEqual(await readEverything(target), await readEverything(await openServer(t, dataDir)));
  });

  it('of many rows goes over in chunks, and goes on within a table', async (t) => {
    const dataDir = makeDataDir(t);
    const scene = new Scene(await openServer(t, dataDir));
    const destination = await scene.createDestination();
    const events = await Promise.all(Array.from({ length: 5_000 }, () => scene.event([destination, destination])));
    for (let i = 0; i < events.length; i += 500) await scene.store.acceptEvents(events.slice(i, i + 500));
    await scene.store.close();
    const url = await databases.makeEmpty(t);
    const steps: [string, number][] = [];
    const onProgress: CopyOptions['onProgress'] = ({ doing, table, rows }) => {
      if (doing === 'copying') steps.push([table, rows]);
      if (doing === 'copying' && table === 'open_deliveries' && rows > 3_000) throw new Error('cut off');
    };
    await assert.rejects(copy(dataDir, url, { onProgress }), /cut off/);
    const [{ count }] = (await databases.server.query(
      'SELECT count(*)::int FROM open_deliveries',
      databaseOf(url),
    )) as [{ count: number }];
    assert.ok(count >= 4_000 && count < 10_000, `${count}`);
    const report = await copy(dataDir, url);
    assert.equal(report.isResumed, true);
    assert.equal(report.tables.open_deliveries.rows, 10_000);
    assert.ok(steps.filter(([table]) => table === 'events').length > 2, 'in chunks');
  });
});

describe('a copy is refused', () => {
  it('while the source is served', async (t) => {
    const dataDir = makeDataDir(t);
    await openServer(t, dataDir);
    await assert.rejects(copy(dataDir, await databases.makeEmpty(t)), refuses('in_use', dataDir));
  });

  it('and nothing is made, where there is no store', async (t) => {
    const dataDir = makeDataDir(t);
    const url = await databases.makeEmpty(t);
    await assert.rejects(copy(dataDir, url, { masterKey: null }), refuses('missing', dataDir));
    assert.deepEqual(await databases.server.query(`SELECT to_regclass('meta') AS made`, databaseOf(url)), [
      { made: null },
    ]);
  });

  it('with another master key than the source has', async (t) => {
    const { dataDir } = await makeSource(t);
    const masterKey = '00'.repeat(32);
    await assert.rejects(copy(dataDir, await databases.makeEmpty(t), { masterKey }), refuses('wrong_master_key'));
  });

  it('into a database that is used, by a configuration or by no more than a key', async (t) => {
    const { dataDir } = await makeSource(t);
    const url = await databases.make(t);
    const scene = new Scene(await open(t, url));
    const key = scene.apiKey();
    await scene.store.createApiKey(key);
    await assert.rejects(copy(dataDir, url), refuses('unwritable', 'empty'));
    await scene.store.revokeApiKey({ environments: [1, 2], id: key.id });
    await assert.rejects(copy(dataDir, url), refuses('unwritable', 'empty'));
  });

  it('into a database that something else lives in', async (t) => {
    const { dataDir } = await makeSource(t);
    const url = await databases.makeEmpty(t);
    await databases.server.query('CREATE TABLE environments (name text)', databaseOf(url));
    await assert.rejects(copy(dataDir, url), refuses('corrupt'));
  });

  it('into the beginning of another store’s copy, and into a finished one', async (t) => {
    const [one, other] = [await makeSource(t), await makeSource(t)];
    const url = await databases.makeEmpty(t);
    await cutOff(one.dataDir, url, (table) => table === 'events');
    await assert.rejects(copy(other.dataDir, url), refuses('unwritable', 'another store'));
    await copy(one.dataDir, url);
    await assert.rejects(copy(one.dataDir, url), refuses('unwritable', 'finished'));
  });

  it('to go on once the source has been served again', async (t) => {
    const { dataDir } = await makeSource(t);
    const url = await databases.makeEmpty(t);
    await cutOff(dataDir, url, (table) => table === 'events');
    await (await openServer(t, dataDir)).close();
    await assert.rejects(copy(dataDir, url), refuses('unwritable', 'served again'));
  });

  it('in the end, when the two sides differ, and the database cannot be served', async (t) => {
    const { dataDir } = await makeSource(t);
    const url = await databases.makeEmpty(t);
    await cutOff(dataDir, url, (table) => table === 'attempts');
    const db = openDatabase(databasePath(dataDir));
    db.exec(`UPDATE events SET type = 'order.changed' WHERE type = 'order.paid'`);
    db.close();
    await assert.rejects(copy(dataDir, url), refuses('corrupt', 'events'));
    await assert.rejects(openPostgresStore(storeOptions(url)), refuses('in_use'));
  });
});
