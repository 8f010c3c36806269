// POST /v1/destinations/{id}/test, at a receiver on loopback.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { createNetwork } from '../../src/app/network.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { Webhook } from 'svix';
import { verify } from '../attempt/attempting.ts';
import { OK, startReceiver, type Receiver } from '../attempt/receiver.ts';
import { settingsWith } from '../support/settings.ts';
import { NO_NETWORK, startApi, type Api, type Json } from './harness.ts';

type Request = { headers: Record<string, string[]>; body: string };

let receiver: Receiver;
let answer: (socket: Socket) => unknown;
let api: Api;
let key: string;
before(async () => {
  receiver = await startReceiver((socket) => answer(socket));
  const settings = settingsWith({ TEST_SUBNETS: ['127.0.0.1/32'] });
  const network = createNetwork({ settings, clock: systemClock, onFault: (error) => assert.fail(String(error)) });
  api = await startApi({ checkUrl: network.checkUrl }, network);
  key = await api.makeKey({ mode: 'test' });
});
beforeEach(() => {
  answer = (socket) => socket.write(OK);
});
after(async () => {
  await api.close();
  await receiver.close();
});

async function addReceiver(fields: Json = {}): Promise<{ id: string; secret: string }> {
  const body = { url: `http://127.0.0.1:${receiver.port}/hook?a=1`, ...fields };
  const { json } = await api.expect(201, 'POST', '/v1/destinations', { key, body });
  return { id: json.id as string, secret: json.signing_secret as string };
}

const sendTest = (id: string, body: Json | string = {}) =>
  api.expect(200, 'POST', `/v1/destinations/${id}/test`, { key, body });

test('one signed request goes out now, and the answer has it and what came back', async () => {
  const { id, secret } = await addReceiver({ headers: { 'X-Token': 'a secret' } });
  answer = (socket) => socket.write('HTTP/1.1 500 no\r\ncontent-length: 4\r\nx-why: tired\r\n\r\nbusy');
  const { json } = await sendTest(id, '{"type":"order.paid","body":{ "n": 1.0 }}');
  const { request, started_at: _, duration_ms: __, ...attempt } = json as Json & { request: Request };
  assert.deepEqual(attempt, {
    attempt: 1,
    trigger: 'manual',
    outcome: 'bad_status',
    response_code: 500,
    response_headers: { 'content-length': ['4'], 'x-why': ['tired'] },
    response_body: 'busy',
    response_body_encoding: 'utf8',
    response_body_truncated: false,
    error: attempt.error,
  });
  const received = receiver.requests.at(-1)!;
  verify(received, Buffer.from(secret.slice('whsec_'.length), 'base64'));
  assert.equal(received.line, 'POST /hook?a=1 HTTP/1.1');
  assert.equal(received.headers['postrider-test'], 'true');
  assert.equal(request.body, received.body.toString());
  assert.ok(request.body.endsWith(',"data":{ "n": 1.0 }}'));
  assert.deepEqual(request.headers['x-token'], ['***']);
  for (const [name, values] of Object.entries(request.headers)) {
    if (name !== 'x-token') assert.deepEqual(values, [received.headers[name]], name);
  }
  assert.equal(received.headers['x-token'], 'a secret');
});

test('a destination of the style svix gets the headers of Svix too, and its library accepts them alone', async () => {
  const brought = `whsec_${Buffer.alloc(24, 251).toString('base64')}`;
  const { id } = await addReceiver({ signature_style: 'svix', signing_secret: brought });
  await sendTest(id);
  const { headers, body } = receiver.requests.at(-1)!;
  const names = ['svix-id', 'svix-timestamp', 'svix-signature'];
  const own = Object.fromEntries(names.map((name) => [name, headers[name]!]));
  new Webhook(brought).verify(body.toString(), own);
  for (const name of names) assert.equal(headers[name], headers[name.replace('svix', 'webhook')], name);
  api.clock.advance(1_000);
  await api.expect(200, 'PATCH', `/v1/destinations/${id}`, { key, body: { signature_style: 'standard' } });
  await sendTest(id);
  for (const name of names) assert.ok(!(name in receiver.requests.at(-1)!.headers), name);
});

