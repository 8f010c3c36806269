// The data directory taken away from under a running service: it says so, promises nothing and sends nothing, until the
// directory is back or the service is started again.
import assert from 'node:assert/strict';
import { chmod, rename, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Api } from './api.ts';
import { hold, startReceiver } from './receiver.ts';
import { Service, runCommand, startService } from './service.ts';

const RETRY_MS = 3_000;
const RETRIED = { retry_policy: { schedule_seconds: Array.from({ length: 30 }, () => RETRY_MS / 1_000), jitter: 0 } };

test('moved away: 503, not ready, nothing sent; put back: all goes on, and nothing twice', async (t) => {
  const service = await startService(t);
  const api = new Api(service);
  const failing = await startReceiver(t, (request) => request.answer(500));
  const slow = await startReceiver(t, hold);
  await api.subscribed(failing.url, 'files.retried', RETRIED);
  await api.subscribed(slow.url, 'files.on-wire', { retry_policy: { timeout_seconds: 60 } });
  const retried = await api.publishToOne('files.retried');
  const onWire = await api.publishToOne('files.on-wire');
  const [request] = await slow.arrived(1);
  await api.eventually(
    () => api.delivery(retried),
    ({ attempt_count: count }) => count > 0,
  );

  const away = `${service.dataDir}.away`;
  await rename(service.dataDir, away);
  await refuses(api);
  await notReady(service, api, /data directory was replaced or removed: postrider\.db is gone/);
  const told = await api.eventually(
    async () => service.logEntries().filter(({ msg }) => /under the service/.test(String(msg))),
    ({ length }) => length > 0,
  );
  assert.deepEqual(
    told.map(({ level, data_dir: dir }) => [level, dir]),
    [['error', service.dataDir]],
  );
  assert.match(String(told[0]!['msg']), /Put back .* or restart it/);
  // From here on nothing starts; when only the held one is on the wire, what had started has arrived.
  await api.eventually(
    () => attemptsOnWire(service),
    (count) => count === 1,
  );
  const attempts = failing.requests.length;
  // Longer than until the retry is due: it does not go out, for what comes of it could not be kept.
  const dueBy = Date.now() + RETRY_MS;
  await api.eventually(
    async () => Date.now(),
    (now) => now > dueBy,
  );
  assert.equal(failing.requests.length, attempts);
  request!.answer(200);
  await request!.closed;
  assert.equal((await fetch(`${service.url}/healthz`)).status, 200);

  await rename(away, service.dataDir);
  const { status, attempt_count: count } = await api.deliveryEnds(onWire);
  assert.deepEqual([status, count], ['succeeded', 1]);
  assert.equal(slow.requests.length, 1);
  await failing.arrived(attempts + 1);
  slow.respond = (later) => later.answer(200);
  await becomesReady(service, api);
  await api.publishToOne('files.on-wire');
  assert.deepEqual(await service.stop(), { code: 0, signal: null });
});

test('removed, and a new service beside the old one: the old one steps aside', async (t) => {
  const old = await startService(t);
  const api = new Api(old);
  const receiver = await startReceiver(t, (request) => request.answer(500));
  await api.subscribed(receiver.url, 'files.lost', RETRIED);
  await api.publishToOne('files.lost');
  await receiver.arrived(1);
  await rm(old.dataDir, { recursive: true });

  const other = new Service();
  other.dataDir = old.dataDir;
  t.after(() => other.end());
  await other.start();
  const otherApi = new Api(other);
  const { event_id: id } = await otherApi.publish('files.kept');
  await refuses(api);
  await notReady(old, api, /is gone|another file/);
  assert.deepEqual(await old.stop(), { code: 0, signal: null });
  await otherApi.publish('files.kept');
  assert.equal((await fetch(`${other.url}/readyz`)).status, 200, 'the old one left its files alone');
  await other.kill();
  await other.start();
  await otherApi.expect(200, 'GET', `/v1/events/${id}`);
});

test('its log removed, and then kill -9: all that was promised is there at the next start', async (t) => {
  const service = await startService(t);
  const api = new Api(service);
  const promised = await Promise.all(Array.from({ length: 50 }, (_, n) => api.publish('files.promised', { n })));
  await rm(join(service.dataDir, 'postrider.db-wal'));
  await refuses(api);
  await notReady(service, api, /postrider\.db-wal is gone/);
  await service.kill();
  await service.start();
  for (const { event_id: id } of promised) await api.expect(200, 'GET', `/v1/events/${id}`);
  assert.equal((await fetch(`${service.url}/readyz`)).status, 200);
});

test('open to other users: it says so in the log', async (t) => {
  const service = await startService(t);
  await service.stop();
  await chmod(service.dataDir, 0o777);
  await chmod(join(service.dataDir, 'master.key'), 0o640);
  await service.start();
  await service.stop();
  const warnings = service.logEntries().filter(({ level }) => level === 'warn');
  assert.match(String(warnings[0]!['msg']), /has mode 0777.*chmod 700/);
  assert.match(String(warnings[1]!['msg']), /master\.key has mode 0640.*chmod 600/);
});

test('with an empty database in it: a start is refused, and so is every command', async (t) => {
  const service = await startService(t);
  await service.stop();
  const path = join(service.dataDir, 'postrider.db');
  await truncate(path);
  for (const argv of [['serve'], ['migrate']]) {
    const { code, stderr } = await runCommand(argv, service.environment());
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^postrider: .*postrider\.db is empty: the database that was there is lost\. Restore a backup/,
    );
    assert.doesNotMatch(stderr, /\n\s+at /, 'no stack');
  }
});

async function attemptsOnWire(service: Service): Promise<number> {
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  return Number(/^postrider_attempts_on_wire (\d+)$/m.exec(metrics)![1]);
}

async function refuses(api: Api): Promise<void> {
  const { status, body } = await api.send('POST', '/v1/events', { type: 'files.gone', body: {} });
  assert.deepEqual([status, body.error.code], [503, 'unavailable']);
}

async function notReady(service: Service, api: Api, why: RegExp): Promise<void> {
  const answer = await api.eventually(
    () => api.send('GET', '/readyz'),
    ({ status, text }) => status === 503 && why.test(text),
  );
  assert.ok(!answer.text.includes(service.dataDir), 'the path is for the log');
}

async function becomesReady(service: Service, api: Api): Promise<void> {
  await api.eventually(
    async () => (await fetch(`${service.url}/readyz`)).status,
    (status) => status === 200,
  );
}
