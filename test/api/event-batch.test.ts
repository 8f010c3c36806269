import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addDestination, startApi, type Api, type Json } from './harness.ts';

type Result = { status: number; event?: Json; error?: { code: string; message: string; param: string } };

let api: Api;
before(async () => {
  api = await startApi();
});
after(() => api.close());

async function send(body: Json | string): Promise<Result[]> {
  const { json } = await api.expect(200, 'POST', '/v1/events/batch', { body });
  return json.data as Result[];
}
const refuse = (code: string, body: Json | string) => api.refuse(code, 'POST', '/v1/events/batch', { body });

test('every event gets the result that it would get by itself, in order', async () => {
  await addDestination(api, { eventType: 'good.**' });
  const body = `{"a":"${'x'.repeat(262_137)}"}`;
  const events: [text: string, status: number, code?: string, param?: string][] = [
    ['{"type":"good.one","body":{"n": 1.0}}', 202],
    ['{"type":"bad","body":{}}', 400, 'invalid_event_type', '/events/1/type'],
    ['{"body":{}}', 400, 'invalid_request', '/events/2/type'],
    ['{"type":"a.b","body":[]}', 400, 'invalid_request', '/events/3/body'],
    ['{"type":"a.b","body":{},"x":1}', 400, 'invalid_request', '/events/4/x'],
    ['{"type":"a.b","type":"a.b","body":{}}', 400, 'invalid_request', '/events/5/type'],
    ['{"type":"a.b","body":{},"occurred_at":"soon"}', 400, 'invalid_request', '/events/6/occurred_at'],
    ['7', 400, 'invalid_request', '/events/7'],
    ['null', 400, 'invalid_request', '/events/8'],
    [`{"type":"a.b","body":${body}}`, 413, 'body_too_large', '/events/9/body'],
    [`{"type":"a.b","body":{}${' '.repeat(278_528)}}`, 413, 'body_too_large', '/events/10'],
    [`{"type":"a.b","body":${'{"a":'.repeat(64)}1${'}'.repeat(64)}}`, 400, 'invalid_request', '/events/11/body'],
    ['{"type":"good.two","body":{"s":"\\ud800"}}', 202],
  ];
  const results = await send(`{"events":[${events.map(([text]) => text).join(',')}]}`);
  assert.deepEqual(
    results.map(({ status, error }) => [status, error?.code, error?.param]),
    events.map(([, status, code, param]) => [status, code, param]),
  );
  for (const { event } of [results[0]!, results.at(-1)!]) {
    assert.equal((event!.deliveries as Json[]).length, 1);
    await api.expect(200, 'GET', `/v1/events/${String(event!.event_id)}`);
  }
  const { text } = await api.expect(200, 'GET', `/v1/events/${String(results[0]!.event!.event_id)}`);
  assert.ok(text.endsWith('"body":{"n": 1.0}}'));
});

test('of equal idempotency keys the first wins', async () => {
  const event = { type: 'a.b', body: { n: 1 }, idempotency_key: 'batch' };
  const results = await send({ events: [event, event, { ...event, body: { n: 2 } }] });
  assert.deepEqual(
    results.map(({ status, error }) => [status, error?.code, error?.param]),
    [
      [202, undefined, undefined],
      [200, undefined, undefined],
      [409, 'idempotency_key_conflict', '/events/2/idempotency_key'],
    ],
  );
  assert.equal(results[1]!.event!.event_id, results[0]!.event!.event_id);
});

test('a batch has 1-1,000 events', async () => {
  const event = { type: 'a.b', body: {} };
  assert.equal((await refuse('invalid_request', {})).param, '/events');
  assert.equal((await refuse('invalid_request', { events: {} })).param, '/events');
  assert.equal((await refuse('invalid_request', { events: null })).param, '/events');
  assert.equal((await refuse('invalid_request', { events: [] })).param, '/events');
  assert.equal(
    (await refuse('invalid_request', { events: Array.from({ length: 1_001 }, () => event) })).param,
    '/events',
  );
  assert.equal((await refuse('invalid_request', { events: [event], atomic: true })).param, '/atomic');
  assert.equal((await refuse('invalid_request', { events: [event], atomic: [[], {}] })).param, '/atomic');
  const results = await send({ events: Array.from({ length: 1_000 }, () => event) });
  assert.deepEqual([results.length, new Set(results.map(({ status }) => status))], [1_000, new Set([202])]);
  assert.equal(new Set(results.map(({ event: accepted }) => accepted!.event_id)).size, 1_000);
});

test('a batch has at most 5 MiB', async () => {
  const request = '{"events":[{"type":"a.b","body":{}}]}';
  await send(request.padEnd(5 * 1024 * 1024));
  await refuse('body_too_large', request.padEnd(5 * 1024 * 1024 + 1));
});

test('what is no JSON is refused as a whole', async () => {
  await refuse('invalid_request', '{"events":[{"type":"a.b","body":{}},{]}');
  await refuse('invalid_request', '{"events":[{"type":"a.b","body":{}}],"events":[]}');
  await refuse('invalid_request', '[{"type":"a.b","body":{}}]');
});

test('each result keeps only its own body in memory', async () => {
  const kept: number[] = [];
  const { acceptor } = api.services;
  api.services.acceptor = {
    ...acceptor,
    begin: (incoming, allowance) => {
      kept.push(incoming.body.bytes.buffer.byteLength);
      return acceptor.begin(incoming, allowance);
    },
  };
  await send({
    events: [
      { type: 'a.b', body: { a: 1 } },
      { type: 'a.b', body: { a: 'x'.repeat(1_000) } },
    ],
  });
  api.services.acceptor = acceptor;
  assert.deepEqual(kept, [7, 1_008]);
});

test('a key for the whole batch is refused: its events have their own', async () => {
  const body = { events: [{ type: 'a.b', body: {} }] };
  const headers = { 'idempotency-key': 'of all' };
  const { message } = await api.refuse('invalid_request', 'POST', '/v1/events/batch', { body, headers });
  assert.match(message, /each event/);
});
