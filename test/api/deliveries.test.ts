import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Attempt } from '../../src/model/attempt.ts';
import type { OpenDelivery } from '../../src/model/delivery.ts';
import { addDestination, DAY_MS, postEvent, startApi, type Api, type Json } from './harness.ts';

let api: Api;
before(async () => {
  api = await startApi();
});
after(() => api.close());

type Result = Omit<Attempt, 'attempt'>;

/** A delivery that was just scheduled, and its destination. */
async function schedule(key?: string): Promise<{ delivery: OpenDelivery; destination: string }> {
  const destination = await addDestination(api, { eventType: 'order.*', ...(key === undefined ? {} : { key }) });
  await postEvent(api, {}, key);
  const delivery = api.dispatched.findLast(({ destinationId }) => destinationId === destination);
  return { delivery: delivery!, destination };
}

const FAILED: Result = {
  trigger: 'schedule',
  outcome: 'bad_status',
  startedAt: 0,
  durationMs: 12,
  responseCode: 500,
  responseHeaders: [],
  responseBody: Buffer.from(''),
  responseBodyTruncated: false,
  error: 'the receiver answered 500',
};

/** Records an attempt: a failed one with another to come, or one that ended the delivery. */
async function record(delivery: OpenDelivery, result: Partial<Result>, status: 'retrying' | 'dead' | 'succeeded') {
  const now = api.clock.now();
  const dueAt = status === 'retrying' ? now + 5_000 : null;
  const attempt = { ...FAILED, startedAt: now, ...result };
  const responseHeaders = attempt.responseHeaders === null ? null : JSON.stringify(attempt.responseHeaders);
  const { outcomes } = await api.store.recordResults({
    results: [
      {
        id: delivery.id,
        rev: delivery.rev,
        attempt: { ...attempt, responseHeaders },
        decision: {
          status,
          deadReason: status === 'dead' ? 'exhausted' : null,
          dueAt,
          scheduledAt: null,
          fallbackStatus: null,
          schedulePosition: delivery.schedulePosition + 1,
          completedAt: dueAt === null ? now : null,
          pauseDestination: null,
        },
      },
    ],
    health: [],
    now,
  });
  assert.deepEqual(outcomes, [{ result: 'recorded' }]);
  delivery.rev++;
}

const read = async (id: string) => (await api.expect(200, 'GET', `/v1/deliveries/${id}`)).json;

test('a new delivery is pending, due at once, and has no history', async () => {
  const { delivery, destination } = await schedule();
  const now = new Date(api.clock.now()).toISOString();
  assert.deepEqual(await read(delivery.id), {
    id: delivery.id,
    event_id: delivery.eventId,
    event_type: 'order.paid',
    destination_id: destination,
    subscription_id: (await read(delivery.id)).subscription_id,
    status: 'pending',
    dead_reason: null,
    origin: 'event',
    attempt_count: 0,
    retry_count: 0,
    response_codes: [],
    next_attempt_at: now,
    created_at: now,
    updated_at: now,
    completed_at: null,
    retries: [],
  });
});

