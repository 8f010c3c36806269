// What a relay makes of an answer: a row is published only by its own 2xx, refused only by Postrider's own word.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { Row } from '../../src/relay/outbox-table.ts';
import { connect, publishBatch } from '../../src/relay/publish.ts';

const ROWS: Row[] = [1, 2].map((n) => ({
  id: `row-${n}`,
  type: 'order.paid',
  groupKey: null,
  createdAt: '',
  occurredAt: n === 1 ? '2026-01-31T09:30:00.000Z' : null,
  bytes: 100,
  body: `{"n":${n}.0}`,
}));
const ACCEPTED = { status: 202, event: { event_id: 'evt_1' } };
const CONFLICT = { code: 'idempotency_key_conflict', message: 'used', request_id: 'req_1', param: '/events/1/type' };

let respond: (response: ServerResponse) => void;
let received = '';
const server = createServer((request, response) => {
  received = '';
  request.on('data', (chunk: Buffer) => (received += chunk.toString()));
  request.on('end', () => respond(response));
});
before(() => once(server.listen(0, '127.0.0.1'), 'listening'));
after(() => {
  server.closeAllConnections();
  server.close();
});

function publish() {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return publishBatch(ROWS, connect({ url, key: 'k', userAgent: 'test' }));
}

function answer(status: number, body: unknown, headers: Record<string, string> = {}) {
  respond = (response) =>
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  return publish();
}

test('each row has its own result', async () => {
  const fault = { ...CONFLICT, message: 'used \0 \ud800' };
  const answered = await answer(200, { data: [ACCEPTED, { status: 409, error: fault }] });
  const refusal = {
    status: 409,
    code: CONFLICT.code,
    message: 'used \u{fffd} \u{fffd}',
    param: '/type',
    request_id: 'req_1',
  };
  assert.deepEqual(answered, { kind: 'answered', verdicts: [{ kind: 'accepted' }, { kind: 'refused', refusal }] });
  assert.equal(
    received,
    '{"events":[{"type":"order.paid","idempotency_key":"row-1","occurred_at":"2026-01-31T09:30:00.000Z",' +
      '"body":{"n":1.0}},' +
      '{"type":"order.paid","idempotency_key":"row-2","body":{"n":2.0}}]}',
  );
});

test('what passes is no refusal: 429, 5xx, 401', async () => {
  for (const [status, error, waitMs] of [
    [429, { ...CONFLICT, retry_after_seconds: 3 }, 3_000],
    [503, CONFLICT, null],
    [401, CONFLICT, null],
  ] as const) {
    const answered = await answer(200, { data: [ACCEPTED, { status, error }] });
    assert.equal(answered.kind, 'answered');
    const [, second] = answered.kind === 'answered' ? answered.verdicts : [];
    assert.ok(second?.kind === 'later', String(status));
    assert.equal(second.trouble.waitMs, waitMs);
  }
});

test('an answer that is not what was asked for publishes nothing', async () => {
  for (const body of ['', 'OK', '[]', '{"data":{}}', { data: [ACCEPTED] }, { data: [ACCEPTED, ACCEPTED, ACCEPTED] }]) {
    assert.equal((await answer(200, body)).kind, 'trouble');
  }
  for (const result of [
    null,
    { status: 409 },
    { status: 202 },
    { status: 'x', error: CONFLICT },
    { status: 202, error: CONFLICT },
  ]) {
    assert.equal((await answer(200, { data: [ACCEPTED, result] })).kind, 'trouble');
  }
  assert.equal((await answer(302, '', { location: '/elsewhere' })).kind, 'trouble');
  assert.equal((await answer(400, '<h1>Bad Request</h1>')).kind, 'trouble');
  assert.equal((await answer(413, '<h1>nginx</h1>')).kind, 'too_large');
  assert.equal((await answer(401, 'a proxy that wants a password')).kind, 'trouble');
  assert.equal((await answer(404, { error: { ...CONFLICT, code: 'not_found' } })).kind, 'trouble');
  const away = await answer(503, { error: { ...CONFLICT, code: 'unavailable' } }, { 'retry-after': '7' });
  assert.deepEqual(away, { kind: 'trouble', trouble: { message: '503 unavailable: used', waitMs: 7_000 } });
});

test('a key and a request as a whole are refused only in the service’s words', async () => {
  for (const status of [401, 403]) {
    assert.equal((await answer(status, { error: { ...CONFLICT, code: 'forbidden' } })).kind, 'denied');
  }
  for (const status of [400, 413]) {
    assert.equal((await answer(status, { error: { ...CONFLICT, code: 'invalid_request' } })).kind, 'refused');
  }
});

test('a connection that breaks before or within the answer is trouble', async () => {
  respond = (response) => response.destroy();
  assert.equal((await publish()).kind, 'trouble');
  respond = (response) => {
    response.writeHead(200, { 'content-length': 1_000 });
    response.write('{"data":[', () => response.destroy());
  };
  assert.equal((await publish()).kind, 'trouble');
});
