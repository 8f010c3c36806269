// What Node's parser lets pass and is refused all the same, with the error body of every refusal.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { isId } from '../../src/model/id.ts';
import { Connection } from './connection.ts';
import { startApi, type Api } from './harness.ts';

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

const EVENT = '{"type":"a.b","body":{}}';

/** The beginning of a POST of an event, with these header lines. */
const post = (lines: string[], authorization = key): string =>
  [
    'POST /v1/events HTTP/1.1',
    'host: localhost',
    `authorization: Bearer ${authorization}`,
    'content-type: application/json',
    ...lines,
    '\r\n',
  ].join('\r\n');
const CHUNKED = `${EVENT.length.toString(16)}\r\n${EVENT}\r\n0\r\n\r\n`;

/** Sends this, and expects a refusal with `status` that is the last answer of its connection. */
async function refuse(request: string, status: number, about: RegExp): Promise<void> {
  const connection = new Connection(port);
  await connection.send(request);
  const response = await connection.response();
  assert.equal(response.status, status, `${request}\n${response.body}`);
  const { error } = JSON.parse(response.body) as { error: { code: string; message: string; request_id: string } };
  assert.match(error.message, about);
  assert.ok(isId('req', error.request_id));
  assert.equal(response.headers.get('x-request-id'), error.request_id);
  assert.equal(response.headers.get('connection'), 'close');
  // What is left of a long body is waited for.
  connection.socket.end();
  await connection.closed();
}

test('more than one Host is refused', async () => {
  await refuse('GET /healthz HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n', 400, /Host/);
  await refuse('GET /healthz HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n', 400, /Host/);
  await refuse('GET /healthz HTTP/1.0\r\nhost: a\r\nHOST: a\r\n\r\n', 400, /Host/);
});

test('more than one Idempotency-Key is refused, and nothing is stored under both', async () => {
  for (const second of ['b', 'a']) {
    const connection = new Connection(port);
    const lines = ['Idempotency-Key: a', `idempotency-key: ${second}`, `content-length: ${EVENT.length}`];
    await connection.send(post(lines) + EVENT);
    const { status, body } = await connection.response();
    assert.equal(status, 400, body);
    const { error } = JSON.parse(body) as { error: { code: string; message: string } };
    assert.equal(error.code, 'invalid_request');
    assert.match(error.message, /more than one Idempotency-Key/);
    connection.socket.destroy();
  }
  assert.deepEqual((await api.expect(200, 'GET', '/v1/events')).json.data, []);
});

test('nothing comes of what follows a refusal that ends its connection', async () => {
  const event = post([`content-length: ${EVENT.length}`]) + EVENT;
  const twoHosts = `GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n`;
  const tooLong = `${post(['content-length: 300000'])}${' '.repeat(300_000)}`;
  for (const refused of [twoHosts, tooLong]) {
    await refuse(refused + event, refused === twoHosts ? 400 : 413, /./);
    assert.deepEqual((await api.expect(200, 'GET', '/v1/events')).json.data, []);
  }
});

test('HTTP/1.1 and HTTP/1.0 are spoken, nothing else', async () => {
  for (const version of ['2.0', '0.9']) {
    await refuse(`GET /healthz HTTP/${version}\r\nhost: a\r\n\r\n`, 400, /HTTP\/1\.1/);
  }
  const connection = new Connection(port);
  await connection.send('GET /healthz HTTP/1.0\r\n\r\n');
  assert.equal((await connection.response()).status, 200);
  await connection.closed();
});

test('the preface of HTTP/2 is refused', async () => {
  const connection = new Connection(port);
  await connection.send('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  await connection.closed();
});

test('a Transfer-Encoding is "chunked" and nothing else', async () => {
  const codings = [
    'gzip, chunked',
    'chunked, chunked',
    'identity',
    'xchunked',
    'gzip',
    'chunked\r\ntransfer-encoding: gzip',
  ];
  for (const coding of codings) await refuse(post([`transfer-encoding: ${coding}`]) + CHUNKED, 400, /./);
  await refuse(post(['transfer-encoding: chunked']).replace('1.1', '1.0') + CHUNKED, 400, /Transfer-Encoding/);
  const connection = new Connection(port);
  await connection.send(post(['transfer-encoding: Chunked']) + CHUNKED);
  assert.equal((await connection.response()).status, 202);
  connection.socket.destroy();
});

test('an Upgrade is refused; one to HTTP/2 is only an offer, and declined', async () => {
  await refuse('GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n', 400, /Upgrade/);
  const connection = new Connection(port);
  const offer = ['connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', 'http2-settings: AAEAAEAA'];
  await connection.send(post([...offer, `content-length: ${EVENT.length}`]) + EVENT);
  const { status, headers } = await connection.response();
  assert.deepEqual([status, headers.get('connection')], [202, 'keep-alive']);
  connection.socket.destroy();
});

test('Expect: 100-continue is answered once key and size are known', async () => {
  const expecting = (line: string): string[] => ['expect: 100-continue', line];
  await refuse(post(expecting('content-length: 9000000')), 413, /longer/);
  await refuse(post(expecting('transfer-encoding: chunked')).replace('/json', '/xml'), 415, /application\/json/);
  const connection = new Connection(port);
  await connection.send(post(expecting('content-length: 9'), 'x'));
  assert.equal((await connection.response()).status, 401);
  await connection.closed();

  for (const [line, body] of [
    [`content-length: ${EVENT.length}`, EVENT],
    ['transfer-encoding: chunked', CHUNKED],
  ] as const) {
    const honest = new Connection(port);
    await honest.send(post(expecting(line)));
    assert.equal((await honest.response()).status, 100);
    await honest.send(body);
    assert.equal((await honest.response()).status, 202);
    honest.socket.destroy();
  }
});

test('another expectation is ignored', async () => {
  const connection = new Connection(port);
  const requested = once(api.app.server, 'checkExpectation');
  await connection.send(post(['expect: miracles', `content-length: ${EVENT.length}`]) + EVENT);
  await requested;
  assert.equal((await connection.response()).status, 202);
  connection.socket.destroy();
});
