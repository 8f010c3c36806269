// What an operator does and meets: stopping, starting where that cannot work, keys and backups beside a running
// service, and what must never be in its output.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { Api, type Destination } from './api.ts';
import { hold, ok, startReceiver } from './receiver.ts';
import { rowsOf, runLines } from '../cli/lines.ts';
import { environmentOf, runCommand, Service, startService, type Scope } from './service.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/postrider', import.meta.url));
const IN_AN_HOUR = { retry_policy: { schedule_seconds: [3_600], jitter: 0 } };
const EXIT_MS_MAX = 30_000;
/** A second, and what a busy machine may add. */
const REVOKED_WITHIN_MS = 1_500;

describe('SIGTERM', () => {
  test('lets what is on the wire finish, records it and ends with 0', async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    const receiver = await startReceiver(t, hold);
    await api.subscribed(receiver.url, 'stop.drain', IN_AN_HOUR);
    const id = await api.publishToOne('stop.drain');
    const [request] = await receiver.arrived(1);

    const exit = service.stop();
    await api.eventually(
      async () => logged(service, 'stopping'),
      (isStopping) => isStopping,
    );
    const refused = await api.send('POST', '/v1/events', { type: 'stop.drain', body: {} }).catch(() => null);
    assert.ok(refused === null || refused.status === 503, 'nothing new is accepted');
    request!.answer(200);
    assert.deepEqual(await exit, { code: 0, signal: null });
    assert.ok(logged(service, 'stopped'));

    await service.start();
    const { status, attempt_count: count } = await api.delivery(id);
    assert.deepEqual([status, count], ['succeeded', 1]);
    assert.equal(receiver.requests.length, 1);
  });

  test('right after the start drains as well', async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    const receiver = await startReceiver(t, hold);
    await api.subscribed(receiver.url, 'stop.early', IN_AN_HOUR);
    const id = await api.publishToOne('stop.early');
    await receiver.arrived(1);
    await service.kill();
    receiver.respond = ok;

    // The delivery that was cut off is due at once: it may be on the wire by now or not.
    await service.start();
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
    await service.start();
    const { status, attempt_count: count } = await api.deliveryEnds(id);
    assert.deepEqual([status, count], ['succeeded', 1]);
    assert.equal(receiver.requests.length, 2, 'what the drain sent was recorded');
  });

  test('waits no longer than DRAIN_TIMEOUT; what was cut off is due again', async (t) => {
    const service = await startService(t, { DRAIN_TIMEOUT: '300ms' });
    const api = new Api(service);
    const receiver = await startReceiver(t, hold);
    await api.subscribed(receiver.url, 'stop.cut', IN_AN_HOUR);
    const id = await api.publishToOne('stop.cut');
    await receiver.arrived(1);
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
    receiver.respond = ok;
    await service.start();
    const { status, attempt_count: count } = await api.deliveryEnds(id);
    assert.deepEqual([status, count], ['succeeded', 1], 'the cut attempt is not recorded');
  });

  test('a second one ends it at once', async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    const receiver = await startReceiver(t, hold);
    await api.subscribed(receiver.url, 'stop.twice', IN_AN_HOUR);
    await api.publishToOne('stop.twice');
    await receiver.arrived(1);
    const exit = service.stop();
    await api.eventually(
      async () => logged(service, 'stopping'),
      (isStopping) => isStopping,
    );
    void service.stop();
    assert.deepEqual(await exit, { code: 1, signal: null });
  });

  test('ends it also when nobody reads its output any more; that shows no live key', async (t) => {
    const dataDir = await temporaryDirectory(t);
    const settings = { HOST: '127.0.0.1', PORT: '0', DATA_DIR: dataDir, TEST_SUBNETS: '127.0.0.0/8' };
    const child = spawn(PROGRAM, ['serve'], { env: environmentOf(settings), stdio: ['ignore', 'pipe', 'pipe'] });
    t.after(() => void child.kill('SIGKILL'));
    const exit = once(child, 'exit', { signal: AbortSignal.timeout(EXIT_MS_MAX) });
    let [stdout, stderr] = ['', ''];
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    for await (const chunk of child.stdout) {
      stdout += String(chunk);
      if (stdout.includes(' trigger ') && stdout.endsWith('\n')) break;
    }
    // Leaving the loop closed this end of the pipe.
    child.stderr.destroy();
    assert.doesNotMatch(stdout + stderr, /pr_live_/);
    assert.match(stdout, /keys create --mode live/);

    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(stdout)![0];
    const key = /pr_test_\w+/.exec(stdout)![0];
    const api = new Api({ url, key, activity: () => Promise.resolve() });
    const receiver = await startReceiver(t);
    await api.subscribed(receiver.url, 'stop.unread');
    await api.publishToOne('stop.unread');
    await receiver.arrived(1);
    child.kill('SIGTERM');
    assert.deepEqual(await exit, [0, null]);
  });

  for (const signals of [1, 2]) {
    test(`ends it, given ${signals} times, also when its output is not read`, async (t) => {
      const settings = {
        HOST: '127.0.0.1',
        PORT: '0',
        DATA_DIR: await temporaryDirectory(t),
        TEST_SUBNETS: '127.0.0.0/8',
        LOG_LEVEL: 'debug',
      };
      const env = environmentOf(settings);
      const child = spawn(PROGRAM, ['serve', '--json'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
      t.after(() => void child.kill('SIGKILL'));
      const exit = once(child, 'exit', { signal: AbortSignal.timeout(EXIT_MS_MAX) });
      const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
      child.stdout.removeAllListeners('data').pause();
      const { url, keys } = JSON.parse(line) as { url: string; keys: [{ key: string }] };
      const api = new Api({ url, key: keys[0].key, activity: () => Promise.resolve() });
      const receiver = await startReceiver(t);
      await api.subscribed(receiver.url, 'stop.full');
      const events = Array.from({ length: 1_000 }, () => ({ type: 'stop.full', body: {} }));
      for (let batch = 0; batch < 3; batch++) await api.send('POST', '/v1/events/batch', { events });
      // A line for each is more than fits between two processes.
      await receiver.arrived(3_000);
      if (signals === 2) {
        receiver.respond = hold;
        await api.publish('stop.full');
        await receiver.arrived(3_001);
      }
      child.kill('SIGTERM');
      if (signals === 2) {
        await waitUntilNotReady(url);
        child.kill('SIGTERM');
      }
      assert.deepEqual(await exit, [signals - 1, null]);
    });
  }
});

