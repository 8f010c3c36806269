// Opening: many at once, with the right key only, and no database that is not ours.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { systemRandom } from '../../src/runtime/random.ts';
import { openStore, openToolStore } from '../../src/store/open.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { openPool } from '../../src/store/postgres/wire/connections.ts';
import { StoreError, type StoreErrorCode } from '../../src/store/store.ts';
import { atEnd } from './data-dirs.ts';
import { sharedDatabases, storeOptions } from './postgres/databases.ts';
import { LIVE, Scene } from './scene.ts';

const databases = sharedDatabases();

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

const refuses =
  (code: StoreErrorCode, ...words: string[]) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof StoreError, String(error));
    assert.equal(error.code, code);
    for (const word of words) assert.ok(error.message.includes(word), error.message);
    return true;
  };

describe('opening', () => {
  it('makes the schema once, however many start together', async (t) => {
    const url = await databases.makeEmpty(t);
    const stores = await Promise.all(Array.from({ length: 3 }, () => openPostgresStore(storeOptions(url))));
    const scenes = stores.map((store) => new Scene(store));
    const ids = await Promise.all(scenes.map((scene) => scene.createDestination()));
    for (const { store } of scenes) {
      for (const id of ids) assert.notEqual(await store.readDestination({ environment: LIVE, id }), null);
      assert.equal((await store.readEnvironments())[0]!.configVersion, 3);
    }
    await Promise.all(stores.map((store) => store.close()));
  });

  it('is not led astray by what the database has its sessions begin with', async (t) => {
    const url = await databases.makeEmpty(t);
    const settings = [
      "bytea_output = 'escape'",
      "default_transaction_isolation = 'serializable'",
      'extra_float_digits = 0',
    ];
    for (const setting of settings) {
      await databases.server.query(`ALTER DATABASE ${nameOf(url)} SET ${setting}`);
    }
    const stores = await Promise.all(Array.from({ length: 4 }, () => openPostgresStore(storeOptions(url))));
    const destinations = await Promise.all(stores.map((store) => new Scene(store).createDestination()));
    assert.equal(new Set(destinations).size, stores.length);
    const thirds = new Scene(stores[0]!).destination({ ratePerSecond: 1_000 / 3 });
    await stores[0]!.createDestination(thirds, { max: 100 });
    const read = await stores[0]!.readDestination({ environment: LIVE, id: thirds.id });
    assert.equal(read!.ratePerSecond, 1_000 / 3);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('commits durably where the database has its sessions not do so, and as it says where that is safe', async (t) => {
    const url = await databases.makeEmpty(t);
    for (const [given, kept] of [
      ['off', 'on'],
      ['remote_apply', 'remote_apply'],
    ]) {
      await databases.server.query(`ALTER DATABASE ${nameOf(url)} SET synchronous_commit = ${given}`);
      const pool = openPool({ url, settings: [] }, 1);
      const { rows } = await pool.query<{ synchronous_commit: string }>('SHOW synchronous_commit');
      await pool.end();
      assert.equal(rows[0]!.synchronous_commit, kept);
    }
  });

  it('asks at the start of a connection for nothing that a pooler does not know', async (t) => {
    const asked: string[][] = [];
    const pooler = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', (data: Buffer) => {
        // Length and version of the protocol come first.
        asked.push(data.subarray(8).toString().split('\0'));
        socket.destroy();
      });
    }).listen(0, '127.0.0.1');
    atEnd(t, () => pooler.close());
    await once(pooler, 'listening');
    const url = `postgres://us@127.0.0.1:${(pooler.address() as AddressInfo).port}/events`;
    await assert.rejects(openPostgresStore(storeOptions(url)), refuses('unavailable'));
    const names = asked[0]!.filter((text, i) => i % 2 === 0 && text !== '');
    assert.deepEqual(names.toSorted(), ['application_name', 'client_encoding', 'database', 'user']);
  });

  it('refuses another master key, and leaves everything as it was', async (t) => {
    const url = await databases.make(t);
    const masterKey = systemRandom.bytes(32);
    await assert.rejects(
      openPostgresStore(storeOptions(url, { masterKey })),
      refuses('wrong_master_key', 'MASTER_KEY'),
    );
    await (await openPostgresStore(storeOptions(url))).close();
  });

  it('needs a master key to be given', async (t) => {
    const options = { databaseUrl: await databases.make(t), dataDir: '', masterKey: null, random: systemRandom };
    const missing = refuses('wrong_setting', 'MASTER_KEY', 'openssl');
    await assert.rejects(openStore(options), missing);
    await assert.rejects(openToolStore({ ...options, clock: systemClock, mayMake: false }), missing);
  });

  it('refuses a schema that a newer program made', async (t) => {
    const url = await databases.make(t);
    await databases.server.query(`UPDATE meta SET value = '999' WHERE name = 'schema_version'`, nameOf(url));
    await assert.rejects(openPostgresStore(storeOptions(url)), refuses('newer_schema', '999'));
  });

  it('refuses a database that holds something else', async (t) => {
    const url = await databases.makeEmpty(t);
    const refused = refuses('corrupt', 'DATABASE_URL');
    await databases.server.query('CREATE TABLE environments (name text)', nameOf(url));
    await assert.rejects(openPostgresStore(storeOptions(url)), refused);
    for (const columns of ['key text', 'name int4', 'name text, value int4']) {
      await databases.server.query(`CREATE TABLE meta (${columns})`, nameOf(url));
      if (columns.includes('value')) {
        await databases.server.query("INSERT INTO meta VALUES ('schema_version', 1)", nameOf(url));
      }
      await assert.rejects(openPostgresStore(storeOptions(url)), refused, columns);
      await databases.server.query('DROP TABLE meta', nameOf(url));
    }
  });

  it('makes no store where not every text can be stored', async (t) => {
    const name = `latin_${process.pid}`;
    await databases.server.query(`CREATE DATABASE ${name} ENCODING 'LATIN1' TEMPLATE template0`);
    atEnd(t, () => databases.server.drop(name));
    const url = databases.server.urlOf(name);
    await assert.rejects(openPostgresStore(storeOptions(url)), refuses('unwritable', 'LATIN1', 'UTF8'));
    assert.deepEqual(await databases.server.query('SELECT 1 FROM pg_class WHERE relname = $$meta$$', name), []);
  });

  it('does not take its own tables for those of something else when it may not read them', async (t) => {
    const url = await databases.make(t);
    const role = nameOf(url);
    await databases.server.query(`CREATE ROLE ${role} LOGIN`);
    atEnd(t, () => databases.server.query(`DROP ROLE ${role}`));
    const asRole = url.replace('postgres@', `${role}@`);
    await assert.rejects(openPostgresStore(storeOptions(asRole)), refuses('unwritable', 'rights', 'meta'));
  });

  it('says so when nobody answers, or when it is not let in', async () => {
    const nobody = new URL(databases.server.urlOf('postgres'));
    nobody.port = '1';
    await assert.rejects(openPostgresStore(storeOptions(nobody.href)), refuses('unavailable', 'DATABASE_URL'));
    await assert.rejects(
      openPostgresStore(storeOptions(databases.server.urlOf('nowhere'))),
      refuses('unwritable', 'DATABASE_URL'),
    );
  });

  it('makes no schema for a command that only works on what there is', async (t) => {
    const databaseUrl = await databases.makeEmpty(t);
    const masterKey = Buffer.alloc(32, 7).toString('hex');
    const options = { databaseUrl, dataDir: '', masterKey, random: systemRandom, clock: systemClock };
    await assert.rejects(openToolStore({ ...options, mayMake: false }), refuses('missing', 'DATABASE_URL'));
    const made = `SELECT count(*)::int4 AS tables FROM pg_class WHERE relname = 'environments'`;
    assert.deepEqual(await databases.server.query(made, nameOf(databaseUrl)), [{ tables: 0 }]);
    await (await openToolStore({ ...options, mayMake: true })).close();
    assert.deepEqual(await databases.server.query(made, nameOf(databaseUrl)), [{ tables: 1 }]);
  });

  it('lets commands change keys beside a server', async (t) => {
    const url = await databases.make(t);
    const scene = new Scene(await openPostgresStore(storeOptions(url)));
    const tool = await openToolStore({
      databaseUrl: url,
      dataDir: '',
      masterKey: Buffer.alloc(32, 7).toString('hex'),
      random: systemRandom,
      clock: systemClock,
      mayMake: false,
    });
    await tool.createApiKey(scene.apiKey());
    assert.equal((await scene.store.readApiKeys()).length, 1);
    await tool.close();
    await scene.store.close();
    await assert.rejects(scene.store.readApiKeys(), refuses('unavailable', 'closed'));
  });
});
