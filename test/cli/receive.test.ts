// `postrider receive` as people and scripts run it: a process, its output, its exit code.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';

const POSTRIDER = fileURLToPath(new URL('../../bin/postrider', import.meta.url));
const SECRETS = [1, 2].map((n) => `whsec_${Buffer.alloc(32, n).toString('base64')}`) as [string, string];
const EVENT_ID = 'evt_01kg9qz3xefa3vqtdw5f0bz7ra';
const DELIVERY_ID = 'dlv_01kg9qz3xefa3vqtdw5f0bz7rb';

const started: { kill(): void }[] = [];
after(() => started.forEach((process) => process.kill()));

/** Starts the command; `line` resolves with its next line of output. */
function receive(...flags: string[]) {
  const child = spawn(POSTRIDER, ['receive', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  started.push({ kill: () => child.kill('SIGKILL') });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  return {
    child,
    line: async () => (await lines.next()).value as string,
    ended: once(child, 'close').then(([code]) => ({ code: code as number | null, errors })),
  };
}

async function receiveJson(...flags: string[]) {
  const receiver = receive('--port', '0', '--json', ...flags);
  const { url } = JSON.parse(await receiver.line()) as { url: string };
  const request = async () => JSON.parse(await receiver.line()) as Record<string, unknown>;
  return { ...receiver, url, request };
}

function envelope(data: string): string {
  return `{"id":"${EVENT_ID}","type":"order.paid","timestamp":"2026-01-31T09:30:00.000Z","data":${data}}`;
}

/** As the service sends it, signed with each of `secrets`. */
function post(url: string, body: string, secrets: string[] = []): Promise<Response> {
  const now = new Date();
  return fetch(url, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'webhook-id': EVENT_ID,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(EVENT_ID, now, body)).join(' '),
      'postrider-delivery-id': DELIVERY_ID,
      'postrider-attempt': '2',
    },
  });
}

/** All that the tests print beyond ASCII is two columns wide. */
function columns(line: string): number {
  return Array.from(line).reduce((sum, character) => sum + (character <= '~' ? 1 : 2), 0);
}

describe('signatures', () => {
  test('one that holds is verified and answered 200', async () => {
    const { url, request } = await receiveJson('--secret', SECRETS[0]);
    assert.equal((await post(url, envelope('{"total":1.0}'), [SECRETS[0]])).status, 200);
    const { signature, verified_by, answered, type, webhook_id, delivery_id, attempt, body } = await request();
    assert.deepEqual([signature, verified_by, answered], ['verified', [1], 200]);
    assert.deepEqual([type, webhook_id, delivery_id, attempt], ['order.paid', EVENT_ID, DELIVERY_ID, 2]);
    assert.equal(body, envelope('{"total":1.0}'));
  });

  test('of several secrets one is enough, and it says which ones hold', async () => {
    const { url, request } = await receiveJson('--secret', SECRETS.join(','));
    assert.equal((await post(url, envelope('{}'), [SECRETS[1]])).status, 200);
    assert.deepEqual((await request())['verified_by'], [2]);
    assert.equal((await post(url, envelope('{}'), SECRETS)).status, 200);
    assert.deepEqual((await request())['verified_by'], [1, 2]);
  });

  test('a wrong one, or none, is NOT verified and answered 401, whatever --status says', async () => {
    const { url, request } = await receiveJson('--secret', SECRETS[0], '--status', '202');
    for (const secrets of [[SECRETS[1]], []]) {
      assert.equal((await post(url, envelope('{}'), secrets)).status, 401);
      const { signature, verified_by } = await request();
      assert.deepEqual([signature, verified_by], ['refused', []]);
    }
    assert.equal((await post(url, envelope('{}'), [SECRETS[0]])).status, 202);
  });

  test('without a secret nothing is checked', async () => {
    const { url, request } = await receiveJson();
    assert.equal((await post(url, envelope('{}'))).status, 200);
    assert.equal((await request())['signature'], 'not_checked');
  });
});

