// What only a real connection shows: malformed HTTP, slow senders, pipelining, requests that are refused while they
// are still being sent.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { isId } from '../../src/model/id.ts';
import { Connection, type Response } from './connection.ts';
import { ENVIRONMENTS, startApi, type Api } from './harness.ts';

let api: Api;
let key: string;
let port: number;
before(async () => {
  api = await startApi();
  key = await api.makeKey();
  await api.app.listen({ host: '127.0.0.1', port: 0 });
  port = (api.app.server.address() as AddressInfo).port;
});
after(() => api.close());

const head = (line: string, headers: Record<string, string | number> = {}): string => {
  const all = { host: 'localhost', authorization: `Bearer ${key}`, ...headers };
  return `${line} HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;
};
const post = (path: string, body: string, headers: Record<string, string | number> = {}): string =>
  head(`POST ${path}`, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers }) +
  body;

const EVENT = '{"type":"a.b","body":{}}';

function assertRefused({ status, headers, body }: Response, expected: number, code: string): void {
  assert.equal(status, expected, body);
  const { error } = JSON.parse(body) as { error: { code: string; message: string; request_id: string } };
  assert.equal(error.code, code);
  assert.ok(isId('req', error.request_id));
  assert.equal(headers.get('x-request-id'), error.request_id);
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(headers.get('connection'), 'close');
}

test('what is no HTTP is refused with the same error body as everything else', async () => {
  const malformed = [
    'hello\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'FROB /v1/events HTTP/3.1\r\nhost: a\r\n\r\n',
    'FROB /v1/events\r\n\r\n',
    'GET /v1/events HTTP/1.1\r\nhost: a\r\nbad header\r\n\r\n',
    'GET /v1/ev ents HTTP/1.1\r\nhost: a\r\n\r\n',
    post('/v1/events', EVENT, { 'transfer-encoding': 'chunked' }),
    post('/v1/events', EVENT, { 'content-length': '-1' }),
    'GET /v1/events HTTP/1.1\r\nhost: a\r\nx: \u0000\r\n\r\n',
  ];
  for (const text of malformed) {
    const connection = new Connection(port);
    await connection.send(Buffer.from(text, 'latin1'));
    assertRefused(await connection.response(), 400, 'invalid_request');
    await connection.closed();
  }
});

test('a method that nobody knows is one that no path takes', async () => {
  for (const method of ['FROB', 'get', 'GE', 'GETS', '!']) {
    const connection = new Connection(port);
    await connection.send(head('GET /healthz') + head(`${method} /v1/events`));
    assert.equal((await connection.response()).status, 200);
    const refusal = await connection.response();
    assertRefused(refusal, 405, 'method_not_allowed');
    assert.equal(refusal.headers.get('allow'), 'GET, HEAD, POST, PATCH, DELETE');
    await connection.closed();
  }
});

test('a request without a Host is refused', async () => {
  const connection = new Connection(port);
  await connection.send(`GET /v1/events HTTP/1.1\r\nauthorization: Bearer ${key}\r\n\r\n`);
  const { status, body } = await connection.response();
  assert.equal(status, 400);
  assert.match(body, /Host/);
  connection.socket.destroy();
});

test('the URL and headers have 16 KiB, and there are 1,000 headers', async () => {
  for (const request of [
    head(`GET /v1/events?x=${'x'.repeat(17_000)}`),
    head('GET /v1/events', { 'x-a': 'x'.repeat(17_000) }),
    head('GET /v1/events').replace('\r\n\r\n', `\r\n${'a: b\r\n'.repeat(1_100)}\r\n`),
  ]) {
    const connection = new Connection(port);
    await connection.send(request);
    assertRefused(await connection.response(), 431, 'invalid_request');
    await connection.closed();
  }
  const connection = new Connection(port);
  await connection.send(head('GET /v1/events', { 'x-a': 'x'.repeat(15_000) }));
  assert.equal((await connection.response()).status, 200);
  await connection.send(head(`GET /v1/events/${'x'.repeat(15_000)}`));
  assert.equal((await connection.response()).status, 404);
  connection.socket.destroy();
});

test('a body that is malformed below JSON is refused as the answer to its request', async () => {
  const connection = new Connection(port);
  await connection.send(
    head('POST /v1/events', { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }),
  );
  await connection.send('5\r\n{"typ\r\nnonsense\r\n');
  assertRefused(await connection.response(), 400, 'invalid_request');
  await connection.closed();
});

test('pipelined requests are answered in their order, whatever comes after them', async () => {
  const connection = new Connection(port);
  const requests = [
    post('/v1/events', EVENT),
    post('/v1/events', '{'),
    head('GET /v1/nothing'),
    post('/v1/events', EVENT.replace('a.b', 'c')),
    post('/v1/events', EVENT, { authorization: 'Bearer x' }),
    head('GET /healthz'),
    post('/v1/events', EVENT),
  ];
  await connection.send(`${requests.join('')}garbage\r\n\r\n`);
  const statuses = [];
  for (let n = 0; n < requests.length; n++) statuses.push((await connection.response()).status);
  assert.deepEqual(statuses, [202, 400, 404, 400, 401, 200, 202]);
  assertRefused(await connection.response(), 400, 'invalid_request');
  await connection.closed();
});

test('a chunked body is read like any other', async () => {
  const connection = new Connection(port);
  await connection.send(
    head('POST /v1/events', { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }),
  );
  for (const byte of EVENT) await connection.send(`1\r\n${byte}\r\n`);
  await connection.send('0\r\n\r\n');
  assert.equal((await connection.response()).status, 202);
  // Without a single chunk there is no body, and so no media type to ask for.
  await connection.send(`${head('POST /v1/events/x/replay', { 'transfer-encoding': 'chunked' })}0\r\n\r\n`);
  assert.match((await connection.response()).body, /event_not_found/);
  await connection.send(`${head('POST /v1/events/x/replay', { 'transfer-encoding': 'chunked' })}2\r\n{}\r\n0\r\n\r\n`);
  const { status, body } = await connection.response();
  assert.equal(status, 415, body);
  connection.socket.destroy();
});

test('a request that is too long is refused before it is sent', async () => {
  const connection = new Connection(port);
  await connection.send(head('POST /v1/events', { 'content-type': 'application/json', 'content-length': 50_000_000 }));
  assertRefused(await connection.response(), 413, 'body_too_large');
  connection.socket.destroy();
});

test('a client that sends 50 MB before it reads still sees the 413', async () => {
  const chunk = Buffer.alloc(1_000_000, ' ');
  const lengths: Record<string, string | number>[] = [
    { 'content-length': 50_000_000 },
    { 'transfer-encoding': 'chunked' },
  ];
  for (const length of lengths) {
    const connection = new Connection(port);
    await connection.send(head('POST /v1/events', { 'content-type': 'application/json', ...length }));
    for (let n = 0; n < 50; n++) {
      if ('transfer-encoding' in length) await connection.send('f4240\r\n');
      await connection.send(chunk);
      if ('transfer-encoding' in length) await connection.send('\r\n');
    }
    if ('transfer-encoding' in length) await connection.send('0\r\n\r\n');
    assertRefused(await connection.response(), 413, 'body_too_large');
    await connection.closed();
  }
});

test('a client that never stops sending is cut off', async () => {
  const connection = new Connection(port);
  await connection.send(
    head('POST /v1/events', { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }),
  );
  const chunk = Buffer.concat([Buffer.from('f4240\r\n'), Buffer.alloc(1_000_000, ' '), Buffer.from('\r\n')]);
  let sent = 0;
  while (!connection.socket.destroyed && sent < 200) {
    await connection.send(chunk);
    sent++;
  }
  assert.ok(sent < 200, 'the server went on reading');
});

test('a refusal of a short request keeps the connection', async () => {
  const connection = new Connection(port);
  for (const [request, status] of [
    [post('/v1/events', EVENT, { authorization: 'Bearer x' }), 401],
    [post('/v1/nothing', EVENT), 404],
    [post('/v1/events', EVENT, { 'content-type': 'text/plain' }), 415],
    [post('/v1/destinations', '{}'.padEnd(65_537)), 413],
    [post('/v1/events', EVENT), 202],
  ] as const) {
    const isLong = status === 413;
    await connection.send(request);
    const response = await connection.response();
    assert.deepEqual([response.status, response.headers.get('connection')], [status, isLong ? 'close' : 'keep-alive']);
    if (isLong) break;
  }
  await connection.closed();
});

test('a client that leaves in the middle of its body harms nobody', async () => {
  for (let n = 0; n < 20; n++) {
    const connection = new Connection(port);
    await connection.send(post('/v1/events', EVENT, { 'content-length': 1_000 }));
    connection.socket.destroy();
  }
  const connection = new Connection(port);
  await connection.send(post('/v1/events', EVENT));
  assert.equal((await connection.response()).status, 202);
  connection.socket.destroy();
});

/** Another server, its port and a key of it. */
async function listen(overrides: Parameters<typeof startApi>[0] = {}) {
  const other = await startApi(overrides);
  await other.app.listen({ host: '127.0.0.1', port: 0 });
  const { port: otherPort } = other.app.server.address() as AddressInfo;
  return { other, otherPort, authorization: `Bearer ${await other.makeKey()}` };
}

test('requests being read share one budget, and give it back', async () => {
  const limits = { ...api.services.limits, requestBytesBudget: 100_000 };
  const { other, otherPort, authorization } = await listen({ limits });
  const request = post('/v1/events', `{"type":"a.b","body":{"a":"${'x'.repeat(60_000)}"}}`, { authorization });
  for (let round = 0; round < 3; round++) {
    const connections = [new Connection(otherPort), new Connection(otherPort)];
    // Neither is whole: whichever is received second is one too many.
    for (const connection of connections) await connection.send(request.slice(0, -1));
    const answers = connections.map((connection) => connection.response());
    const refused = await Promise.race(answers.map(async (answer, index) => ({ index, answer: await answer })));
    assert.equal(refused.answer.status, 503, refused.answer.body);
    assert.match(refused.answer.headers.get('retry-after')!, /^\d+$/);
    await connections[1 - refused.index]!.send('}');
    assert.equal((await answers[1 - refused.index]!).status, 202);
    for (const { socket } of connections) socket.destroy();
  }
  await other.close();
});

/** A connection of this server, and the server's end of it. */
async function connectBoth({ app } = api, to = port): Promise<{ connection: Connection; serverEnd: Socket }> {
  const accepted = once(app.server, 'connection') as Promise<[Socket]>;
  const connection = new Connection(to);
  const [serverEnd] = await accepted;
  return { connection, serverEnd };
}

test('headers have 10 s, a request has 30 s', () => {
  const { headersTimeout, requestTimeout, keepAliveTimeout } = api.app.server;
  assert.deepEqual([headersTimeout, requestTimeout], [10_000, 30_000]);
  assert.ok(keepAliveTimeout > 60_000);
});

// The time itself is Node's to keep: here it is told that it is over.
const timeOut = (socket: Socket): boolean =>
  api.app.server.emit('clientError', Object.assign(new Error('slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);

test('a sender that is too slow gets 408, before its headers and in its body', async () => {
  const beginnings = [
    '',
    'GET /v1/ev',
    head('POST /v1/events', { 'content-type': 'application/json', 'content-length': 9 }),
  ];
  for (const beginning of beginnings) {
    const { connection, serverEnd } = await connectBoth();
    const isRequest = beginning.startsWith('POST');
    const requested = isRequest ? once(api.app.server, 'request') : Promise.resolve();
    await connection.send(beginning);
    await requested;
    timeOut(serverEnd);
    assertRefused(await connection.response(), 408, 'invalid_request');
    await connection.closed();
  }
});

test('a sender that goes on slowly after its refusal is cut off', async () => {
  const { connection, serverEnd } = await connectBoth();
  await connection.send(head('POST /v1/events', { 'content-type': 'text/plain', 'content-length': 9_000_000 }));
  assertRefused(await connection.response(), 413, 'body_too_large');
  timeOut(serverEnd);
  await connection.closed();
});

test('closing answers what was requested, refuses what is on its way, and closes every connection', async () => {
  const { other, otherPort, authorization } = await listen();
  const request = post('/v1/events', EVENT, { authorization });
  const { connection: silent } = await connectBoth(other, otherPort);
  const { connection: beginning, serverEnd } = await connectBoth(other, otherPort);
  await beginning.send('GET /v1/ev');
  while (serverEnd.bytesRead === 0) await setImmediate();
  const [idle, next, busy] = [new Connection(otherPort), new Connection(otherPort), new Connection(otherPort)];
  for (const connection of [idle, next]) {
    await connection.send(request);
    assert.equal((await connection.response()).headers.get('connection'), 'keep-alive');
  }
  const requested = once(other.app.server, 'request');
  await busy.send(request.slice(0, -1));
  await requested;
  const timers = other.clock.timerCount;
  const closing = other.app.close();
  while (other.clock.timerCount === timers) await setImmediate();
  await next.send(request);
  await assertLast(next, 503);
  other.clock.advance(250);
  await Promise.all([silent.closed(), beginning.closed(), idle.closed()]);
  // There is no answer to what follows, so it is not accepted.
  await busy.send(request.slice(-1) + request);
  await assertLast(busy, 202);
  await closing;
  const page = { environment: ENVIRONMENTS.live, type: null, since: null, until: null, before: null, limit: 10 };
  assert.equal((await other.store.listEvents(page)).rows.length, 3);
  await other.store.close();
});

async function assertLast(connection: Connection, expected: number): Promise<void> {
  const { status, headers } = await connection.response();
  assert.deepEqual([status, headers.get('connection')], [expected, 'close']);
  await connection.closed();
}

test('closing waits 10 s for a request that does not end', async () => {
  const { other, otherPort, authorization } = await listen();
  const slow = new Connection(otherPort);
  const requested = once(other.app.server, 'request');
  await slow.send(post('/v1/events', EVENT, { authorization }).slice(0, -1));
  await requested;
  const timers = other.clock.timerCount;
  const closing = other.app.close();
  while (other.clock.timerCount === timers) await setImmediate();
  other.clock.advance(10_000);
  await closing;
  await slow.closed();
  await other.store.close();
});