test('the single read has every attempt, oldest first', async () => {
  const { delivery } = await schedule();
  const first = new Date(api.clock.now()).toISOString();
  await record(
    delivery,
    {
      responseHeaders: [
        ['content-type', 'text/plain'],
        ['set-cookie', 'a=1'],
        ['x-a', ''],
        ['set-cookie', 'b=2'],
      ],
      responseBody: Buffer.from('"nö"\u0000😀'),
    },
    'retrying',
  );
  api.clock.advance(5_000);
  await record(
    delivery,
    { outcome: 'timed_out', responseCode: null, responseHeaders: null, responseBody: null, error: 'no answer in 15 s' },
    'retrying',
  );
  await record(delivery, { outcome: 'succeeded', trigger: 'manual', responseCode: 204, error: null }, 'succeeded');
  const now = new Date(api.clock.now()).toISOString();
  const { retries, ...row } = await read(delivery.id);
  assert.deepEqual(retries, [
    {
      attempt: 1,
      trigger: 'schedule',
      started_at: first,
      duration_ms: 12,
      outcome: 'bad_status',
      response_code: 500,
      response_headers: { 'content-type': ['text/plain'], 'set-cookie': ['a=1', 'b=2'], 'x-a': [''] },
      response_body: '"nö"\u0000😀',
      response_body_encoding: 'utf8',
      response_body_truncated: false,
      error: 'the receiver answered 500',
    },
    {
      attempt: 2,
      trigger: 'schedule',
      started_at: now,
      duration_ms: 12,
      outcome: 'timed_out',
      response_code: null,
      response_headers: null,
      response_body: null,
      response_body_encoding: null,
      response_body_truncated: false,
      error: 'no answer in 15 s',
    },
    {
      attempt: 3,
      trigger: 'manual',
      started_at: now,
      duration_ms: 12,
      outcome: 'succeeded',
      response_code: 204,
      response_headers: {},
      response_body: '',
      response_body_encoding: 'utf8',
      response_body_truncated: false,
      error: null,
    },
  ]);
  assert.deepEqual([row.status, row.attempt_count, row.retry_count], ['succeeded', 3, 2]);
  assert.deepEqual([row.response_codes, row.completed_at, row.next_attempt_at], [[500, null, 204], now, null]);
  const { json } = await api.expect(200, 'GET', `/v1/deliveries?event_id=${delivery.eventId}`);
  assert.ok((json.data as Json[]).some(({ id }) => id === delivery.id));
  assert.deepEqual(
    (json.data as Json[]).find(({ id }) => id === delivery.id),
    row,
  );
});

test('a response body that is no UTF-8 is shown in base64, one that was cut in a character as text', async () => {
  const bodies: [body: Buffer, isTruncated: boolean, text: string, encoding: string][] = [
    [Buffer.from([0xff, 0x00, 0xfe]), false, '/wD+', 'base64'],
    [Buffer.from('aé').subarray(0, 2), false, 'YcM=', 'base64'],
    [Buffer.from('aé').subarray(0, 2), true, 'a', 'utf8'],
    [Buffer.from('a😀').subarray(0, 4), true, 'a', 'utf8'],
    [Buffer.from('aé'), true, 'aé', 'utf8'],
    [Buffer.from([0x61, 0xff, 0xc3]), true, 'Yf/D', 'base64'],
    [Buffer.from([0x61, 0x80, 0x80, 0x80, 0x80]), true, 'YYCAgIA=', 'base64'],
  ];
  const { delivery } = await schedule();
  for (const [responseBody, responseBodyTruncated] of bodies) {
    await record(delivery, { responseBody, responseBodyTruncated }, 'retrying');
  }
  const { retries } = await read(delivery.id);
  assert.deepEqual(
    (retries as Json[]).map((retry) => [
      retry.response_body,
      retry.response_body_encoding,
      retry.response_body_truncated,
    ]),
    bodies.map(([, isTruncated, text, encoding]) => [text, encoding, isTruncated]),
  );
});

test('a header named __proto__ is a header', async () => {
  const { delivery } = await schedule();
  await record(delivery, { responseHeaders: [['__proto__', 'x']] }, 'retrying');
  const { text } = await api.expect(200, 'GET', `/v1/deliveries/${delivery.id}`);
  assert.match(text, /"response_headers":\{"__proto__":\["x"\]\}/);
});

test('a list is filtered by event, destination, status and time', async () => {
  api.clock.advance(60_000);
  const early = await schedule();
  api.clock.advance(60_000);
  const late = await schedule();
  await record(late.delivery, {}, 'retrying');
  const list = async (query: string) => {
    const { json } = await api.expect(200, 'GET', `/v1/deliveries?${query}`);
    return (json.data as Json[]).map(({ id }) => id);
  };
  const of = (place: typeof early) => `destination_id=${place.destination}`;
  assert.deepEqual((await list(of(late))).at(-1), late.delivery.id);
  assert.deepEqual(await list(`${of(late)}&status=retrying`), [late.delivery.id]);
  assert.deepEqual(await list(`${of(late)}&status=dead`), []);
  assert.deepEqual(await list(`${of(early)}&event_id=${early.delivery.eventId}`), [early.delivery.id]);
  const { created_at: createdAt } = await read(late.delivery.id);
  assert.deepEqual(await list(`${of(early)}&until=${String(createdAt)}`), [early.delivery.id]);
  assert.ok(!(await list(`${of(early)}&since=${String(createdAt)}`)).includes(early.delivery.id));
  assert.ok((await list(`${of(late)}&since=${String(createdAt)}`)).includes(late.delivery.id));
  assert.deepEqual(await list(`since=${String(createdAt)}&until=${String(createdAt)}`), []);
});