describe('what people read', () => {
  test('three short plain lines a delivery', async () => {
    const receiver = receive('--port', '0', '--secret', SECRETS[0]);
    const url = /http:\S+(?=,)/.exec(await receiver.line())![0];
    assert.equal(await receiver.line(), 'Signatures are checked.');
    await post(url, envelope('{\n  "note": "Danke! 🎉",\n  "total": 9.90\n}'), [SECRETS[0]]);
    assert.equal(await receiver.line(), '');
    assert.match(await receiver.line(), /^\d\d:\d\d:\d\d\.\d{3}Z {2}order\.paid {2}✔ verified {2}→ 200$/);
    assert.equal(await receiver.line(), `  ${EVENT_ID}  ${DELIVERY_ID}  attempt 2`);
    assert.equal(await receiver.line(), '  { "note": "Danke! 🎉", "total": 9.90 }');
    await post(`${url}hooks?x=1`, 'hello');
    await receiver.line();
    assert.match(
      await receiver.line(),
      / {2}\(not an event\) {2}✘ NOT verified: missing required headers {2}→ 401 {2}\/hooks/,
    );
  });

  test('a long body is cut at 80 columns and after a few lines', async () => {
    const receiver = receive('--port', '0');
    const url = /http:\S+(?=,)/.exec(await receiver.line())![0];
    await receiver.line();
    await post(url, envelope(`{"text":"${'漢字🎉'.repeat(10_000)}"}`));
    const lines = await Promise.all(Array.from({ length: 8 }, () => receiver.line()));
    assert.match(lines.at(-1)!, /^ {2}… \d+ characters more$/);
    for (const line of lines.slice(3, 7)) assert.ok(columns(line) <= 80 && columns(line) >= 79, line);
  });

  test('control characters are shown, not obeyed', async () => {
    const receiver = receive('--port', '0');
    const url = /http:\S+(?=,)/.exec(await receiver.line())![0];
    await receiver.line();
    await post(url, 'a\u001B[2Jb\u202Ec\u0000');
    const lines = await Promise.all(Array.from({ length: 4 }, () => receiver.line()));
    assert.equal(lines.at(-1), '  a\\u001b[2Jb\\u202ec\\u0000');
  });
});

describe('requests that are no deliveries', () => {
  test('GET / answers 200, so that scripts can wait for it', async () => {
    const { url } = await receiveJson();
    const response = await fetch(url);
    assert.equal(response.status, 200);
    assert.ok((await response.text()).length > 0);
    assert.equal((await fetch(url, { method: 'PUT', body: '{}' })).status, 405);
  });

  test('a body over 1 MiB answers 413, told beforehand or not, and the next request is served', async () => {
    const { url, request } = await receiveJson();
    const tooLong = 'x'.repeat(1024 * 1024 + 1);
    assert.equal((await post(url, tooLong)).status, 413);
    const stream = new Blob([tooLong]).stream();
    assert.equal((await fetch(url, { method: 'POST', body: stream, duplex: 'half' })).status, 413);
    assert.equal((await post(url, 'x'.repeat(1024 * 1024))).status, 200);
    assert.equal((await request())['type'], null);
  });

  test('bytes that are not UTF-8 come out as base64', async () => {
    const { url, request } = await receiveJson();
    await fetch(url, { method: 'POST', body: Buffer.from([0xff, 0xfe]) });
    const { body, body_encoding } = await request();
    assert.deepEqual([body, body_encoding], ['//4=', 'base64']);
  });
});

describe('beginning and ending', () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`${signal} ends it at once with 0, also in the middle of a request`, async () => {
      const { child, url, ended } = await receiveJson();
      const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
      await once(socket, 'connect');
      socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf');
      assert.equal((await fetch(url)).status, 200);
      child.kill(signal);
      assert.deepEqual(await ended, { code: 0, errors: '' });
    });
  }

  test('it ends when nobody reads its output any more', async () => {
    const { child, url, ended } = await receiveJson();
    child.stdout.destroy();
    await post(url, envelope('{}')).catch(() => {});
    assert.deepEqual(await ended, { code: 0, errors: '' });
  });

  test('a port in use is said in one line, exit code 1', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, errors } = await receive('--port', String(port)).ended;
    other.close();
    assert.equal(code, 1);
    assert.equal(errors, `postrider: port ${port} is in use; end what listens there, or choose another with --port\n`);
  });

  test('a mistake on the command line is said without repeating a secret, exit code 2', async () => {
    const mistakes: [string[], RegExp][] = [
      [['--secret', 'c2VjcmV0'], /--secret: this is not a signing secret; .* 32 to 88 characters of base64/],
      [['--secret', `${SECRETS[0]},whsec_%%top%%`], /--secret: number 2 of 2 is not a signing secret/],
      [['--secret', ''], /--secret: this is not a signing secret/],
      [['--port', '70000'], /--port: "70000" is not a whole number from 0 to 65535/],
      [['--status', '100'], /--status: "100" is not a whole number from 200 to 599/],
    ];
    for (const [flags, message] of mistakes) {
      const { code, errors } = await receive(...flags).ended;
      assert.equal(code, 2);
      assert.match(errors, message);
      assert.doesNotMatch(errors, /top%%|c2VjcmV0|\n\s+at /);
    }
  });
});
