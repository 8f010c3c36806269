// Commands that ask what is no Postrider, or one that somebody else has written: what it says stays text.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test, type TestContext } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { certificate, type Certificate } from '../attempt/receiver.ts';
import { askService } from '../../src/cli/api/ask-service.ts';
import { environmentOf } from '../e2e/service.ts';
import { Prompt } from './lines.ts';

const CA_FILE = fileURLToPath(new URL('../attempt/certs/ca.crt', import.meta.url));
const KEY = `pr_test_${'0'.repeat(36)}`;

async function serve(t: TestContext, answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const prompt = new Prompt(environmentOf({}));
after(() => prompt.close());

test('what a service says does not act on a terminal, ids included', async (t) => {
  const evil = '\u001b]0;x\u0007\u202e';
  const named = { id: evil, subscription_id: evil, destination_id: evil };
  const subscription = { ...named, matches: true, pattern_matches: true, filter: [] };
  const event = { event_id: evil, type: 'a.b', deliveries: [named] };
  const answer = { ...event, data: [named], subscriptions: [subscription], ...named, secret: evil, scopes: [evil] };
  const url = await serve(t, (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  const where = ['--url', url, '--key', KEY];
  for (const argv of [
    ['publish', 'a.b'],
    ['explain', 'a.b'],
    ['events', 'replay', 'evt_1'],
    ['keys', 'create', '--mode', 'test'],
  ]) {
    const { code, stdout } = await prompt.run([...argv, ...where]);
    assert.equal(code, 0, argv.join(' '));
    assert.match(stdout, /\\u001b\]0;x\\u0007\\u202e/, argv.join(' '));
    assert.ok(!['\u001b', '\u0007', '\u202e'].some((char) => stdout.includes(char)), stdout);
  }
});

test('of a proxy that says what is wrong nobody is told to doubt the URL; of another page, to', async (t) => {
  const hints = [
    [
      413,
      /HTTP 413\) is no JSON; the request is larger than a proxy in front of Postrider allows; raise its limit there$/m,
    ],
    [502, /HTTP 502\) is no JSON; a proxy may say so: is Postrider running behind it\?$/m],
    [404, /HTTP 404\) is no JSON; is the base URL that of Postrider\?$/m],
  ] as const;
  for (const [status, hint] of hints) {
    const url = await serve(t, (response) => response.writeHead(status, { 'content-type': 'text/html' }).end('<p>'));
    const { code, stderr } = await prompt.run(['events', 'list', '--url', url, '--key', KEY]);
    assert.equal(code, 1);
    assert.match(stderr, hint);
  }
});

test('of a service that takes a request and hangs, the next step is said', async (t) => {
  const url = await serve(t, () => undefined);
  const connection = { url, key: KEY, keyFrom: '--key' };
  const asked = askService(connection, null, (client) => client.stats.now({ timeoutMs: 100 }));
  await assert.rejects(asked, (error: Error) => {
    assert.ok(error.message.startsWith(`${url}: no answer within `), error.message);
    assert.match(error.message, /\. Is the service running there\? ".+ serve" starts one; --url names another$/);
    return true;
  });
});

test('a change whose answer is lost may have been made, and that is said; unless it was never asked for', async (t) => {
  const gone = createServer();
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
  const refusing = `http://127.0.0.1:${(gone.address() as AddressInfo).port}`;
  await new Promise((resolve) => gone.close(resolve));
  const losing = await serve(t, (response) => response.destroy());
  const running = /\)\. Is the service running there\? /;
  for (const [url, line, hint] of [
    [losing, 'publish a.b', /\)\. It may have been done all the same: see what is there before you repeat it\n$/],
    [losing, 'events list', running],
    [refusing, 'publish a.b', running],
  ] as const) {
    const { code, stderr } = await prompt.run([...line.split(' '), '--url', url, '--key', KEY]);
    assert.equal(code, 1);
    assert.match(stderr, hint, line);
  }
});

test('where no TLS is spoken, that is said in words, and the sources of OpenSSL are not named', async (t) => {
  const url = (await serve(t, (response) => response.end())).replace('http:', 'https:');
  const { code, stderr } = await prompt.run(['events', 'list', '--url', url, '--key', KEY]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /\(wrong version number\)\. Nothing there speaks TLS: does its address begin with http:\/\/\?\n$/,
  );
  assert.doesNotMatch(stderr, /openssl/i);
});

test('a certificate that is not trusted, and a port that fetch leaves alone, are said to be that', async (t) => {
  const trusting = new Prompt({ ...environmentOf({}), NODE_EXTRA_CA_CERTS: CA_FILE });
  t.after(() => trusting.close());
  const hints: Partial<Record<Certificate, RegExp>> = {
    'self-signed': /To trust the certificate that signed it: NODE_EXTRA_CA_CERTS=FILE\.pem\n$/,
    expired: /\(certificate has expired\)\. Its certificate must be renewed\n$/,
    'other-host': /\. Its certificate is for another name: give that in the URL\n$/,
  };
  for (const [name, hint] of Object.entries(hints)) {
    const server = createTlsServer(certificate(name as Certificate)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => void server.close());
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, stderr } = await trusting.run(['events', 'list', '--url', url, '--key', KEY]);
    assert.equal(code, 1);
    assert.match(stderr, hint);
  }
  const { code, stderr } = await trusting.run(['events', 'list', '--url', 'http://127.0.0.1:6000', '--key', KEY]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /\(bad port\)\. Browsers and fetch open no connection to that port: let the service have another\n$/,
  );
});