const EMPTY = { data: [], has_more: false, next_cursor: null };

test('a filter by an id of nothing gives an empty page', async () => {
  const { delivery, destination } = await schedule();
  for (const list of ['/v1/deliveries', '/v1/dlq']) {
    for (const filter of [
      'event_id=x',
      'destination_id=x',
      `event_id=${destination}`,
      `destination_id=${delivery.eventId}`,
      'event_id=',
      'event_id=evt_00000000000000000000000000',
    ]) {
      assert.deepEqual((await api.expect(200, 'GET', `${list}?${filter}`)).json, EMPTY, filter);
    }
    const key = await api.makeKey({ mode: 'test' });
    assert.deepEqual((await api.expect(200, 'GET', `${list}?destination_id=${destination}`, { key })).json, EMPTY);
  }
});

test('of very many attempts the single read has every one too, read from the store some at a time', async (t) => {
  const { delivery } = await schedule();
  for (let made = 0; made < 120; made++) await record(delivery, {}, 'retrying');
  const store = { ...api.store };
  t.after(() => Object.assign(api.store, store));
  // Meanwhile there is another one, which the count at the beginning of the answer does not know.
  api.store.readAttempts = async (request) => {
    if (request.after === 100) await record(delivery, {}, 'retrying');
    return store.readAttempts(request);
  };
  const { retries, attempt_count } = await read(delivery.id);
  assert.equal(attempt_count, 120);
  assert.deepEqual(
    (retries as Json[]).map(({ attempt }) => attempt),
    Array.from({ length: 120 }, (_, i) => i + 1),
  );
});

test('a filter that cannot be is named', async () => {
  for (const query of ['status=done', 'status=', 'since=x', 'until=2026-01-31T00:00', 'limit=0', 'order=asc']) {
    for (const list of ['/v1/deliveries', '/v1/dlq']) {
      const error = await api.refuse('invalid_request', 'GET', `${list}?${query}`);
      assert.equal(error.param, query.split('=')[0]);
    }
  }
});

test('a retry forces one attempt, and another adds nothing', async () => {
  const { delivery } = await schedule();
  await record(delivery, {}, 'dead');
  const handedOn = api.dispatched.length;
  const { json } = await api.expect(202, 'POST', `/v1/deliveries/${delivery.id}/retry`);
  const { retries, ...row } = await read(delivery.id);
  assert.deepEqual(json, row);
  assert.deepEqual([json.status, json.dead_reason, (retries as Json[]).length], ['retrying', null, 1]);
  assert.deepEqual(
    api.dispatched.slice(handedOn).map(({ id, dueAt }) => [id, dueAt]),
    [[delivery.id, 0]],
  );
  const again = await api.expect(202, 'POST', `/v1/deliveries/${delivery.id}/retry`, { body: {} });
  assert.deepEqual(again.json, row);
  assert.equal(api.dispatched.length, handedOn + 1);
});

