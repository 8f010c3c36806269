// Moving a running system to PostgreSQL, as an operator does it: stop, copy, start. The service goes on where it was.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { sharedDatabases } from '../store/postgres/databases.ts';
import { Api, type Destination, type Event } from './api.ts';
import { startReceiver, type Receiver, type Received } from './receiver.ts';
import { runCommand, startService, type Service } from './service.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/postrider', import.meta.url));
const IN_AN_HOUR = { retry_policy: { schedule_seconds: [3_600], jitter: 0 } };
const ONCE = { retry_policy: { schedule_seconds: [] } };
/** Long enough that the copy comes between. */
const SOON = { retry_policy: { schedule_seconds: [8], jitter: 0 } };

describe('postrider copy', () => {
  const databases = sharedDatabases();

  test('moves a service that goes on where it was: retries, history, keys, secrets', async (t) => {
    const url = await databases.makeEmpty(t);
    const old = await startService(t);
    const receiver = await startReceiver(t, (request) => request.answer(request.path === '/ok' ? 200 : 500));
    const made = await makeHistory(new Api(old), receiver);

    const busy = await copy(old, url);
    assert.equal(busy.code, 1, 'a running service is not copied');
    assert.match(busy.stderr, /is running on/);
    const left = await readAll(new Api(old));
    await old.stop();
    const sent = receiver.requests.length;
    const { code, stdout, stderr } = await copy(old, url);
    assert.equal(code, 0, stderr);
    const keyFile = join(old.dataDir, 'master.key');
    assert.ok(stdout.includes(keyFile), stdout);
    const masterKey = (await readFile(keyFile, 'utf8')).trim();
    assert.ok(!`${stdout}${stderr}`.includes(masterKey), 'the key itself is not shown');
    assert.match(stderr, /^checking attempts: \d+ of \d+$/m);

    receiver.respond = (request) => request.answer(200);
    const moved = await startService(t, { DATABASE_URL: url, MASTER_KEY: masterKey });
    moved.key = old.key;
    const api = new Api(moved);
    const soon = await api.deliveryEnds(made.soon);
    assert.deepEqual([soon.status, soon.attempt_count], ['succeeded', 2], 'what was due is sent');
    assertSigned(receiver.requests.slice(sent), made.destinations);
    const found = await readAll(api);
    const expected = Object.entries(left).filter(([path]) => !path.includes(made.soon));
    for (const [path, shown] of expected) assert.deepEqual(found[path], shown, path);

    assert.equal((await api.deliveryEnds((await api.retry(made.dead)).id)).status, 'succeeded');
    await api.change(made.paused.id, { status: 'active' });
    assert.equal((await api.deliveryEnds(made.held)).status, 'succeeded');
    const repeated = { type: 'copy.ok', body: { n: 1 }, idempotency_key: 'one' };
    const again = await api.expect<Event>(200, 'POST', '/v1/events', repeated);
    assert.equal(again.event_id, made.eventId, 'an idempotency key goes on');
    assertSigned(receiver.requests.slice(sent), made.destinations);
  });

  test('killed in the middle goes on at the next start', async (t) => {
    const url = await databases.makeEmpty(t);
    const old = await startService(t);
    const api = new Api(old);
    const receiver = await startReceiver(t);
    const destination = await api.subscribed(receiver.url, 'copy.many');
    await api.change(destination.id, { status: 'paused' });
    const events = Array.from({ length: 1_000 }, (_, n) => ({ type: 'copy.many', body: { n } }));
    for (let i = 0; i < 12; i++) await api.expect(200, 'POST', '/v1/events/batch', { events });
    await old.stop();

    const child = spawn(PROGRAM, ['copy', '--from', old.dataDir, '--to', url], {
      env: old.environment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const lines = createInterface({ input: child.stderr });
    // Its first chunks are in, or on their way.
    lines.on('line', (line) => {
      if (line.startsWith('copying event_bodies')) child.kill('SIGKILL');
    });
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL']);
    const early = await runCommand(['serve'], { ...old.environment(), ...environmentFor(url, 'f'.repeat(64)) });
    assert.equal(early.code, 1, 'half a store is not served');

    const { code, stdout, stderr } = await copy(old, url, ['--json']);
    assert.equal(code, 0, stderr);
    const report = JSON.parse(stdout) as { resumed: boolean; tables: Record<string, { rows: number }> };
    assert.equal(report.resumed, true);
    assert.ok(!stderr.includes('copying events'), 'what was done is not done again');
    for (const table of ['events', 'event_bodies', 'open_deliveries']) {
      assert.equal(report.tables[table]!.rows, 12_000, table);
    }
  });

  test('says what is missing', async (t) => {
    const { POSTRIDER_DATABASE_URL: _, ...environment } = process.env;
    for (const argv of [['copy'], ['copy', '--to', 'mysql://x/y'], ['copy', 'x']]) {
      const { code, stderr } = await runCommand(argv, environment);
      assert.equal(code, 2, stderr);
    }
    const nowhere = await runCommand(['copy', '--from', '/nowhere', '--to', await databases.makeEmpty(t)], environment);
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.stderr, /there is no store in \/nowhere.*--from/);
  });
});

function environmentFor(url: string, masterKey: string): NodeJS.ProcessEnv {
  return { POSTRIDER_DATABASE_URL: url, POSTRIDER_MASTER_KEY: masterKey };
}

function copy(service: Service, url: string, flags: string[] = []) {
  return runCommand(['copy', '--from', service.dataDir, '--to', url, ...flags], service.environment());
}

async function makeHistory(api: Api, receiver: Receiver) {
  const base = receiver.url;
  const fine = await api.subscribed(`${base}ok`, 'copy.ok', { headers: { 'X-Token': 'sesame' } });
  const failing = await api.subscribed(`${base}once`, 'copy.once', ONCE);
  const slow = await api.subscribed(`${base}later`, 'copy.later', IN_AN_HOUR);
  const paused = await api.subscribed(`${base}paused`, 'copy.paused');
  const gone = await api.subscribed(`${base}gone`, 'copy.gone', IN_AN_HOUR);
  const { event_id: eventId, deliveries } = await api.publish('copy.ok', { n: 1 }, { idempotency_key: 'one' });
  await api.deliveryEnds(deliveries[0]!.id);
  const dead = await api.publishToOne('copy.once');
  await api.deliveryEnds(dead);
  for (const type of ['copy.later', 'copy.gone']) {
    await api.deliveryWhen(await api.publishToOne(type), ({ attempt_count: count }) => count === 1);
  }
  await api.change(paused.id, { status: 'paused' });
  const held = await api.publishToOne('copy.paused');
  await api.expect(204, 'DELETE', `/v1/destinations/${gone.id}`);
  const quick = await api.subscribed(`${base}soon`, 'copy.soon', SOON);
  const soon = await api.publishToOne('copy.soon');
  await api.deliveryWhen(soon, ({ attempt_count: count }) => count === 1);
  return { destinations: [fine, failing, slow, paused, quick], paused, eventId, dead, held, soon };
}

/** Every list and every delivery, as the API shows it. */
async function readAll(api: Api): Promise<Record<string, unknown>> {
  const shown: Record<string, unknown> = {};
  for (const path of ['/v1/destinations', '/v1/subscriptions', '/v1/events']) shown[path] = await api.all(path);
  for (const { id } of await api.all<{ id: string }>('/v1/deliveries')) {
    shown[`/v1/deliveries/${id}`] = await api.delivery(id);
  }
  return shown;
}

function assertSigned(requests: readonly Received[], destinations: readonly Destination[]): void {
  assert.ok(requests.length > 0);
  for (const { path, headers, body } of requests) {
    const { signing_secret: secret } = destinations.find((one) => new URL(one.url).pathname === path)!;
    assert.doesNotThrow(() => new Webhook(secret).verify(body.toString(), headers), path);
  }
}
