// A disk that is nearly full, or full: nothing new is accepted, what is under way is recorded, and once there is room
// the service goes on by itself.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Api, type Answer, type ErrorBody } from './api.ts';
import { hold, startReceiver } from './receiver.ts';
import { environmentOf, Service, startService } from './service.ts';
import { mountDisk } from './small-disk.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/postrider', import.meta.url));
const MB = 1_024 * 1_024;
/** More than any disk has. */
const ENDLESS = '999999999GB';

test('below the reserve, accepts are refused with 503', async (t) => {
  const roomy = await startService(t);
  const receiver = await startReceiver(t);
  await new Api(roomy).subscribed(receiver.url, 'disk.full');
  await roomy.stop();

  const service = new Service({ DISK_RESERVE: ENDLESS });
  service.dataDir = roomy.dataDir;
  t.after(() => service.end());
  await service.start();
  const api = new Api(service, roomy.key);
  assertUnavailable(await post(api));
  assertUnavailable(await api.send('POST', '/v1/destinations', { url: receiver.url }));
  assert.equal((await api.send('GET', '/v1/events')).status, 200, 'reading goes on');
  assert.equal((await fetch(`${service.url}/healthz`)).status, 200);
  assert.equal(receiver.requests.length, 0);
});

test('a disk that fills up, and has room again', async (t) => {
  const disk = mountDisk(t, 64);
  if (typeof disk === 'string') return t.skip(disk);
  const service = new Service({ DISK_RESERVE: '8MB' });
  service.dataDir = join(disk.path, 'data');
  disk.endFirst(() => service.end());
  await service.start();
  const api = new Api(service);
  const receiver = await startReceiver(t, hold);
  await api.subscribed(receiver.url, 'disk.full', { retry_policy: { schedule_seconds: [1, 1, 1], jitter: 0 } });

  await t.test('below the reserve only results are stored', async () => {
    const id = await api.publishToOne('disk.full');
    const [request] = await receiver.arrived(1);
    await disk.fillTo(4 * MB);
    await refused(api);
    request!.answer(200);
    const { status, attempt_count: count } = await api.deliveryEnds(id);
    assert.deepEqual([status, count], ['succeeded', 1]);
    await disk.makeRoom();
    await accepted(api);
  });

  await t.test('with nothing left, what cannot be recorded is once it can', async () => {
    const seen = receiver.requests.length;
    const id = await api.publishToOne('disk.full');
    const request = await receiver.arrival((candidate) => candidate.deliveryId === id);
    await disk.fillTo(0);
    await refused(api);
    request.answer(200, { body: 'x'.repeat(1_000) });
    await request.closed;
    assert.equal((await fetch(`${service.url}/healthz`)).status, 200);
    await disk.makeRoom();
    const { status, attempt_count: count } = await api.deliveryEnds(id);
    assert.deepEqual([status, count], ['succeeded', 1]);
    await accepted(api);
    await api.eventually(
      async () => (await fetch(`${service.url}/readyz`)).status,
      (code) => code === 200,
    );
    assert.equal(receiver.requests.filter(({ deliveryId }) => deliveryId === id).length, 1);
    assert.ok(receiver.requests.length > seen);
  });

  await t.test('a stop with a full disk ends, and the next start has everything', async () => {
    const id = await api.publishToOne('disk.full');
    const request = await receiver.arrival((candidate) => candidate.deliveryId === id);
    receiver.respond = (later) => later.answer(200);
    for (const waiting of receiver.requests)
      if (waiting.answeredAt === null && waiting !== request) waiting.answer(200);
    await disk.fillTo(0);
    const exit = service.stop();
    request.answer(200);
    assert.deepEqual(await exit, { code: 0, signal: null });
    await disk.makeRoom();
    await service.start();
    assert.equal((await api.deliveryEnds(id)).status, 'succeeded');
  });

  await t.test('a start after kill -9 needs no room, and accepting begins by itself when there is some', async () => {
    const id = await api.publishToOne('disk.full');
    await receiver.arrival((request) => request.deliveryId === id);
    await disk.fillTo(0);
    await service.kill();
    await service.start();
    await refused(api);
    assert.equal((await api.send('GET', '/v1/events')).status, 200, 'reading goes on');
    await disk.makeRoom();
    await accepted(api);
    assert.equal((await api.deliveryEnds(id)).status, 'succeeded');
  });
});

test('the disk of its log may be full: it serves, and goes on writing when there is room', async (t) => {
  const disk = mountDisk(t, 4);
  if (typeof disk === 'string') return t.skip(disk);
  const path = join(disk.path, 'log');
  const dataDir = await mkdtemp(join(tmpdir(), 'postrider-log-'));
  const settings = { PORT: '0', DATA_DIR: dataDir, TEST_SUBNETS: '127.0.0.0/8', LOG_LEVEL: 'debug' };
  const file = openSync(path, 'a');
  const child = spawn(PROGRAM, ['serve', '--json'], {
    env: environmentOf(settings),
    stdio: ['ignore', file, 'ignore'],
  });
  closeSync(file);
  const exit = once(child, 'exit');
  disk.endFirst(async () => {
    child.kill('SIGKILL');
    await exit;
    await rm(dataDir, { recursive: true });
  });
  let log = '';
  while (!log.includes('"started"')) log = await readFile(path, 'utf8');
  const { url, keys } = JSON.parse(log.slice(0, log.indexOf('\n'))) as { url: string; keys: [{ key: string }] };
  const api = new Api({ url, key: keys[0].key, activity: () => Promise.resolve() });
  const receiver = await startReceiver(t);
  await api.subscribed(receiver.url, 'log.full');
  await disk.fillTo(0);
  for (let count = 1; count <= 100; count++) {
    await api.publishToOne('log.full');
    await receiver.arrived(count);
  }
  await disk.makeRoom();
  const id = await api.publishToOne('log.full');
  await api.eventually(
    () => readFile(path, 'utf8'),
    (written) => written.includes(id),
  );
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [0, null]);
});

function post(api: Api): Promise<Answer<ErrorBody>> {
  return api.send('POST', '/v1/events', { type: 'disk.full', body: {} });
}

async function refused(api: Api): Promise<void> {
  assertUnavailable(
    await api.eventually(
      () => post(api),
      ({ status }) => status !== 202,
    ),
  );
}

async function accepted(api: Api): Promise<void> {
  await api.eventually(
    () => post(api),
    ({ status }) => status === 202,
  );
}

function assertUnavailable({ status, headers, body }: Answer<ErrorBody>): void {
  assert.deepEqual([status, body.error.code], [503, 'unavailable']);
  assert.match(headers.get('retry-after') ?? '', /^\d+$/);
}