test('what the store says may be under way is looked for there, and not handed on', async (t) => {
  const store = { ...api.store };
  t.after(() => Object.assign(api.store, store));
  const { delivery } = await schedule();
  await record(delivery, {}, 'dead');
  const late = <T extends object>(result: T) => ({ ...result, mayBeUnderWay: true });
  Object.assign(api.store, {
    acceptEvents: async (events) => (await store.acceptEvents(events)).map(late),
    replayEvent: async (request) => late(await store.replayEvent(request)),
    retryDelivery: async (request) => late(await store.retryDelivery(request)),
    replayDead: async (request) => late(await store.replayDead(request)),
  } satisfies Partial<Api['store']>);
  const handedOn = api.dispatched.length;
  await api.expect(202, 'POST', `/v1/dlq/${delivery.id}/replay`);
  await api.expect(202, 'POST', `/v1/deliveries/${delivery.id}/retry`);
  await api.expect(202, 'POST', `/v1/events/${delivery.eventId}/replay`);
  const { json } = await postEvent(api);
  assert.notDeepEqual(json.deliveries, []);
  assert.deepEqual(api.dispatched.slice(handedOn), []);
});

test('a retry takes no fields', async () => {
  const { delivery } = await schedule();
  for (const action of [`deliveries/${delivery.id}/retry`, `dlq/${delivery.id}/replay`]) {
    const error = await api.refuse('invalid_request', 'POST', `/v1/${action}`, { body: { force: true } });
    assert.equal(error.param, '/force');
  }
});

test('the DLQ lists what is dead, and replays it', async () => {
  const { delivery, destination } = await schedule();
  const list = async (query = '') => {
    const { json } = await api.expect(200, 'GET', `/v1/dlq?destination_id=${destination}${query}`);
    return (json.data as Json[]).map(({ id }) => id);
  };
  assert.deepEqual(await list(), []);
  const notDead = await api.refuse('delivery_not_found', 'POST', `/v1/dlq/${delivery.id}/replay`);
  assert.equal(notDead.message, 'there is no dead delivery of this id in this environment');
  await record(delivery, {}, 'dead');
  assert.deepEqual(await list(), [delivery.id]);
  assert.deepEqual(await list('&status=dead'), [delivery.id]);
  assert.deepEqual(await list('&status=pending'), []);
  const { json } = await api.expect(202, 'POST', `/v1/dlq/${delivery.id}/replay`);
  assert.deepEqual([json.status, json.attempt_count, json.completed_at], ['pending', 1, null]);
  assert.equal(api.dispatched.at(-1)!.id, delivery.id);
  assert.deepEqual(await list(), []);
  await api.refuse('delivery_not_found', 'POST', `/v1/dlq/${delivery.id}/replay`);
});

test('what is unknown, foreign or no id is delivery_not_found', async () => {
  const { delivery, destination } = await schedule();
  const key = await api.makeKey({ mode: 'test' });
  const places: [method: string, path: (id: string) => string][] = [
    ['GET', (id) => `/v1/deliveries/${id}`],
    ['POST', (id) => `/v1/deliveries/${id}/retry`],
    ['POST', (id) => `/v1/dlq/${id}/replay`],
  ];
  for (const [method, path] of places) {
    await api.refuse('delivery_not_found', method, path(delivery.id), { key });
    for (const id of [
      'x',
      destination,
      'dlv_00000000000000000000000000',
      delivery.id.toUpperCase(),
      `${delivery.id}0`,
    ]) {
      await api.refuse('delivery_not_found', method, path(id));
    }
  }
});

test('nothing can be sent again to a deleted destination', async () => {
  const { delivery, destination } = await schedule();
  await api.expect(204, 'DELETE', `/v1/destinations/${destination}`);
  const { status, dead_reason: reason } = await read(delivery.id);
  assert.deepEqual([status, reason], ['dead', 'destination_deleted']);
  await api.refuse('destination_not_found', 'POST', `/v1/deliveries/${delivery.id}/retry`);
  await api.refuse('destination_not_found', 'POST', `/v1/dlq/${delivery.id}/replay`);
});

test('30 days after its event a delivery is too old', async () => {
  const { delivery } = await schedule();
  await record(delivery, {}, 'dead');
  api.clock.advance(30 * DAY_MS + 1);
  await api.refuse('delivery_too_old', 'POST', `/v1/deliveries/${delivery.id}/retry`);
  await api.refuse('delivery_too_old', 'POST', `/v1/dlq/${delivery.id}/replay`);
  assert.equal((await read(delivery.id)).status, 'dead');
});
