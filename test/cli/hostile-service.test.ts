// Commands that ask what is no Postrider, or one that somebody else has written: what it says stays text.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import type { TestContext } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { certificate } from '../attempt/receiver.ts';
import type { Certificate } from '../attempt/receiver.ts';
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

const answerWith = (answer: () => unknown) => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer()));
};

/** One answer to whatever a command asks, with all that is read of any. */
function answerOf(text: string) {
  const at = '2026-01-31T09:30:00.000Z';
  const ids = { id: text, event_id: text, destination_id: text, subscription_id: text };
  const seconds = { p50: 1, p95: null, p99: 2 };
  const attempt = { attempt: 1, started_at: at, duration_ms: 7, outcome: 'reset', response_code: null, error: text };
  const counts = {
    pending: 1,
    retrying: 2,
    held: 3,
    in_flight: 4,
    dead_24h: 5,
    total: 6,
    done: 7,
    failed: 8,
    skipped: 9,
  };
  const row = {
    ...{ ...ids, ...counts, name: text, url: text, status: text, kind: text, type: text, event_type: text },
    ...{ created_at: at, updated_at: at, occurred_at: at, next_attempt_at: at, dead_reason: null, finished_at: at },
    ...{
      attempt_count: 1,
      response_codes: [500, null],
      idempotency_key: text,
      filter: { a: 1 },
      request: { body: text },
    },
    ...{
      mode: text,
      prefix: text,
      last4: text,
      scopes: [text],
      expires_at: at,
      last_used_at: at,
      signing_secret: text,
    },
    ...{ at, events_accepted: 1, attempts: { succeeded: 1, reset: 2 } },
  };
  const condition = { path: text, operator: text, expected: 1, found: 2, holds: true };
  return {
    ...{ ...row, ...attempt, request: { body: text, headers: { a: text } } },
    ...{
      data: [row],
      next_cursor: null,
      has_more: false,
      deliveries: [{ ...ids, status: text }],
      retries: [attempt],
      secret: text,
    },
    ...{ state: text, summary: text, success_rate_1h: 1, success_rate_24h: null, attempt_seconds: seconds },
    ...{
      events_per_second: 1,
      attempts_per_second: 2,
      success_rate: 0.5,
      destinations: { active: 1, paused: 2, failing: 3 },
    },
    ...{ troubles: [{ destination_id: text, name: text, state: text, summary: text }], step: '1m', count: 1 },
    ...{ subscriptions: [{ ...ids, matches: false, pattern_matches: true, filter: [condition] }] },
    // The last, as the service writes it.
    body: { a: text },
  };
}

type Way = readonly (string | number)[];

/** To every member, however deep. */
function waysOf(value: unknown): Way[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [[name], ...waysOf(member).map((way) => [name, ...way])]);
}

/** With another value there; undefined: with none. */
function changedAt(value: unknown, [name, ...rest]: Way, to: unknown): unknown {
  if (name === undefined) return to;
  const members = value as Record<string, unknown>;
  const changed = changedAt(members[name], rest, to);
  return Array.isArray(value) ? value.with(Number(name), changed) : { ...members, [name]: changed };
}

const prompt = new Prompt(environmentOf({}));
after(() => prompt.close());

test('what a service says does not act on a terminal, ids included', async (t) => {
  const evil = '\u001b]0;x\u0007\u202e';
  const url = await serve(
    t,
    answerWith(() => answerOf(evil)),
  );
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

test('an answer that lacks what is read of it is none of Postrider’s, and never a stack', async (t) => {
  const whole = answerOf('text');
  let answer: unknown = whole;
  const url = await serve(
    t,
    answerWith(() => answer),
  );
  const where = ['--url', url, '--key', KEY];
  const lines = [
    ...['destinations', 'subscriptions', 'events', 'deliveries', 'keys', 'operations'].map((noun) => `${noun} list`),
    ...['destinations health dst_1', 'destinations test dst_1', 'deliveries get dlv_1', 'events get evt_1'],
    ...['events replay evt_1', 'stats', 'explain a.b', 'publish a.b', 'keys create --mode test'],
  ];
  for (const line of lines) {
    const { stderr, stdout } = await prompt.run([...line.split(' '), ...where]);
    assert.ok(stdout !== '' && !stderr.startsWith('postrider:'), `${line}: ${stdout}${stderr}`);
  }
  const wrongs = waysOf(whole).flatMap((way) => [
    { way, answer: changedAt(whole, way, undefined) },
    { way, answer: changedAt(whole, way, { what: 'else' }) },
  ]);
  for (const wrong of wrongs) {
    ({ answer } = wrong);
    for (const line of lines) {
      const { code, stdout, stderr } = await prompt.run([...line.split(' '), ...where]);
      const what = `${line}: ${wrong.way.join('.')}: ${stdout}${stderr}`;
      assert.doesNotMatch(stdout + stderr, /\n {4}at |undefined|NaN|\[object/, what);
      if (stderr.startsWith('postrider:')) assert.match(stderr, /is the base URL that of Postrider\?$/m, what);
      assert.ok(code < 2, what);
    }
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
