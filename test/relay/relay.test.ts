// `postrider relay` between a real PostgreSQL and a real service: what was committed is published once, nothing else.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as requestOf } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Client } from 'pg';
import { connect } from '../../src/relay/publish.ts';
import { Relay } from '../../src/relay/relay.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { readDatabaseAddress } from '../../src/store/postgres/wire/database-address.ts';
import { Api } from '../e2e/api.ts';
import { blocksOf } from '../docs/blocks.ts';
import { environmentOf, runCommand, Service } from '../e2e/service.ts';
import type { PostgresServer } from '../store/postgres/server.ts';
import { sharedPostgres } from '../store/postgres/shared.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { acceptedOf, countKeys, keyFor, RelayProcess, schemaOf, startRelay } from './relaying.ts';

const DATABASE = 'relay_source';
const service = new Service();
const api = new Api(service);
let postgres: PostgresServer;
let client: Client;

before(async () => {
  [postgres] = await Promise.all([sharedPostgres(), service.start()]);
  await postgres.create(DATABASE);
  client = new Client({ connectionString: postgres.urlOf(DATABASE) });
  await client.connect();
  await client.query(await schemaOf());
});
after(async () => {
  await client.end();
  await Promise.all([postgres.stop(), service.end()]);
});

/** The flags for a table of this file's database. */
function flags(...more: string[]): string[] {
  return ['--source', postgres.urlOf(DATABASE), ...more];
}

function urlAs(role: string, database = DATABASE): string {
  const url = new URL(postgres.urlOf(database));
  url.username = role;
  return url.href;
}

/** Runs the relay until all that is there is published. */
async function relayOnce(...more: string[]): Promise<RelayProcess> {
  const relay = new RelayProcess(service, flags('--once', ...more));
  assert.deepEqual(await relay.exit, { code: 0, signal: null }, relay.errors);
  return relay;
}

async function rowsOf(table: string, columns = '*'): Promise<Record<string, unknown>[]> {
  return (await client.query(`SELECT ${columns} FROM ${table} ORDER BY id`)).rows as Record<string, unknown>[];
}

test('what is committed is published, deleted and nothing else; bodies as they were written', async () => {
  const body = '{"n": 12345678901234567890, "price":1.0,  "z":1,"a":"\\u00e9\\ud800"}';
  const occurredAt = '2026-01-31T10:30:00.123+01:00';
  const insert = 'INSERT INTO outbox (type, body, occurred_at) VALUES ($1, $2, $3) RETURNING id';
  const { rows } = await client.query<{ id: string }>(insert, ['basic.kept', body, occurredAt]);
  await client.query('BEGIN');
  await client.query(insert, ['basic.kept', '{}', occurredAt]);
  await client.query('ROLLBACK');
  const relay = await relayOnce();
  assert.deepEqual(await rowsOf('outbox'), []);
  const accepted = await acceptedOf(api, 'basic.kept');
  assert.equal(accepted.length, 1);
  assert.equal(accepted[0]!.idempotency_key, rows[0]!.id);
  assert.equal(accepted[0]!.occurred_at, '2026-01-31T09:30:00.123Z');
  const { text } = await api.send('GET', `/v1/events/${accepted[0]!.event_id}`);
  assert.ok(text.includes(body), text);
  const ended = await relay.said('ended');
  assert.deepEqual([ended['published'], ended['refused']], [1, 0]);
});

test('for people each line says when, in UTC', async () => {
  const env = { ...environmentOf({}), POSTRIDER_URL: service.url, POSTRIDER_API_KEY: service.key };
  const { stdout, stderr } = await runCommand(['relay', ...flags('--once')], env);
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.length, 2, stdout + stderr);
  for (const line of lines) assert.match(line, /^\d\d:\d\d:\d\dZ {2}(publishing outbox of |0 published, 0 set aside$)/);
});

test('a relay that waits is told of each commit, and ends at SIGTERM', async (t) => {
  const relay = startRelay(t, service, flags());
  await relay.said('publishing');
  for (let n = 1; n <= 3; n++) {
    await client.query(`INSERT INTO outbox (type, body) VALUES ('waiting.told', '{"n":${n}}')`);
    await api.eventually(
      () => acceptedOf(api, 'waiting.told'),
      ({ length }) => length === n,
    );
  }
  assert.deepEqual(await relay.signal('SIGTERM'), { code: 0, signal: null });
  assert.deepEqual(await rowsOf('outbox'), []);
  assert.equal((await relay.said('ended'))['published'], 3);
});

