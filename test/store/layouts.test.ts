// What is stored stays: a store of every layout that was ever landed opens, is migrated, and shows all that it showed.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Client } from 'pg';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { databasePath } from '../../src/store/sqlite/file/data-dir.ts';
import { openDatabase } from '../../src/store/sqlite/file/database.ts';
import { atEnd, makeDataDir, openServer } from './data-dirs.ts';
import { TAKEN_KEY, readEverything } from './everything.ts';
import { listLayouts, restorePostgres, restoreSqlite, toText } from './layouts/layouts.ts';
import { CITUS_URL } from './postgres/citus.ts';
import { sharedDatabases, storeOptions } from './postgres/databases.ts';
import { LIVE, START } from './scene.ts';

const databases = sharedDatabases();

describe('SQLite', () => {
  for (const version of listLayouts('sqlite')) {
    it(`opens layout ${version}, and again what became of it`, async (t) => {
      const dataDir = makeDataDir(t);
      const before = restoreSqlite(version, dataDir);
      const store = await openServer(t, dataDir);
      assertShown(await readEverything(store), before);
      await store.close();
      assertShown(await readEverything(await openServer(t, dataDir)), before);
    });
  }

  const FIRST_DAY = {
    'the first day left, whose idempotency keys had no hash': [],
    'became of it when 7 had landed, and did not make the hashes yet': [2, 4, 5, 6, 7],
  };
  for (const [what, passed] of Object.entries(FIRST_DAY)) {
    it(`opens what ${what}`, async (t) => {
      const dataDir = makeDataDir(t);
      const before = restoreSqlite(1, dataDir);
      const db = openDatabase(databasePath(dataDir));
      db.exec(`
        ALTER TABLE idempotency RENAME TO hashed;
        CREATE TABLE idempotency (
          environment INTEGER NOT NULL,
          key         TEXT NOT NULL,
          event_id    BLOB NOT NULL,
          fingerprint BLOB NOT NULL,
          expires_at  INTEGER NOT NULL,
          PRIMARY KEY (environment, key)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO idempotency SELECT environment, key, event_id, fingerprint, expires_at FROM hashed;
        DROP TABLE hashed;
        CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
      `);
      for (const number of passed) db.exec(`${readMigration('sqlite', number)}; PRAGMA user_version = ${number}`);
      db.close();
      const store = await openServer(t, dataDir);
      assertShown(await readEverything(store), before);
      assert.ok(await store.readKeyHolder({ environment: LIVE, key: TAKEN_KEY, now: START }));
    });
  }

  it('opens what had passed over the numbers below 5, which landed before them', async (t) => {
    const dataDir = makeDataDir(t);
    const before = restoreSqlite(1, dataDir);
    const db = openDatabase(databasePath(dataDir));
    db.exec(readMigration('sqlite', 5));
    db.exec('PRAGMA user_version = 5');
    db.close();
    assertShown(await readEverything(await openServer(t, dataDir)), before);
  });
});

describe('PostgreSQL', { skip: CITUS_URL === undefined ? false : 'a layout is restored without Citus' }, () => {
  for (const version of listLayouts('postgres')) {
    it(`opens layout ${version}`, async (t) => {
      const url = await databases.makeEmpty(t);
      const before = await restorePostgres(version, url);
      const store = await openPostgresStore(storeOptions(url));
      atEnd(t, () => store.close());
      assertShown(await readEverything(store), before);
    });
  }

  it('opens what is not in the schema in which new tables would be made', async (t) => {
    const url = await databases.makeEmpty(t);
    const before = await restorePostgres(6, url);
    const database = new URL(url).pathname.slice(1);
    await databases.server.query('CREATE SCHEMA later', database);
    await databases.server.query(`ALTER DATABASE ${database} SET search_path = later, public`);
    const store = await openPostgresStore(storeOptions(url));
    atEnd(t, () => store.close());
    assertShown(await readEverything(store), before);
  });

  it('opens what had passed over the numbers below 5, which landed before them', async (t) => {
    const url = await databases.makeEmpty(t);
    const before = await restorePostgres(1, url);
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query('DROP TABLE nodes, shards, barriers');
    await client.query(readMigration('postgres', 5));
    await client.query(`UPDATE meta SET value = '5' WHERE name = 'schema_version'`);
    await client.end();
    const store = await openPostgresStore(storeOptions(url));
    atEnd(t, () => store.close());
    assertShown(await readEverything(store), before);
    assert.equal((await store.cluster!.readCluster()).owners.length, 256);
  });
});

function readMigration(adapter: 'sqlite' | 'postgres', number: number): string {
  const folder = new URL(`../../src/store/${adapter}/migrations/`, import.meta.url);
  const name = readdirSync(folder).find((one) => Number.parseInt(one, 10) === number)!;
  return readFileSync(new URL(name, folder), 'utf8');
}

/** A later version may show more of a thing, never less or something else. */
function assertShown(now: unknown, before: unknown): void {
  assert.deepEqual(sharedPart(JSON.parse(toText(now)), before), before);
}

function sharedPart(now: unknown, before: unknown): unknown {
  if (Array.isArray(now) && Array.isArray(before)) return now.map((one, i) => sharedPart(one, before[i]));
  if (!isObject(now) || !isObject(before)) return now;
  return Object.fromEntries(
    Object.entries(now).flatMap(([name, one]) => (name in before ? [[name, sharedPart(one, before[name])]] : [])),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
