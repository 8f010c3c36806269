// Every statement of the PostgreSQL store, held against the rules for a distributed database and against the server's
// plans: then it works on one machine and on many, and a page costs the same at a thousand rows and at ten million.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { Client } from 'pg';
import { DISTRIBUTED, REFERENCE } from '../../src/store/postgres/migrate.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { listStatements } from '../../src/store/postgres/statement.ts';
import { atEnd } from './data-dirs.ts';
import { storeOptions } from './postgres/databases.ts';
import { startPostgres } from './postgres/server.ts';
import type { PostgresServer } from './postgres/server.ts';

const PLANNING = [
  // The plan for any parameters. (EXPLAIN (GENERIC_PLAN) says it in a word, from PostgreSQL 16 on.)
  'plan_cache_mode = force_generic_plan',
  // Or the parameters that are given here, all null, leave no partition to be explained.
  'enable_partition_pruning = off',
  // A sequential scan is then what is left when no index serves.
  'enable_seqscan = off',
  'enable_bitmapscan = off',
];

const HOT = new RegExp(`\\b(${DISTRIBUTED.join('|')})\\b`);
const statements = listStatements();
const hot = statements.filter(({ text }) => HOT.test(text));

/** A table that grows, or one of its partitions. */
const SCAN_OF_HOT = new RegExp(`Scan (using \\w+ )?on (${DISTRIBUTED.join('|')})(_\\d+)?\\b`);
/** Once at the start: what it counts, or all that there is of it. */
const MAY_WALK = ['backlog_count', 'destination_health_all'];

describe('the statements', () => {
  it('that touch what grows with the traffic name their shard; only lists look at every one', () => {
    assert.ok(hot.length > 40);
    for (const { name, text, isOfEveryShard } of hot) {
      const verb = /^\s*\(?\s*(\w+)/.exec(text)![1]!;
      if (isOfEveryShard === true) assert.equal(verb, 'SELECT', name);
      else if (verb === 'INSERT') assert.match(text, /INSERT INTO \w+ (AS \w+ )?\(shard, /, name);
      else assert.match(text, /\bshard = (\$\d|ANY|r\.shard)/, name);
    }
  });

  it('do nothing that a distributed database cannot: no locking reads, no clock, no writing WITH', () => {
    for (const { name, text } of statements) {
      assert.doesNotMatch(text, /FOR (UPDATE|SHARE)|\bnow\(\)|CURRENT_TIMESTAMP|nextval/i, name);
      if (/\bWITH\b/.test(text)) assert.doesNotMatch(text, /\b(INSERT|UPDATE|DELETE)\b/, name);
      const written = text.match(/\b(INSERT INTO|UPDATE|DELETE FROM) \w+/g) ?? [];
      assert.ok(written.filter((one) => !one.endsWith(' SET')).length <= 1, `${name} writes one table`);
      if (/LATERAL/.test(text)) assert.match(text, /shard = \$1::int2/, `${name}: LATERAL works within one shard`);
    }
  });
});

describe('the schema', () => {
  let server: PostgresServer;
  let database: string;
  before(async () => {
    server = await startPostgres(['fsync=off']);
    database = 'statements';
    await server.query(`CREATE DATABASE ${database}`);
    await (await openPostgresStore(storeOptions(server.urlOf(database)))).close();
  });
  after(() => server.stop());

  const names = async (sql: string): Promise<unknown[]> =>
    (await server.query(sql, database)).map((row) => Object.values(row)[0]);

  it('has every unique key of what grows include the shard', async () => {
    const keys = await server.query(
      `SELECT i.indexrelid::regclass::text AS key, array_agg(a.attname::text) @> '{shard}' AS has_shard
       FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
       JOIN pg_attribute a ON a.attrelid = i.indexrelid
       WHERE i.indisunique AND c.relname = ANY ('{${DISTRIBUTED.join(',')}}') GROUP BY 1`,
      database,
    );
    assert.equal(keys.length, DISTRIBUTED.length);
    for (const { key, has_shard: hasShard } of keys) assert.equal(hasShard, true, String(key));
  });

  it('has no trigger, foreign key or sequence, and each table is distributed or whole everywhere', async () => {
    assert.deepEqual(await names('SELECT tgname FROM pg_trigger WHERE NOT tgisinternal'), []);
    assert.deepEqual(await names("SELECT conname FROM pg_constraint WHERE contype = 'f'"), []);
    assert.deepEqual(await names("SELECT relname FROM pg_class WHERE relkind = 'S'"), []);
    const tables = await names(
      `SELECT relname::text FROM pg_class
       WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1`,
    );
    assert.deepEqual(tables, [...DISTRIBUTED, ...REFERENCE].sort());
  });

  it('has a refill begin where it is told to, past what has gone and is not vacuumed yet', async (t) => {
    const explain = await openExplaining(t, server.urlOf(database));
    const plan = await explain(
      'refill_destination',
      statements.find(({ name }) => name === 'refill_destination')!.text,
    );
    const conditions = plan.split('\n').filter((line) => line.includes('Index Cond') && line.includes('shard'));
    assert.equal(conditions.length, 2, plan);
    assert.match(conditions[0]!, /due_at = 0/);
    assert.match(conditions[1]!, /due_at >= GREATEST/);
  });

  it('has an index for every statement: none walks a table that grows', async (t) => {
    const explain = await openExplaining(t, server.urlOf(database));
    for (const { name, text } of hot) {
      if (name.startsWith('test_') || /^\s*INSERT/.test(text)) continue;
      const plan = await explain(name, text);
      const lines = plan.split('\n');
      for (const [i, line] of lines.entries()) {
        // A whole index read to find some rows of it is a walk as well.
        const isWalk = SCAN_OF_HOT.test(line) && !/Index Cond/.test(lines[i + 1]!);
        assert.ok(!isWalk || MAY_WALK.includes(name), `${name}\n${plan}`);
      }
    }
  });
});

async function openExplaining(t: TestContext, url: string): Promise<(name: string, text: string) => Promise<string>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  atEnd(t, () => client.end());
  for (const setting of PLANNING) await client.query(`SET ${setting}`);
  return async (name, text) => {
    await client.query(`PREPARE ${name} AS ${text}`);
    const count = Math.max(0, ...Array.from(text.matchAll(/\$(\d+)/g), ([, n]) => Number(n)));
    const parameters = count === 0 ? '' : `(${Array.from({ length: count }, () => 'NULL').join(', ')})`;
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN EXECUTE ${name}${parameters}`);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  };
}
