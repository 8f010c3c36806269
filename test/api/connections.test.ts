// What one connection may make the service hold and do, and that each comes to an end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Connection } from './connection.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { postEvent, startApi, type Api } from './harness.ts';

const CONNECT = 'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n';
const METRICS = 'GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n';

type Listening = { api: Api; port: number; authorization: string };

async function listen(t: TestContext, overrides: Parameters<typeof startApi>[0] = {}): Promise<Listening> {
  const api = await startApi(overrides);
  const authorization = `authorization: Bearer ${await api.makeKey()}\r\n`;
  await api.app.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => {
    api.app.server.closeAllConnections();
    return api.close();
  });
  return { api, port: (api.app.server.address() as AddressInfo).port, authorization };
}

/** A caller that sends this, reads nothing and never closes its side, and the service's end of its connection. */
async function callDeaf(t: TestContext, { api, port }: Listening, bytes: string): Promise<Socket> {
  const accepted = once(api.app.server, 'connection') as Promise<[Socket]>;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  t.after(() => void socket.destroy());
  const [serverEnd] = await accepted;
  socket.write(bytes);
  return serverEnd;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await setImmediate();
}

/** Metrics that answer when they are let. */
function holdMetrics() {
  const waiting: (() => void)[] = [];
  let asked = 0;
  const metricsText = async (): Promise<string> => {
    const text = `n ${asked++}\n`;
    await new Promise<void>((resolve) => waiting.push(resolve));
    return text;
  };
  return { metricsText, waiting, asked: () => asked };
}

/** A large event, and the request that reads it. */
async function largeRead({ api, authorization }: Listening): Promise<string> {
  const { json } = await postEvent(api, { body: { text: 'x'.repeat(260_000) } });
  return `GET /v1/events/${json.event_id as string} HTTP/1.1\r\nhost: a\r\n${authorization}\r\n`;
}

test('of pipelined requests 16 are worked on', async (t) => {
  const metrics = holdMetrics();
  const { port } = await listen(t, { metricsText: metrics.metricsText });
  const connection = new Connection(port);
  await connection.send(METRICS.repeat(40));
  await answerInTurn(connection, metrics, 40);
  connection.socket.destroy();
});

test('once a connection has pipelined, what it may not begin yet waits unread', async (t) => {
  const metrics = holdMetrics();
  const { api, port } = await listen(t, { metricsText: metrics.metricsText });
  const accepted = once(api.app.server, 'connection') as Promise<[Socket]>;
  const connection = new Connection(port);
  const [serverEnd] = await accepted;
  let begun = 0;
  api.app.server.on('request', () => begun++);
  await connection.send(METRICS.repeat(2));
  await until(() => begun === 2);
  await connection.send(METRICS.repeat(38));
  await until(() => serverEnd.readableLength > 0);
  assert.equal(begun, 16);
  await answerInTurn(connection, metrics, 40);
  connection.socket.destroy();
});

test('who ends its side after its requests gets the answers, and then the end', async (t) => {
  const metrics = holdMetrics();
  const { api, port } = await listen(t, { metricsText: metrics.metricsText });
  for (const count of [1, 20]) {
    const accepted = once(api.app.server, 'connection') as Promise<[Socket]>;
    const connection = new Connection(port);
    const [serverEnd] = await accepted;
    const ended = once(serverEnd, 'end');
    connection.socket.end(METRICS.repeat(count));
    await ended;
    for (let answered = 0; answered < count; answered++) {
      await until(() => metrics.waiting.length > 0);
      metrics.waiting.shift()!();
      assert.equal((await connection.response()).status, 200);
    }
    await connection.closed();
  }
});

test('of a thousand requests that are answered at once, a connection has some in each turn', async (t) => {
  const { api, port } = await listen(t);
  t.mock.method(api.clock, 'afterTurn', (callback: () => void) => void globalThis.setImmediate(callback));
  const health = 'GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n';
  const connection = new Connection(port);
  await connection.send(health.repeat(2));
  for (let i = 0; i < 2; i++) await connection.response();
  let [inTurn, most] = [0, 0];
  api.app.server.on('request', () => {
    if (inTurn++ === 0) globalThis.setImmediate(() => (inTurn = 0));
    most = Math.max(most, inTurn);
  });
  await connection.send(health.repeat(1_000));
  for (let i = 0; i < 1_000; i++) assert.equal((await connection.response()).status, 200);
  assert.ok(most <= 32, `${most} in one turn`);
  connection.socket.destroy();
});

