// How a database with the extension citus is made. There is no Citus in the repository: an extension of that name
// stands in for it, whose functions note what they are asked for. What Citus then does is tried from outside only
// (npm run test:citus).
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { DISTRIBUTED, LOCAL, REFERENCE } from '../../src/store/postgres/schema/migrate.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { StoreError } from '../../src/store/store.ts';
import { atEnd } from './data-dirs.ts';
import { needsOwnServer } from './postgres/citus.ts';
import { Databases, storeOptions } from './postgres/databases.ts';
import { databaseOf, startPostgres, type PostgresServer } from './postgres/server.ts';
import { Scene } from './scene.ts';

const STAND_IN = `
  CREATE TABLE pg_dist_local_group (groupid integer);
  INSERT INTO pg_dist_local_group VALUES (0);
  CREATE TABLE asked (nth serial, kind text, name text, by text, beside text, mode text);
  CREATE FUNCTION create_reference_table(name regclass) RETURNS void LANGUAGE sql AS $$
    INSERT INTO asked (kind, name, mode)
    SELECT 'reference', $1::text, current_setting('citus.multi_shard_modify_mode', true)
  $$;
  CREATE FUNCTION create_distributed_table(name regclass, by text, colocate_with text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO asked (kind, name, by, beside, mode)
    VALUES ('distributed', $1::text, $2, $3, current_setting('citus.multi_shard_modify_mode', true))
  $$;
`;

function makeExtension(): string {
  const root = mkdtempSync(join(tmpdir(), 'postrider-citus-'));
  // The server runs as somebody else.
  chmodSync(root, 0o755);
  const directory = join(root, 'extension');
  mkdirSync(directory, { mode: 0o755 });
  writeFileSync(join(directory, 'citus.control'), `default_version = '13.2-1'\nrelocatable = true\n`);
  writeFileSync(join(directory, 'citus--13.2-1.sql'), STAND_IN);
  return root;
}

describe('a database with the extension citus', { skip: needsOwnServer }, () => {
  let server: PostgresServer;
  let databases: Databases;
  const root = makeExtension();
  before(async () => {
    server = await startPostgres(['fsync=off', `extension_control_path=$system:${root}`]);
    databases = new Databases(() => server);
  });
  after(async () => {
    await server.stop();
    rmSync(root, { recursive: true, force: true });
  });

  const make = async (t: TestContext): Promise<string> => {
    const url = await databases.makeEmpty(t);
    await server.query('CREATE EXTENSION citus', databaseOf(url));
    return url;
  };

  it('has each table where it belongs, made over one connection, side by side with nobody else’s', async (t) => {
    const url = await make(t);
    const store = await openPostgresStore(storeOptions(url));
    atEnd(t, () => store.close());
    const asked = await server.query('SELECT kind, name, by, beside, mode FROM asked ORDER BY nth', databaseOf(url));
    const [first, ...others] = DISTRIBUTED;
    const of = { by: 'shard', mode: 'sequential' };
    assert.deepEqual(asked, [
      ...REFERENCE.map((name) => ({ kind: 'reference', name, by: null, beside: null, mode: 'sequential' })),
      { kind: 'distributed', name: first, beside: 'none', ...of },
      ...others.map((name) => ({ kind: 'distributed', name, beside: first, ...of })),
    ]);
    assert.ok(LOCAL.every((name) => !asked.some((one) => one['name'] === name)));
    const partitioned = await server.query(`SELECT FROM pg_class WHERE relkind = 'p'`, databaseOf(url));
    assert.deepEqual(partitioned, []);
  });

  it('is made once, however many start together, and found as it is by the next', async (t) => {
    const url = await make(t);
    const stores = await Promise.all(Array.from({ length: 3 }, () => openPostgresStore(storeOptions(url))));
    for (const store of stores) await store.close();
    const scene = new Scene(await openPostgresStore(storeOptions(url)));
    atEnd(t, () => scene.store.close());
    await scene.acceptOne(await scene.createDestination());
    const [{ count }] = (await server.query('SELECT count(*)::int FROM asked', databaseOf(url))) as [{ count: number }];
    assert.equal(count, DISTRIBUTED.length + REFERENCE.length);
  });

  it('is refused where it is a worker, and left as it was', async (t) => {
    const url = await make(t);
    await server.query('UPDATE pg_dist_local_group SET groupid = 1', databaseOf(url));
    await assert.rejects(openPostgresStore(storeOptions(url)), (error: unknown) => {
      assert.ok(error instanceof StoreError);
      assert.equal(error.code, 'unwritable');
      assert.match(error.message, /coordinator/);
      return true;
    });
    assert.deepEqual(await server.query(`SELECT to_regclass('meta') AS made`, databaseOf(url)), [{ made: null }]);
  });

  it('has every session use one connection to each machine', async (t) => {
    const url = await make(t);
    const store = await openPostgresStore(storeOptions(url));
    atEnd(t, () => store.close());
    // What a session has set is seen by nobody else, so a function that the store calls notes it.
    await server.query(
      `CREATE TABLE seen (pool_size text, mode text);
       CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO seen VALUES (current_setting('citus.max_adaptive_executor_pool_size', true),
                                  current_setting('citus.multi_shard_modify_mode', true));
         RETURN NULL;
       END $$;
       CREATE TRIGGER note AFTER INSERT OR UPDATE ON environments FOR EACH STATEMENT EXECUTE FUNCTION note();
       CREATE TRIGGER note AFTER INSERT OR UPDATE ON events FOR EACH STATEMENT EXECUTE FUNCTION note()`,
      databaseOf(url),
    );
    const scene = new Scene(store);
    await scene.acceptOne(await scene.createDestination());
    const seen = await server.query('SELECT DISTINCT pool_size, mode FROM seen', databaseOf(url));
    assert.deepEqual(seen, [{ pool_size: '1', mode: 'sequential' }]);
  });
});