/** So the first signal has been taken. */
async function waitUntilNotReady(url: string): Promise<void> {
  const isReady = async (): Promise<boolean> => (await fetch(`${url}/readyz`)).ok;
  while (await isReady().catch(() => false));
}

test('a start says which settings let through what is otherwise kept out', async (t) => {
  const settings = {
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: await temporaryDirectory(t),
    TEST_SUBNETS: '127.0.0.0/8,::1/128',
    ALLOW_SUBNETS: '10.0.0.0/8',
    REACHABILITY_CHECK: 'off',
  };
  const child = spawn(PROGRAM, ['serve', '--json'], {
    env: environmentOf(settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => void child.kill('SIGKILL'));
  child.stdout.once('data', () => child.kill('SIGTERM'));
  const said = (await child.stderr.setEncoding('utf8').toArray()) as string[];
  assert.deepEqual(said.join('').trimEnd().split('\n'), [
    'postrider: test-mode destinations may be in POSTRIDER_TEST_SUBNETS: 127.0.0.0/8, ::1/128',
    'postrider: destinations may be in POSTRIDER_ALLOW_SUBNETS, live ones too: 10.0.0.0/8',
    'postrider: URLs of new destinations are not tried: POSTRIDER_REACHABILITY_CHECK is off',
  ]);
});

describe('a start that cannot work ends with 1 and says why', () => {
  test('a data directory that another server has', async (t) => {
    const service = await startService(t);
    const { code, stderr } = await runCommand(['serve'], service.environment());
    assertRefused({ code, stderr }, service.dataDir);
    assert.match(stderr, /another server/);
    assert.equal((await new Api(service).send('GET', '/v1/events')).status, 200, 'the first one goes on');
  });

  test('a port in use', async (t) => {
    const listener = createServer().listen(0, '127.0.0.1');
    t.after(() => void listener.close());
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    const dataDir = await temporaryDirectory(t);
    const result = await serve({ DATA_DIR: dataDir, PORT: String(port) });
    assertRefused(result, `127.0.0.1:${port}`);
    assert.match(result.stderr, /--port/);
    const service = new Service();
    t.after(() => service.end());
    service.dataDir = dataDir;
    await service.start();
    assert.match(service.key, /^pr_test_/, 'the first key is shown by the first start that comes to an end');
  });

  test('a data directory that cannot be made', async (t) => {
    const file = join(await temporaryDirectory(t), 'file');
    await writeFile(file, 'no directory');
    for (const dataDir of [join(file, 'data'), join(file, 'a', 'b'), file]) {
      assertRefused(await serve({ DATA_DIR: dataDir }), file);
    }
  });

  test('a database that is damaged, and stays as it is', async (t) => {
    const dataDir = await temporaryDirectory(t);
    const path = join(dataDir, 'postrider.db');
    for (const content of [randomBytes(20_000), Buffer.from('SQLite format 3\0'), Buffer.from('hello, world\n')]) {
      await writeFile(path, content);
      const result = await serve({ DATA_DIR: dataDir, MASTER_KEY: 'ab'.repeat(32) });
      assertRefused(result, path);
      assert.deepEqual(await readFile(path), content);
    }
  });

  describe('a database of an earlier run', () => {
    const service = new Service();
    const path = () => join(service.dataDir, 'postrider.db');
    before(async () => {
      await service.start();
      await service.stop();
    });
    after(() => service.end());

    test('with another master key', async () => {
      const stored = await readFile(path());
      const result = await serve({ DATA_DIR: service.dataDir, MASTER_KEY: 'cd'.repeat(32) });
      assertRefused(result, 'MASTER_KEY');
      assert.doesNotMatch(result.stderr, /cdcd/);
      assert.deepEqual(await readFile(path()), stored);
    });

    test('without its master.key, which is not made anew', async () => {
      const keyPath = join(service.dataDir, 'master.key');
      const masterKey = await readFile(keyPath);
      await rm(keyPath);
      assertRefused(await serve({ DATA_DIR: service.dataDir }), keyPath);
      assert.ok(!(await readdir(service.dataDir)).includes('master.key'));
      await writeFile(keyPath, 'not a key\n');
      const result = await serve({ DATA_DIR: service.dataDir });
      assertRefused(result, keyPath);
      assert.doesNotMatch(result.stderr, /not a key/);
      await writeFile(keyPath, masterKey, { mode: 0o600 });
    });

    test('that a newer program has changed, and it stays as it is', async () => {
      const version = changeSchemaVersion(path(), 999);
      const stored = await readFile(path());
      for (const argv of [['serve'], ['keys', 'list'], ['migrate']]) {
        const result = await runCommand(argv, environmentOf({ DATA_DIR: service.dataDir, PORT: '0' }));
        assertRefused(result, path());
        assert.match(result.stderr, /999/);
      }
      assert.deepEqual(await readFile(path()), stored);
      assert.equal(changeSchemaVersion(path(), version), 999);
      await service.start();
    });
  });
});

test('a mistake on the command line or in the settings ends with 2 and a suggestion', async (t) => {
  const dataDir = join(await temporaryDirectory(t), 'data');
  const mistakes: [settings: Record<string, string>, ...[line: string, message: RegExp][]][] = [
    [
      {},
      ['srve', /did you mean \S*postrider serve\?/i],
      ['serve --prot 1', /--port/],
      ['serve --port 99999', /--port: "99999" is not a whole number from 0 to 65535/],
      ['serve now', /now/],
      ['keys', /keys create/],
      ['keys create', /--mode test or --mode live/],
      ['keys create --mode test --scopes reed', /read/],
      ['keys revoke', /keys revoke key_/],
      ['backup', /backup FILE/],
    ],
    [{ PROT: '1' }, ['serve', /did you mean POSTRIDER_PORT\?/]],
    [{ BODY_RETENTION: '1month' }, ['serve', /POSTRIDER_BODY_RETENTION.*30d/]],
    [{ BODY_RETENTION: '9d', ROW_RETENTION: '8d' }, ['serve', /BODY_RETENTION must not be longer/]],
    [{ TEST_SUBNETS: '10.0.0.1/8' }, ['serve', /10\.0\.0\.0\/8/]],
  ];
  for (const [settings, ...wrong] of mistakes) {
    const lines = wrong.map(([line]) => line);
    const runs = await runLines(lines, environmentOf({ DATA_DIR: dataDir, ...settings }));
    for (const [nth, [line, message]] of wrong.entries()) {
      const { code, stdout, stderr } = runs[nth]!;
      assert.equal(code, 2, `${line}: ${stderr}`);
      assert.match(stderr, message);
      assert.doesNotMatch(stderr, /^\s+at /m);
      assert.equal(stdout, '');
    }
  }
});

describe('beside a running service', () => {
  const service = new Service({ LOG_LEVEL: 'trace' });
  const api = new Api(service);
  before(() => service.start());
  after(() => service.end());

  test('a key made on the command line works at once; revoked, it is refused within a second', async () => {
    const made = await command('keys', 'create', '--mode', 'test', '--name', 'ops', '--scopes', 'read', '--json');
    const { id, secret: key } = JSON.parse(made) as { id: string; secret: string };
    const reader = new Api(service, key);
    assert.equal((await reader.send('GET', '/v1/events')).status, 200);
    assert.equal((await reader.send('POST', '/v1/events', { type: 'a.b', body: {} })).status, 403);
    const listed = rowsOf<{ id: string; name: string }>(await command('keys', 'list', '--json'));
    assert.equal(listed.find((row) => row.id === id)?.name, 'ops');
    for (const text of [await command('keys', 'list'), JSON.stringify(listed)]) assert.ok(!text.includes(key));

    await command('keys', 'revoke', id);
    const revokedAt = performance.now();
    await api.eventually(
      async () => (await reader.send('GET', '/v1/events')).status,
      (status) => status === 401,
    );
    assert.ok(performance.now() - revokedAt < REVOKED_WITHIN_MS);
    const again = await runCommand(['keys', 'revoke', 'key_01h455vb4pex5vsknk084sn02q'], service.environment());
    assert.equal(again.code, 1);
    assert.match(again.stderr, /keys list/);
  });

  test('a backup is whole: what starts on it signs as before and knows its keys', async (t) => {
    const receiver = await startReceiver(t, (request) => request.answer(500));
    const destination = await api.subscribed(receiver.url, 'backup.made', IN_AN_HOUR);
    const id = await api.publishToOne('backup.made', { n: 1 });
    await api.deliveryWhen(id, ({ attempt_count: count }) => count === 1);
    const folder = await temporaryDirectory(t);
    const file = join(folder, 'copy.db');
    await command('backup', file);
    assert.deepEqual(await readdir(folder), ['copy.db'], 'one whole file');
    const refused = await runCommand(['backup', file], service.environment());
    assertRefused(refused, file);
    await api.publishToOne('backup.made', { n: 2 });

    const restored = new Service();
    restored.dataDir = join(folder, 'data');
    await mkdir(restored.dataDir);
    await copyFile(file, join(restored.dataDir, 'postrider.db'));
    await copyFile(join(service.dataDir, 'master.key'), join(restored.dataDir, 'master.key'));
    t.after(() => restored.end());
    await restored.start();
    assert.equal(restored.key, '', 'no new first key');
    const there = new Api(restored, service.key);
    receiver.respond = ok;
    const seen = receiver.requests.length;
    await there.retry(id);
    assert.equal((await there.deliveryEnds(id)).status, 'succeeded');
    const request = receiver.requests[seen]!;
    assert.deepEqual(request.data, { n: 1 });
    new Webhook(destination.signing_secret).verify(request.body.toString(), request.headers);
    assert.equal((await there.all('/v1/events')).length, (await api.all('/v1/events')).length - 1);
  });

  test('no key, signing secret or header value is in its output, nor on its disk', async (t) => {
    const receiver = await startReceiver(t, (request) => request.answer(request.attempt === 1 ? 500 : 200));
    const headers = { 'x-token': 'header-value-one', authorization: 'Basic header-value-two' };
    const options = { headers, retry_policy: { schedule_seconds: [1] } };
    const destination = await api.subscribed(receiver.url, 'secret.kept', options);
    const { signing_secret: rotated } = await api.expect<Destination>(
      201,
      'POST',
      `/v1/destinations/${destination.id}/signing-keys/rotate`,
      {},
    );
    const made = await command('keys', 'create', '--mode', 'test', '--scopes', 'admin');
    const adminKey = made.trim();
    const { secret: otherKey } = await new Api(service, adminKey).expect<{ secret: string }>(
      201,
      'POST',
      '/v1/api-keys',
      {
        mode: 'test',
      },
    );
    await api.deliveryEnds(await api.publishToOne('secret.kept'));
    assert.equal(receiver.requests[0]!.headers['x-token'], 'header-value-one');
    // What is refused is most likely to be logged as it came.
    const unknownKey = `${service.key.slice(0, -1)}${service.key.endsWith('A') ? 'B' : 'A'}`;
    assert.equal((await new Api(service, unknownKey).send('GET', '/v1/events')).status, 401);
    await api.send('POST', '/v1/destinations', { url: 'no url', headers });
    await api.send('PATCH', `/v1/destinations/${destination.id}`, { headers: { host: 'header-value-one' } });
    await api.send('POST', '/v1/destinations', `{"headers":{"x-token":"header-value-one"`);

    const secrets = [destination.signing_secret, rotated].map((secret) => secret.slice('whsec_'.length));
    secrets.push('header-value-one', 'header-value-two', adminKey, otherKey, unknownKey);
    for (const secret of secrets) assert.ok(!service.output.includes(secret), `${secret} is in the output`);
    assert.equal(service.output.split(service.key).length, 2, 'the first key is there once, on the first line');
    for (const name of await readdir(service.dataDir)) {
      const content = await readFile(join(service.dataDir, name));
      for (const secret of [...secrets, service.key]) {
        assert.ok(!content.includes(secret), `${secret} is in ${name}`);
        if (/^[A-Za-z0-9+/]{43}=$/.test(secret)) assert.ok(!content.includes(Buffer.from(secret, 'base64')), name);
      }
    }
  });

  /** What a command that must succeed prints. */
  async function command(...argv: string[]): Promise<string> {
    const { code, stdout, stderr } = await runCommand(argv, service.environment());
    assert.equal(code, 0, stderr);
    return stdout;
  }
});

function logged(service: Service, start: string): boolean {
  return service.logEntries().some(({ msg }) => typeof msg === 'string' && msg.startsWith(start));
}

function serve(settings: Record<string, string>) {
  return runCommand(['serve'], environmentOf({ HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'silent', ...settings }));
}

/** One line that names the culprit, and no stack. */
function assertRefused({ code, stderr }: { code: number | null; stderr: string }, culprit: string): void {
  assert.equal(code, 1, stderr);
  assert.ok(stderr.includes(culprit), stderr);
  const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  assert.equal(lines.length, 1, stderr);
}

async function temporaryDirectory(scope: Scope): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'postrider-e2e-'));
  scope.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** The version it had. */
function changeSchemaVersion(path: string, version: number): number {
  const db = new DatabaseSync(path);
  const row = db.prepare('PRAGMA user_version').get() as { user_version: number };
  db.exec(`PRAGMA user_version = ${version}`);
  db.close();
  return row.user_version;
}
