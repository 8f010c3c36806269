// Every statement of the PostgreSQL store, held against the rules for a distributed database and against the server's
// plans: then it works on one machine and on many, and a page costs the same at a thousand rows and at ten million.
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { Client } from 'pg';
import { TABLE_STATEMENTS } from '../../src/store/postgres/copy/copy-tables.ts';
import { DISTRIBUTED, LOCAL, REFERENCE } from '../../src/store/postgres/schema/migrate.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { STATEMENTS } from '../../src/store/postgres/wire/statement.ts';
import { atEnd } from './data-dirs.ts';
import { sharedDatabases, storeOptions } from './postgres/databases.ts';
import type { PostgresServer } from './postgres/server.ts';
import { sharedPostgres } from './postgres/shared.ts';
import { stepped } from './postgres/stepped-pipeline.ts';
import { START, Scene, result, succeed } from './scene.ts';

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
const all = [...STATEMENTS.values()];
/** What a distributed database is sent: the transactions refuse it the others. */
const statements = all.filter(({ isOfOneMachine }) => isOfOneMachine !== true);
const hot = statements.filter(({ text }) => HOT.test(text));

/** A table that grows, or one of its partitions. */
const SCAN_OF_HOT = new RegExp(`Scan (using \\w+ )?on (${DISTRIBUTED.join('|')})(_\\d+)?\\b`);
/** Once at the start: what it counts, or all that there is of it. A copy reads all there is as well, key by key. */
const MAY_WALK = ['backlog_count', 'destination_health_all'];

/** Distributed, a batch that changes rows runs by shard or by row: the form for all at once is never sent then. */
const names = new Set(statements.map(({ name }) => name));
const isSentApart = (name: string): boolean => names.has(`${name}_of_shard`) || names.has(`${name}_of_row`);
const sent = statements.filter(({ name }) => !name.startsWith('test_') && !isSentApart(name));

const TABLES = [...DISTRIBUTED, ...REFERENCE, ...LOCAL];

/** Each mention of one of these tables as a table. */
function mentions(text: string, of: readonly string[]): string[] {
  const found = text.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE|USING)\s+(\w+)/g);
  return [...found].map(([, table]) => table!).filter((table) => of.includes(table));
}

function isWrite(text: string): boolean {
  return /^\s*(INSERT|UPDATE|DELETE)\b/.test(text);
}

/** Rows that are inserted and nothing else, which Citus copies to their shards by itself. */
function isPlainInsert(text: string): boolean {
  return /^\s*INSERT\b/.test(text) && !/ON CONFLICT|RETURNING/.test(text);
}

const databases = sharedDatabases();

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
    }
  });
});

// What docs/guides/citus.md says of Citus, by the sources named there.
describe('a statement that writes several tables', () => {
  it('is not sent to a distributed database', async (t) => {
    assert.deepEqual(all.flatMap(({ name, isOfOneMachine }) => (isOfOneMachine === true ? [name] : [])).sort(), [
      'accept_at_once',
      'destination_health_at_once',
      'record_at_once',
    ]);
    for (const layout of ['partitioned', 'distributed'] as const) {
      const seen = new Set<string>();
      const beforeStatement = async (name: string): Promise<void> => void seen.add(name);
      const store = await databases.open(t, { createPipeline: stepped(beforeStatement) }, layout);
      const scene = new Scene(store);
      const { id } = await scene.acceptOne(await scene.createDestination());
      await scene.record(result(id, 0, succeed()));
      const isAtOnce = ['accept_at_once', 'record_at_once'].every((name) => seen.has(name));
      assert.equal(isAtOnce, layout === 'partitioned');
      assert.equal(seen.has('events_insert') || seen.has('record_finish_of_shard'), layout === 'distributed');
    }
  });
});