test('a relay whose output cannot be written goes on', async (t) => {
  const relay = startRelay(t, service, flags());
  await relay.said('publishing');
  relay.leaveUnread();
  const ended = relay.exit.then(() => assert.fail('it ended'));
  // Of each row that is set aside it says so.
  for (const id of [1, 2]) {
    await client.query(`INSERT INTO outbox (type, body) VALUES ('unread', '{}')`);
    const setAside = api.eventually(
      () => rowsOf('outbox', 'refused_at'),
      (rows) => rows.length === id && rows.every((row) => row['refused_at'] !== null),
    );
    await Promise.race([setAside, ended]);
  }
  await client.query('DELETE FROM outbox');
  await client.query(`INSERT INTO outbox (type, body) VALUES ('relay.unread', '{}')`);
  const accepted = api.eventually(
    () => acceptedOf(api, 'relay.unread'),
    ({ length }) => length === 1,
  );
  await Promise.race([accepted, ended]);
  ended.catch(() => {});
  assert.deepEqual(await relay.signal('SIGTERM'), { code: 0, signal: null });
});

test('a row whose transaction began early and ends late is not passed over', async (t) => {
  const relay = startRelay(t, service, flags('--batch-size', '10'));
  await relay.said('publishing');
  const late = new Client({ connectionString: postgres.urlOf(DATABASE) });
  await late.connect();
  t.after(() => late.end());
  await late.query('BEGIN');
  await late.query(`INSERT INTO outbox (type, body) VALUES ('late.row', '{}')`);
  await client.query(`INSERT INTO outbox (type, body) SELECT 'late.others', '{}' FROM generate_series(1, 200)`);
  await api.eventually(
    () => acceptedOf(api, 'late.others'),
    ({ length }) => length === 200,
  );
  assert.deepEqual(await acceptedOf(api, 'late.row'), []);
  await late.query('COMMIT');
  await api.eventually(
    () => acceptedOf(api, 'late.row'),
    ({ length }) => length === 1,
  );
});