test('it is in no list, wakes nobody, and has an event of its own when none is given', async () => {
  const { id } = await addReceiver();
  const dispatched = api.dispatched.length;
  const { json } = await sendTest(id);
  assert.equal(json.outcome, 'succeeded');
  const sent = JSON.parse((json.request as { body: string }).body) as Json;
  assert.equal(sent.type, 'postrider.test');
  for (const list of ['/v1/events', `/v1/deliveries?destination_id=${id}`, '/v1/dlq']) {
    const { json: page } = await api.expect(200, 'GET', list, { key });
    assert.deepEqual(page.data, [], list);
  }
  assert.equal(api.dispatched.length, dispatched);
});

test('a destination that is paused is tested too', async () => {
  const { id } = await addReceiver();
  await api.expect(200, 'PATCH', `/v1/destinations/${id}`, { key, body: { status: 'paused' } });
  assert.equal((await sendTest(id)).json.outcome, 'succeeded');
});

test('where nobody listens, the answer says so', async () => {
  const unused = await startReceiver();
  const { id } = await addReceiver({ url: `http://127.0.0.1:${unused.port}/` });
  await unused.close();
  const { json } = await sendTest(id);
  assert.equal(json.outcome, 'connect_failed');
  assert.equal(json.response_code, null);
});

test('a destination is tested once a second, others meanwhile', async () => {
  const [first, second] = [await addReceiver(), await addReceiver()];
  await sendTest(first.id);
  const refused = await api.expect(429, 'POST', `/v1/destinations/${first.id}/test`, { key });
  assert.equal((refused.json.error as Json).code, 'rate_limited');
  assert.equal(refused.headers['retry-after'], '1');
  await sendTest(second.id);
  api.clock.advance(1_000);
  await sendTest(first.id);
});

test('ten tests of an environment are under way at most, and answers free their places', async () => {
  const held: Socket[] = [];
  const arrivals = new EventTarget();
  answer = (socket) => {
    held.push(socket);
    arrivals.dispatchEvent(new Event('arrival'));
  };
  const asked: Promise<Json>[] = [];
  for (let n = 0; n < 10; n++) {
    const { id } = await addReceiver();
    const arrival = once(arrivals, 'arrival');
    asked.push(sendTest(id).then(({ json }) => json));
    await arrival;
  }
  const { id } = await addReceiver();
  await api.refuse('rate_limited', 'POST', `/v1/destinations/${id}/test`, { key });
  held[0]!.write(OK);
  assert.equal((await asked[0]!).outcome, 'succeeded');
  const arrival = once(arrivals, 'arrival');
  asked.push(sendTest(id).then(({ json }) => json));
  await arrival;
  for (const socket of held.slice(1)) socket.write(OK);
  const outcomes = (await Promise.all(asked)).map(({ outcome }) => outcome);
  assert.deepEqual(
    outcomes,
    Array.from({ length: 11 }, () => 'succeeded'),
  );
});

test('what is wrong with a request is said before anything is sent', async () => {
  const api2 = await startApi({}, { ...NO_NETWORK, perform: () => assert.fail('it was sent') });
  const { json } = await api2.expect(201, 'POST', '/v1/destinations', { body: { url: 'https://example.com/' } });
  const path = `/v1/destinations/${String(json.id)}/test`;
  await api2.refuse('invalid_event_type', 'POST', path, { body: { type: 'x', body: {} } });
  await api2.refuse('invalid_request', 'POST', path, { body: { body: 1 } });
  await api2.refuse('body_too_large', 'POST', path, { body: { body: { a: 'x'.repeat(262_144) } } });
  await api2.refuse('destination_not_found', 'POST', '/v1/destinations/dst_1/test');
  const stranger = await api2.makeKey({ mode: 'test' });
  await api2.refuse('destination_not_found', 'POST', path, { key: stranger });
  const reader = await api2.makeKey({ scopes: ['read', 'operate', 'publish', 'admin'] });
  await api2.refuse('forbidden', 'POST', path, { key: reader });
  await api2.close();
});