describe('the statements, as Citus gets them', () => {
  const ofDistributed = sent.filter(({ text }) => mentions(text, DISTRIBUTED).length > 0);
  const writes = ofDistributed.filter(({ text }) => isWrite(text));

  it('change rows of one shard, named by a parameter: across shards each would lock out the others', () => {
    assert.ok(writes.length > 20);
    for (const { name, text } of writes.filter((one) => !isPlainInsert(one.text))) {
      assert.match(text, /\bshard = \$\d::int2|^\s*INSERT INTO [^)]+\) VALUES \(\$1::int2/, name);
      assert.doesNotMatch(text, /r\.shard|SET shard\b|, shard =/, name);
    }
  });

  it('insert what may be there already row by row, as values: a SELECT would go by way of files', () => {
    const upserts = writes.filter(({ text }) => /^\s*INSERT\b/.test(text) && !isPlainInsert(text));
    assert.deepEqual(upserts.map(({ name }) => name).sort(), [
      'destination_health_upsert_of_row',
      'idempotency_take_free_of_row',
    ]);
    for (const { name, text } of upserts) assert.doesNotMatch(text, /\bSELECT\b|unnest/, name);
  });

  it('insert what is only inserted together, whatever its shards: by shard each would need a connection', () => {
    const inserts = writes.filter(({ text }) => isPlainInsert(text));
    assert.ok(inserts.length >= 5);
    for (const { insert } of Object.values(TABLE_STATEMENTS)) assert.equal(insert.apart, null);
    for (const { name, text } of inserts) {
      assert.match(text, /SELECT r\.shard\b[^()]*(\(\))*[^()]* FROM unnest\(\$1::int2\[\]/, name);
      assert.equal(mentions(text, TABLES).length, 1, `${name} selects from its parameters alone`);
    }
  });

  it('never bring what is on the coordinator alone together with what is elsewhere', () => {
    const ofLocal = sent.filter(({ text }) => mentions(text, LOCAL).length > 0);
    assert.ok(ofLocal.length > 10);
    for (const { name, text } of ofLocal) assert.deepEqual(mentions(text, [...DISTRIBUTED, ...REFERENCE]), [], name);
  });

  it('change what is on every machine by nothing that one may see otherwise: no LIMIT, no shards', () => {
    const changes = sent.filter(({ text }) => isWrite(text) && mentions(text, REFERENCE).length > 0);
    for (const { name, text } of changes.filter((one) => mentions(one.text, DISTRIBUTED).length === 0)) {
      assert.doesNotMatch(text, /\bLIMIT\b|\bOFFSET\b|\bDISTINCT ON\b/, name);
    }
    for (const { name, text } of writes) assert.ok(!REFERENCE.includes(mentions(text, TABLES)[0]!), name);
  });

  it('recurse and read sideways only where each mention of a table names the shard', () => {
    const within = ofDistributed.filter(({ text }) => /RECURSIVE|LATERAL|\bOVER\b/.test(text));
    assert.deepEqual(within.map(({ name }) => name).sort(), ['refill_of_shard', 'sweep_shard']);
    for (const { name, text } of within) {
      assert.equal(text.match(/shard = \$1::int2/g)?.length, mentions(text, DISTRIBUTED).length, name);
    }
  });

  it('look at every shard only in ways that each can answer for itself', () => {
    for (const { name, text, isOfEveryShard } of ofDistributed) {
      if (isOfEveryShard !== true) continue;
      assert.doesNotMatch(text, /\bEXISTS\b|\bOFFSET\b|\bDISTINCT\b|\bHAVING\b/, name);
      // Merged from lists, each of one table and what stands beside every shard.
      for (const part of text.split('UNION ALL')) {
        assert.equal(mentions(part, DISTRIBUTED).length, 1, name);
        if (text.includes('UNION ALL')) assert.match(part, /^\s*\(/, `${name}: a branch has its own order`);
      }
      for (const [, columns] of text.matchAll(/GROUP BY ([\w, ]+)/g)) assert.match(columns!, /^shard\b/, name);
    }
  });

  it('leave transactions whole: nothing is saved, truncated, copied or put off in the middle of one', () => {
    for (const { name, text } of sent) {
      assert.doesNotMatch(text, /^\s*(SAVEPOINT|RELEASE|TRUNCATE|COPY|SET|DECLARE|LOCK|PREPARE)\b/, name);
    }
  });
});

describe('the schema', () => {
  let server: PostgresServer;
  let database: string;
  before(async () => {
    server = await sharedPostgres();
    database = 'statements';
    await server.create(database);
    await (await openPostgresStore(storeOptions(server.urlOf(database)))).close();
  });
  after(() => server.stop());

  const column = async (sql: string): Promise<unknown[]> =>
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

  it('has no trigger, foreign key or sequence, and a place for each table', async () => {
    assert.deepEqual(await column('SELECT tgname FROM pg_trigger WHERE NOT tgisinternal'), []);
    assert.deepEqual(await column("SELECT conname FROM pg_constraint WHERE contype = 'f'"), []);
    assert.deepEqual(await column("SELECT relname FROM pg_class WHERE relkind = 'S'"), []);
    const tables = await column(
      `SELECT relname::text FROM pg_class
       WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1`,
    );
    assert.deepEqual(tables, [...TABLES].sort());
  });

  it('lets no function into a change of distributed tables that could come out otherwise elsewhere', async () => {
    const mayVary = new Set(await column(`SELECT DISTINCT proname::text FROM pg_proc WHERE provolatile <> 'i'`));
    assert.ok(mayVary.has('statement_timestamp') && !mayVary.has('unnest'));
    const changes = sent.filter(({ text }) => isWrite(text) && mentions(text, LOCAL).length === 0);
    assert.ok(changes.length > 40);
    for (const { name, text } of changes) {
      const called = [...text.matchAll(/\b([a-z_0-9]+)\s*\(/g)].map(([, one]) => one!);
      assert.deepEqual(
        called.filter((one) => mayVary.has(one)),
        [],
        name,
      );
    }
  });

  it('has a refill begin where it is told to, past what has gone and is not vacuumed yet', async (t) => {
    const explain = await openExplaining(t, server.urlOf(database));
    const plan = await explain('refill', statements.find(({ name }) => name === 'refill')!.text);
    const conditions = plan.split('\n').filter((line) => line.includes('Index Cond') && line.includes('shard'));
    assert.equal(conditions.length, 2, plan);
    assert.match(conditions[0]!, /due_at = 0/);
    assert.match(conditions[1]!, /due_at >= GREATEST/);
  });

  it('has an index for every statement: none walks a table that grows', async (t) => {
    const explain = await openExplaining(t, server.urlOf(database));
    for (const { name, text } of all.filter((one) => HOT.test(one.text))) {
      if (/^(test|copy_read)_/.test(name) || /^\s*INSERT/.test(text)) continue;
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

// Of each kind of row the older ones are of one environment, destination, type and status, and the younger ones of
// another. The planner takes these for independent of each other, and rows for evenly spread: it expects many of what
// there is none of, and finds what is old among the youngest.
describe('the planner, where rows are not as it expects them', () => {
  const [first, second] = ['11', '22'].map((digits) => digits.repeat(16));
  const range = ['00', 'ff'].map((digits) => digits.repeat(16));
  const byEnvironment = /_environment(_status_id_idx)?$/;
  const byDestination = /_destination(_id_status_id_idx)?$|_due$/;
  const lists: [name: string, values: unknown[], index: RegExp][] = [
    ['deliveries_of_environment_2', [...range, 101, 1], byEnvironment],
    ['deliveries_of_environment_3', [...range, 101, 1], byEnvironment],
    ['deliveries_of_environment_0', [...range, 101, 1], byEnvironment],
    ['deliveries_of_destination_2', [...range, 101, 0, first, 1], byDestination],
    ['deliveries_of_destination_3', [...range, 101, 0, first, 1], byDestination],
    ['deliveries_of_destination_1', [...range, 101, 0, first, 1], byDestination],
    ['done_deliveries_of_environment_counted', [1, 2, ...range, 100], byEnvironment],
    ['open_deliveries_of_environment_counted', [1, 0, ...range, 100], byEnvironment],
    ['done_deliveries_of_destination_counted', [first, 2, ...range, 100], byDestination],
    ['open_deliveries_of_destination_counted', [first, 0, ...range, 100], byDestination],
    ['open_deliveries_count', [1, 1, 1_000], byEnvironment],
    ['destinations_use', [0, first], byDestination],
    ['backlog_count_one', [0, first, 1_000], byDestination],
    ['events_all', [1, ...range, 101], /_environment_id_idx$/],
    ['events_of_type', [1, ...range, 101, 'type.0'], /_environment_type_id_idx$/],
  ];

  const fill = async (client: Client): Promise<void> => {
    const id = `(lpad(to_hex(${START} + n), 12, '0') || '70008000000000000000')::uuid`;
    const delivery = `0, ${id}, 1 + is_new, ${id}, ('{${first},${second}}'::uuid[])[1 + is_new], '${first}'`;
    const columns = 'shard, id, environment, event_id, destination_id, subscription_id';
    const rest = 'origin, rev, schedule_position, attempt_count, response_codes, updated_at';
    const from = `FROM generate_series(1, 20000) AS n, LATERAL (SELECT (n > 15000)::int4 AS is_new) AS _`;
    await client.query(`
      INSERT INTO open_deliveries (${columns}, ${rest}, status, due_at)
      SELECT ${delivery}, 0, 0, 0, 0, '', 0, is_new, 1 ${from};
      INSERT INTO done_deliveries (${columns}, ${rest}, status, dead_reason, completed_at)
      SELECT ${delivery}, 0, 0, 0, 0, '', 0, 2 + is_new, nullif(is_new, 0), 1 ${from};
      INSERT INTO events (shard, id, environment, type, occurred_at)
      SELECT 0, ${id}, 1 + is_new, 'type.' || is_new, 0 ${from};
      ANALYZE open_deliveries, done_deliveries, events`);
  };

  it('reads by the index of what a list asks for all the same', async (t) => {
    const client = new Client({ connectionString: await databases.make(t) });
    await client.connect();
    atEnd(t, () => client.end());
    await fill(client);
    const { rows: filled } = await client.query<{ name: string }>(
      `SELECT tableoid::regclass::text AS name FROM done_deliveries
       UNION SELECT tableoid::regclass::text FROM events`,
    );
    const tables = ['open_deliveries', ...filled.map(({ name }) => name)].join('|');
    const scan = new RegExp(`Scan (?:Backward )?(?:using (\\w+) )?on (?:${tables})\\b`);
    for (const [name, values, index] of lists) {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${STATEMENTS.get(name)!.text}`, values);
      const plan = rows.map((row) => row['QUERY PLAN']);
      const scans = plan.flatMap((line) => scan.exec(line) ?? []).filter((_, i) => i % 2 === 1);
      assert.ok(scans.length > 0, name);
      for (const used of scans) assert.match(used ?? 'all rows', index, `${name}\n${plan.join('\n')}`);
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