describe('what the service refuses', () => {
  test('is set aside with its error, and the rest goes on, its group too', async () => {
    await client.query(`INSERT INTO outbox (id, type, body, group_key) VALUES
      ('00000000-0000-4000-8000-000000000001', 'refused.good', '{"n":1}', 'g'),
      ('00000000-0000-4000-8000-000000000002', 'nodots', '{}', 'g'),
      ('00000000-0000-4000-8000-000000000003', 'refused.good', '[]', null),
      ('00000000-0000-4000-8000-000000000004', 'refused.good', '{"n":2}', 'g')`);
    await client.query(`INSERT INTO outbox (id, type, body) VALUES
      ('00000000-0000-4000-8000-000000000005', 'refused.good', json_build_object('x', repeat('x', 270000))),
      ('00000000-0000-4000-8000-000000000006', 'refused.good', json_build_object('x', repeat('x', 3000000)))`);
    const relay = await relayOnce();
    const rows = await rowsOf('outbox', `right(id::text, 1) AS id, error->>'code' AS code, error->>'param' AS param`);
    assert.deepEqual(rows, [
      { id: '2', code: 'invalid_event_type', param: '/type' },
      { id: '3', code: 'invalid_request', param: '/body' },
      { id: '5', code: 'body_too_large', param: '/body' },
      { id: '6', code: 'body_too_large', param: '/body' },
    ]);
    const { published, refused } = await relay.said('ended');
    assert.deepEqual([published, refused], [2, 4]);
    assert.equal((await acceptedOf(api, 'refused.good')).length, 2);

    // Put right, it goes.
    await client.query(`UPDATE outbox SET type = 'refused.mended', refused_at = NULL WHERE type = 'nodots'`);
    await client.query(`DELETE FROM outbox WHERE refused_at IS NOT NULL`);
    await relayOnce();
    assert.equal((await acceptedOf(api, 'refused.mended')).length, 1);
    assert.deepEqual(await rowsOf('outbox'), []);
  });

  test('is a time before the year 1 or after 9999, and the rest goes on; infinity is no time', async () => {
    const refused = ['0044-03-15 BC', '0001-12-31 BC', '10000-01-01', '294276-12-31'];
    for (const time of ['-infinity', ...refused, '0001-01-01', 'infinity']) {
      const insert = `INSERT INTO outbox (type, body, occurred_at, created_at) VALUES ('odd.time', '{}', $1, $1)`;
      await client.query(insert, [time]);
    }
    await relayOnce('--batch-size', '1');
    const rows = await rowsOf('outbox', `to_char(occurred_at, 'FMYYYY BC') AS year, error->>'param' AS param`);
    const params = Object.fromEntries(rows.map(({ year, param }) => [year, param]));
    const param = '/occurred_at';
    assert.deepEqual(params, { '44 BC': param, '1 BC': param, '10000 AD': param, '294276 AD': param });
    const accepted = await acceptedOf(api, 'odd.time');
    const years = accepted.map(({ occurred_at: at }) => at.slice(0, 4));
    const thisYear = String(new Date().getUTCFullYear());
    assert.deepEqual(years, [thisYear, '0001', thisYear]);
    await client.query('DELETE FROM outbox');
  });

  test('is no row when it is the key', async () => {
    await client.query(`INSERT INTO outbox (type, body) VALUES ('denied.key', '{}')`);
    for (const key of ['pr_test_wrong', await keyFor(service, 'read')]) {
      const relay = new RelayProcess({ url: service.url, key }, flags());
      assert.deepEqual(await relay.exit, { code: 1, signal: null });
      assert.match(relay.errors, /the service refuses the key \(40[13] (unauthorized|forbidden)/);
    }
    assert.equal((await rowsOf('outbox', 'id, refused_at')).length, 1);
    await relayOnce();
    assert.equal((await acceptedOf(api, 'denied.key')).length, 1);
  });
});

test('rows of a group go in their order, others beside them', async () => {
  await client.query(`INSERT INTO outbox (type, body, group_key)
    SELECT 'grouped.row', json_build_object('n', n), CASE WHEN n % 5 = 0 THEN 'hot' WHEN n % 2 = 0 THEN 'g' || n % 7 END
    FROM generate_series(1, 400) n`);
  const expected = await client.query<{ id: string; group: string | null }>(
    'SELECT id, group_key AS group FROM outbox ORDER BY created_at, id',
  );
  await relayOnce('--batch-size', '20');
  const accepted = (await acceptedOf(api, 'grouped.row')).map(({ idempotency_key: key }) => key);
  assert.equal(accepted.length, 400);
  const place = new Map(accepted.map((id, i) => [id, i]));
  for (const group of Map.groupBy(expected.rows, (row) => row.group).entries()) {
    const places = group[1].map(({ id }) => place.get(id)!);
    if (group[0] !== null)
      assert.deepEqual(
        places,
        places.toSorted((a, b) => a - b),
        group[0],
      );
  }
});

test('a group goes on while walks through the table pause', async (t) => {
  const insert = `INSERT INTO outbox (type, body, group_key) SELECT 'deep.row', '{}', $1 FROM generate_series(1, 50)`;
  for (const group of ['b', 'a', 'c']) await client.query(insert, [group]);
  await client.query(`INSERT INTO outbox (type, body) VALUES ('deep.row', '{}')`);
  const rows = await client.query<{ id: string; group: string | null }>(
    'SELECT id, group_key AS group FROM outbox ORDER BY created_at, id',
  );
  // On a clock that stands still no walk begins once one has come to its end.
  const relay = new Relay({
    source: readDatabaseAddress(postgres.urlOf(DATABASE)),
    service: connect({ url: service.url, key: service.key, userAgent: 'test' }),
    ...{ table: 'outbox', isKept: false, isOnce: false, batchSize: 10, onNews: () => {} },
    ...{ clock: new ManualClock(), random: systemRandom },
  });
  t.after(() => relay.stop());
  const ended = relay.run();
  await api.eventually(
    () => rowsOf('outbox'),
    ({ length }) => length === 0,
  );
  relay.stop();
  await ended;
  const place = new Map((await acceptedOf(api, 'deep.row')).map(({ idempotency_key: key }, i) => [key, i]));
  assert.equal(place.size, rows.rowCount);
  for (const [group, ofGroup] of Map.groupBy(rows.rows, (row) => row.group)) {
    const places = ofGroup.map(({ id }) => place.get(id)!);
    const inOrder = places.toSorted((a, b) => a - b);
    assert.deepEqual(places, inOrder, String(group));
  }
});

test('rows with ids of numbers go by number, in batches that are smaller than the group', async () => {
  await client.query(await schemaOf(['--table', 'numbered', '--id-type', 'bigint']));
  await client.query(`INSERT INTO numbered (type, body, group_key)
    SELECT 'numbered.row', '{}', 'g' FROM generate_series(1, 120)`);
  await relayOnce('--table', 'numbered', '--batch-size', '5');
  const keys = (await acceptedOf(api, 'numbered.row')).map(({ idempotency_key: key }) => Number(key));
  assert.deepEqual(
    keys,
    Array.from({ length: 120 }, (_, n) => n + 1),
  );
});

test('a proxy that lets through no batch gets smaller ones; a row that is too large for it waits', async (t) => {
  const passedMax = 10_000;
  const proxy = createServer((request, response) => {
    if (Number(request.headers['content-length']) > passedMax) {
      request.resume().once('end', () => response.writeHead(413).end('<h1>413 Request Entity Too Large</h1>'));
      return;
    }
    const { method, url, headers } = request;
    const onward = requestOf(service.url + url!, { method: method!, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  t.after(() => proxy.close().closeAllConnections());
  await client.query(await schemaOf(['--table', 'proxied']));
  await client.query(
    `INSERT INTO proxied (type, body)
    SELECT 'proxied.row', jsonb_build_object('text', repeat('x', CASE n WHEN 20 THEN $1 ELSE 1000 END))
    FROM generate_series(1, 50) n`,
    [passedMax],
  );
  const { port } = proxy.address() as AddressInfo;
  const relay = startRelay(t, { url: `http://127.0.0.1:${port}`, key: service.key }, flags('--table', 'proxied'));
  assert.match(String((await relay.said('trouble'))['message']), /larger than a proxy in front of Postrider allows/);
  const left = () => rowsOf('proxied', "refused_at, length(body->>'text') AS length");
  await api.eventually(left, (rows) => rows.length === 1);
  assert.deepEqual(await left(), [{ refused_at: null, length: passedMax }]);
  assert.equal((await acceptedOf(api, 'proxied.row')).length, 49);
});

test('two relays at once: one publishes, the other takes over', async (t) => {
  const first = startRelay(t, service, flags());
  await first.said('publishing');
  const second = startRelay(t, service, flags());
  await second.said('standby');
  await client.query(`INSERT INTO outbox (type, body) SELECT 'two.relays', '{}' FROM generate_series(1, 3000)`);
  await api.eventually(
    () => acceptedOf(api, 'two.relays'),
    ({ length }) => length > 0,
  );
  await first.signal('SIGKILL');
  await second.said('publishing');
  const accepted = await api.eventually(
    () => acceptedOf(api, 'two.relays'),
    ({ length }) => length >= 3000,
  );
  assert.equal(new Set(accepted.map(({ idempotency_key: key }) => key)).size, 3000);
  await client.query(`INSERT INTO outbox (type, body) VALUES ('two.relays', '{}')`);
  const onceOnly = await relayOnce();
  assert.deepEqual(await rowsOf('outbox'), []);
  assert.ok(
    onceOnly.lines.some(({ event }) => event === 'standby'),
    'and --once waits for what another publishes',
  );
  assert.equal((await acceptedOf(api, 'two.relays')).length, 3001);
});

test('a row that another transaction has locked waits by itself, and no others for it', async (t) => {
  await client.query(await schemaOf(['--table', 'locked']));
  const insert = "INSERT INTO locked (type, body) VALUES ('locked.row', '{}') RETURNING id";
  const { rows } = await client.query<{ id: string }>(insert);
  await client.query(insert);
  const holder = new Client({ connectionString: postgres.urlOf(DATABASE) });
  await holder.connect();
  t.after(() => holder.end());
  await holder.query('BEGIN');
  await holder.query('SELECT FROM locked WHERE id = $1 FOR KEY SHARE', [rows[0]!.id]);
  const first = new RelayProcess(service, flags('--table', 'locked'));
  t.after(() => first.signal('SIGKILL'));
  const told = await first.said('trouble');
  assert.match(told['message'] as string, /^of the rows that are done with, 1 are locked by another transaction$/);
  while ((await rowsOf('locked')).length > 1) await setImmediate();
  await client.query(insert);
  while ((await rowsOf('locked')).length > 1) await setImmediate();
  assert.deepEqual(await first.signal('SIGTERM'), { code: 0, signal: null }, 'nothing is waited for');
  assert.deepEqual(await rowsOf('locked', 'id'), [{ id: rows[0]!.id }]);
  const second = startRelay(t, service, flags('--table', 'locked'));
  await second.said('trouble');
  await holder.query('COMMIT');
  await second.said('recovered');
  while ((await rowsOf('locked')).length > 0) await setImmediate();
  const keys = countKeys(await acceptedOf(api, 'locked.row'));
  assert.deepEqual([...keys.values()], [1, 1, 1]);
});

test('ids of 64 bits and of text; a table in a schema; what is kept is marked', async () => {
  await client.query('CREATE SCHEMA "Orders"');
  for (const [idType, ids] of [
    ['bigint', ['9007199254740993', '9007199254740992', '-9223372036854775808']],
    ['text', ['order "1", {x}', 'naïve', 'x'.repeat(256)]],
  ] as const) {
    const table = `"Orders".of_${idType}`;
    await client.query(await schemaOf(['--table', table, '--id-type', idType]));
    for (const id of ids) {
      const insert = `INSERT INTO ${table} (id, type, body) VALUES ($1, $2, '{}')`;
      await client.query(insert, [id, `kept.${idType}`]);
    }
    await relayOnce('--table', table, '--keep');
    const keys = (await acceptedOf(api, `kept.${idType}`)).map(({ idempotency_key: key }) => key);
    const good = idType === 'bigint' ? ids.toSorted((a, b) => Number(BigInt(a) - BigInt(b))) : ids.slice(0, 1);
    assert.deepEqual(keys.toSorted(), good.toSorted());
    const columns = `id::text, published_at IS NOT NULL AS published, error->>'param' AS param`;
    for (const row of await rowsOf(table, columns)) {
      const isGood = good.includes(row['id'] as string);
      assert.deepEqual([row['published'], row['param']], isGood ? [true, null] : [false, '/idempotency_key']);
    }
    const again = await relayOnce('--table', table, '--keep');
    assert.equal((await again.said('ended'))['published'], 0);
  }
});

test('a database that keeps rows pending ends the relay; one that marks what is deleted does not', async () => {
  const role = `keeper_${process.pid}`;
  await client.query(`
    CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN UPDATE marked SET published_at = now() WHERE id = OLD.id; RETURN NULL; END';
    CREATE ROLE ${role} LOGIN`);
  for (const table of ['kept', 'marked', 'secured']) await client.query(await schemaOf(['--table', table]));
  await client.query(`
    CREATE TRIGGER keep BEFORE DELETE OR UPDATE ON kept FOR EACH ROW EXECUTE FUNCTION keep();
    CREATE TRIGGER mark BEFORE DELETE ON marked FOR EACH ROW EXECUTE FUNCTION mark();
    GRANT SELECT, UPDATE ON secured TO ${role};
    ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
    CREATE POLICY look ON secured FOR SELECT USING (true)`);
  const insert = (table: string, type: string) =>
    client.query(`INSERT INTO ${table} (type, body) VALUES ($1, '{}')`, [type]);
  const cases: [table: string, type: string, ...argv: string[]][] = [
    ['kept', 'hard.to.delete', '--table', 'kept'],
    ['kept', 'hard to refuse', '--table', 'kept'],
    ['secured', 'hard.to.mark', '--table', 'secured', '--keep', '--source', urlAs(role)],
  ];
  try {
    for (const [table, type, ...argv] of cases) {
      await insert(table, type);
      const relay = new RelayProcess(service, flags('--once', ...argv));
      const { code } = await relay.exit;
      assert.match(relay.errors, new RegExp(`1 of 1 rows of ${table} .* pending after their \\w+: check its triggers`));
      assert.equal(code, 1);
      await client.query(`ALTER TABLE ${table} DISABLE TRIGGER USER; DELETE FROM ${table};
        ALTER TABLE ${table} ENABLE TRIGGER USER`);
    }
    await insert('marked', 'marked.when.deleted');
    await relayOnce('--table', 'marked');
    assert.equal((await acceptedOf(api, 'marked.when.deleted')).length, 1);
  } finally {
    await client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});

test('the SQL of the guide does what it says, with no more rights than it gives', async (t) => {
  const database = 'relay_guide';
  const [write, look, mend, grant] = blocksOf('docs/guides/outbox.md')
    .filter(({ language }) => language === 'sql')
    .map(({ lines }) => lines.join('\n'));
  await postgres.create(database);
  const ask = (sql: string): Promise<Record<string, unknown>[]> => postgres.query(sql, database);
  await ask(`CREATE ROLE shop LOGIN; CREATE ROLE relay LOGIN; ${await schemaOf()};
    CREATE TABLE orders (id bigint, total numeric); GRANT INSERT ON orders TO shop`);
  t.after(() => ask('DROP OWNED BY shop, relay; DROP ROLE shop, relay'));
  await ask(grant!);
  const publish = (): Promise<RelayProcess> => relayOnce('--source', urlAs('relay', database));
  const shop = new Client({ connectionString: urlAs('shop', database) });
  await shop.connect();
  await shop.query(write!);
  await shop.query(`INSERT INTO outbox (type, body) VALUES ('order paid', '{"order_id": 1002}')`);
  await shop.end();
  await publish();
  assert.deepEqual(
    (await ask(look!)).map(({ type, code }) => [type, code]),
    [['order paid', 'invalid_event_type']],
  );
  await ask(mend!);
  await publish();
  assert.deepEqual(await ask('SELECT FROM outbox'), []);
  assert.equal((await acceptedOf(api, 'order.paid')).length, 2);
});

test('what cannot be relied on is named before a row is published', async () => {
  const url = postgres.urlOf(DATABASE);
  const role = `relay_${process.pid}`;
  await client.query(`CREATE TABLE bare (id int, type text, body json, occurred_at timestamptz,
    created_at timestamptz NOT NULL)`);
  await client.query(`CREATE ROLE ${role} LOGIN; GRANT SELECT ON outbox TO ${role}`);
  const cases: [argv: string[], code: number, message: RegExp][] = [
    [[], 2, /name the database that the outbox is in: --source postgres/],
    [['--source', 'mysql://x'], 2, /--source: not of the form postgres:/],
    [['--source', `${url}?sslmode=prefer`], 2, /--source: sslmode=prefer would send/],
    [flags('--batch-size', '1001'), 2, /--batch-size: "1001" is not a whole number from 1 to 1000/],
    [flags('--table', 'a;b'), 2, /--table: "a;b" is not of the form/],
    [flags('--table', 'nowhere'), 1, /there is no table nowhere: make it with what relay --print-schema/],
    [flags('--table', 'bare'), 1, /bare has no column published_at: ALTER TABLE bare ADD COLUMN published_at/],
    [['--source', urlAs(role)], 1, /GRANT DELETE, UPDATE \(refused_at, error\) ON outbox TO it/],
    [['--source', url.replace(DATABASE, 'no_such_database')], 1, /refuses: database "no_such_database" does not exist/],
  ];
  try {
    for (const [argv, code, message] of cases) {
      const env = { ...environmentOf({}), POSTRIDER_URL: service.url, POSTRIDER_API_KEY: service.key };
      const run = await runCommand(['relay', ...argv], env);
      assert.match(run.stderr, message);
      assert.equal(run.code, code, run.stderr);
    }
    const keyless = await runCommand(['relay', ...flags()], environmentOf({}));
    assert.match(keyless.stderr, /give --key, set POSTRIDER_API_KEY/);
    assert.equal(keyless.code, 2);
  } finally {
    await client.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});