/** Answers one after the other, and sees that never more than 16 are worked on. */
async function answerInTurn(connection: Connection, metrics: ReturnType<typeof holdMetrics>, count: number) {
  for (let answered = 0; answered < count; answered++) {
    const underWay = Math.min(16, count - answered);
    await until(() => metrics.waiting.length === underWay);
    assert.equal(metrics.asked(), answered + underWay);
    metrics.waiting.shift()!();
    assert.equal((await connection.response()).body, `n ${answered}\n`);
  }
}

test('hundreds of requests are answered before what comes after them is refused', async (t) => {
  const { port, authorization } = await listen(t);
  const post = `POST /v1/events HTTP/1.1\r\nhost: a\r\n${authorization}content-type: application/json\r\n`;
  const faults = {
    'garbage\r\n\r\n': 400,
    [CONNECT]: 405,
    [`${post}transfer-encoding: chunked\r\n\r\nnonsense\r\n`]: 400,
  };
  for (const [fault, status] of Object.entries(faults)) {
    const connection = new Connection(port);
    await connection.send(METRICS.repeat(300) + fault);
    for (let n = 0; n < 300; n++) assert.equal((await connection.response()).status, 200);
    assert.equal((await connection.response()).status, status);
    await connection.closed();
  }
});

test('pipelined events with bodies are all accepted, however they are cut into packets', async (t) => {
  const { port, authorization } = await listen(t);
  const body = '{"type":"a.b","body":{"a":"\\r\\n\\r\\n"}}';
  const head = `POST /v1/events HTTP/1.1\r\nhost: a\r\n${authorization}content-type: application/json\r\n`;
  const sized = `${head}content-length: ${body.length}\r\n\r\n${body}`;
  const chunks = [body.slice(0, 5), body.slice(5), ''].map((text) => `${text.length.toString(16)}\r\n${text}\r\n`);
  const chunked = `${head}transfer-encoding: chunked\r\n\r\n${chunks.join('')}`;
  const bytes = (sized + chunked).repeat(40);
  for (const packetBytes of [7, 100, 1_000, 1_000_000]) {
    const connection = new Connection(port);
    for (let from = 0; from < bytes.length; from += packetBytes) {
      await connection.send(bytes.slice(from, from + packetBytes));
    }
    for (let n = 0; n < 80; n++) assert.equal((await connection.response()).status, 202);
    connection.socket.destroy();
  }
});

test('who does not read an answer for 30 s is cut off', async (t) => {
  const listening = await listen(t);
  const { api } = listening;
  const serverEnd = await callDeaf(t, listening, (await largeRead(listening)).repeat(100));
  await until(() => serverEnd.writableLength > 0);
  const closed = once(serverEnd, 'close');
  api.clock.advance(30_000);
  assert.equal(serverEnd.destroyed, false);
  api.clock.advance(1_000);
  await closed;
});

test('unread answers make room for others, the one who has held the most for the longest first', async (t) => {
  const limits = { ...(await listen(t)).api.services.limits, requestBytesBudget: 6_000_000 };
  const small = await listen(t, { limits });
  const request = await largeRead(small);
  const holders = [await callDeaf(t, small, request.repeat(100)), await callDeaf(t, small, request.repeat(2))];
  await until(() => holders[0]!.writableLength > 0);
  small.api.clock.advance(5_000);
  for (let n = 0; n < 10 && !holders[0]!.destroyed; n++) await callDeaf(t, small, request.repeat(100));
  await until(() => holders[0]!.destroyed);
  assert.equal(holders[1]!.destroyed, false);
});

test('while there is no room, requests are refused and the service still says that it is alive', async (t) => {
  const metrics = holdMetrics();
  const limits = { ...(await listen(t)).api.services.limits, requestBytesBudget: 100_000 };
  const listening = await listen(t, { limits, metricsText: metrics.metricsText });
  await callDeaf(t, listening, METRICS.repeat(16));
  await until(() => metrics.waiting.length === 16);
  const connection = new Connection(listening.port);
  const list = `GET /v1/events HTTP/1.1\r\nhost: a\r\n${listening.authorization}\r\n`;
  await connection.send(list);
  const { status, headers, body } = await connection.response();
  assert.deepEqual([status, headers.get('retry-after')], [503, '1'], body);
  await connection.send('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
  assert.equal((await connection.response()).status, 200);
  for (const answer of metrics.waiting) answer();
  await expectRoom(connection, list);
});

test('what a connection held is given back, however it ends', async (t) => {
  const limits = { ...(await listen(t)).api.services.limits, requestBytesBudget: 600_000 };
  const listening = await listen(t, { limits });
  const { port, authorization } = listening;
  const request = await largeRead(listening);
  const upload = `POST /v1/events HTTP/1.1\r\nhost: a\r\n${authorization}content-type: application/json\r\n`;
  const half = `${upload}content-length: 200000\r\n\r\n${'x'.repeat(150_000)}`;
  for (let round = 0; round < 5; round++) {
    for (const bytes of [request.repeat(20), half, request + CONNECT, request + half, METRICS.repeat(40)]) {
      const connection = new Connection(port);
      await connection.send(bytes);
      if (bytes.startsWith('GET') && !bytes.endsWith(CONNECT)) await connection.response();
      connection.socket.destroy();
      await connection.closed();
    }
  }
  // A tunnel keeps the answers before it from being written on; it has its 30 s.
  listening.api.clock.advance(30_000);
  await expectRoom(new Connection(port), `GET /v1/events HTTP/1.1\r\nhost: a\r\n${authorization}\r\n`);
});

test('a read that finds more than there is room for is refused, and leaves room', async (t) => {
  const limits = { ...(await listen(t)).api.services.limits, requestBytesBudget: 200_000 };
  const listening = await listen(t, { limits });
  const connection = new Connection(listening.port);
  await connection.send(await largeRead(listening));
  const { status, headers } = await connection.response();
  assert.deepEqual([status, headers.get('content-type')], [503, 'application/json; charset=utf-8']);
  await connection.send(`GET /v1/events HTTP/1.1\r\nhost: a\r\n${listening.authorization}\r\n`);
  assert.equal((await connection.response()).status, 200);
  connection.socket.destroy();
});

for (const method of ['GET', 'HEAD']) {
  test(`a read by ${method} begins when the answers before it have been written`, async (t) => {
    const metrics = holdMetrics();
    const listening = await listen(t, { metricsText: metrics.metricsText });
    const { api, port } = listening;
    const read = (await largeRead(listening)).replace('GET', method);
    const reading = t.mock.method(api.services.store, 'readEvent');
    let requests = 0;
    api.app.server.on('request', () => requests++);
    const connection = new Connection(port);
    await connection.send(METRICS + METRICS + read);
    await until(() => requests === 3 && metrics.asked() === 2);
    for (let turn = 0; turn < 5; turn++) await setImmediate();
    assert.equal(reading.mock.callCount(), 0);
    for (const answer of metrics.waiting) answer();
    for (let n = 0; n < 3; n++) assert.equal((await connection.response()).status, 200);
    assert.equal(reading.mock.callCount(), 1);
    connection.socket.destroy();
  });
}

test('what an answer was made of does not stay with a connection that stays', async (t) => {
  const listening = await listen(t);
  const { store } = listening.api.services;
  const readEvent = store.readEvent.bind(store);
  let body: WeakRef<object> | null = null;
  // No mock of the test runner's: it keeps the results of all calls.
  store.readEvent = async (request) => {
    const found = await readEvent(request);
    body = new WeakRef(found!.body!);
    return found;
  };
  const connection = new Connection(listening.port);
  await connection.send(await largeRead(listening));
  assert.equal((await connection.response()).status, 200);
  const isKept = (): boolean => body!.deref() !== undefined;
  for (let turn = 0; turn < 100 && isKept(); turn++) {
    await setImmediate();
    collectGarbage();
  }
  assert.equal(isKept(), false);
  assert.equal(connection.socket.readyState, 'open');
  connection.socket.destroy();
});

/** What was held is given back when the service notices the end: soon, and then a request is answered. */
async function expectRoom(connection: Connection, request: string): Promise<void> {
  let status = 503;
  while (status === 503) {
    await connection.send(request);
    ({ status } = await connection.response());
  }
  assert.equal(status, 200);
  connection.socket.destroy();
}

test('a CONNECT is refused, and its connection ends whatever the caller does', async (t) => {
  const listening = await listen(t);
  const polite = new Connection(listening.port);
  await polite.send(CONNECT);
  const { status, headers, body } = await polite.response();
  assert.deepEqual([status, headers.get('allow')], [405, 'GET, HEAD, POST, PATCH, DELETE']);
  assert.match(body, new RegExp(`"method_not_allowed".*"${headers.get('x-request-id')}"`));
  await polite.closed();

  const junk = 'x'.repeat(200_000);
  const withBody = `${CONNECT.slice(0, -2)}content-length: 9\r\n\r\nx`;
  for (const bytes of [CONNECT, CONNECT + junk, withBody, withBody + junk, METRICS + CONNECT]) {
    await endsWithin(listening.api, await callDeaf(t, listening, bytes), 5_000);
  }
});

test('a CONNECT is refused behind the answers to what came before', async (t) => {
  const metrics = holdMetrics();
  const { port } = await listen(t, { metricsText: metrics.metricsText });
  const connection = new Connection(port);
  await connection.send(METRICS.repeat(3) + CONNECT);
  await until(() => metrics.waiting.length === 3);
  for (const answer of metrics.waiting) answer();
  const statuses = [];
  for (let n = 0; n < 4; n++) statuses.push((await connection.response()).status);
  assert.deepEqual(statuses, [200, 200, 200, 405]);
  await connection.closed();
});

test('a CONNECT whose body breaks off harms nobody', async (t) => {
  const listening = await listen(t);
  const connection = new Connection(listening.port);
  await connection.send(`${CONNECT.slice(0, -2)}content-length: 9\r\n\r\nx`);
  assert.equal((await connection.response()).status, 405);
  connection.socket.resetAndDestroy();
  await connection.closed();
  const next = new Connection(listening.port);
  await next.send(METRICS);
  assert.equal((await next.response()).status, 200);
  next.socket.destroy();
});

test('a refused connection ends though the caller stays', async (t) => {
  const listening = await listen(t);
  const { authorization } = listening;
  const post = `POST /v1/events HTTP/1.1\r\nhost: a\r\n${authorization}content-type: application/json\r\n`;
  const junk = 'x'.repeat(200_000);
  for (const bytes of [
    `hello\r\n\r\n${junk}`,
    `GET / HTTP/1.1\r\nhost: a\r\nx: ${junk}`,
    `${METRICS}hello\r\n\r\n${junk}`,
    `${post}transfer-encoding: chunked\r\n\r\nnonsense\r\n${junk}`,
    `${post}transfer-encoding: gzip\r\n\r\n${junk}`,
  ]) {
    await endsWithin(listening.api, await callDeaf(t, listening, bytes), 5_000);
  }
  for (const bytes of ['', 'GET / HTT', `${post}content-length: 9\r\n\r\n{`]) {
    const serverEnd = await callDeaf(t, listening, bytes);
    await until(() => serverEnd.bytesRead === bytes.length);
    const late = Object.assign(new Error('slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    listening.api.app.server.emit('clientError', late, serverEnd);
    await endsWithin(listening.api, serverEnd, 5_000);
  }
});

/** The refusal has been written and our side closed; the rest ends in `ms`. */
async function endsWithin({ clock }: Api, serverEnd: Socket, ms: number): Promise<void> {
  await until(() => serverEnd.writableFinished || serverEnd.destroyed);
  assert.equal(serverEnd.destroyed, false, 'the refusal can still be read');
  const closed = once(serverEnd, 'close');
  clock.advance(ms);
  await closed;
}
