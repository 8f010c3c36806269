// What the client does when things go wrong on the way: behind a proxy that fails in every way, it publishes once, does
// not repeat what is not safe to repeat, and gives up in time.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  ApiError,
  ConnectionError,
  DestinationNotFoundError,
  Postrider,
  RateLimitedError,
  TimeoutError,
  UnavailableError,
  UnexpectedAnswerError,
} from '../../sdk/typescript/src/postrider.ts';
import { Service } from '../e2e/service.ts';
import { Proxy, type Failure } from './proxy.ts';

const service = new Service({ REACHABILITY_CHECK: 'off' });
const proxy = new Proxy();
let client: Postrider;

before(async () => {
  await Promise.all([service.start(), proxy.listen()]);
  proxy.target = service.url;
  client = new Postrider({ apiKey: service.key, baseUrl: `${proxy.url}/` });
});
beforeEach(() => {
  proxy.failures = [];
  proxy.seen.length = 0;
});
after(() => Promise.all([proxy.close(), service.end()]));

const refused = (status: number, code: string, headers = {}): Failure => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify({ error: { code, message: 'said the proxy', request_id: 'req_1' } }),
});
const UNAVAILABLE = refused(503, 'unavailable', { 'retry-after': '0' });
const RATE_LIMITED = refused(429, 'rate_limited', { 'retry-after': '0' });
const OF_A_PROXY: Failure = { status: 503, body: '<html>no upstream</html>' };
const DESTINATION = { url: 'http://127.0.0.1:9/' };

describe('an event is taken once, whatever happens to its requests', () => {
  const failures: Record<string, Failure[]> = {
    'cut before it arrived': ['cut'],
    'its answer lost': ['lost'],
    'its answer torn': ['torn'],
    'all of it, until the last try': ['lost', 'cut', 'torn'],
    '503 of the service': [UNAVAILABLE],
    '503 of a proxy': [OF_A_PROXY],
    '429 of the service': [RATE_LIMITED],
  };
  for (const [what, list] of Object.entries(failures)) {
    test(what, async () => {
      proxy.failures = [...list];
      const type = `once.${what.replace(/\W+/g, '_')}`;
      const event = await client.events.publish({ type, body: { n: 1 } });
      assert.equal(proxy.seen.length, list.length + 1);
      assert.equal(new Set(proxy.seen.map(({ body }) => body)).size, 1);
      const { data } = await client.events.list({ type }).page();
      assert.deepEqual(
        data.map(({ event_id: id }) => id),
        [event.event_id],
      );
    });
  }

  test('one that hangs', async () => {
    proxy.failures = ['hang'];
    await client.events.publish({ type: 'once.hung', body: {} }, { timeoutMs: 6_000 });
    assert.equal(proxy.seen.length, 2);
  });

  test('a batch whose answer is lost', async () => {
    proxy.failures = ['lost'];
    const batch = [1, 2, 3].map((n) => ({ type: 'once.batch', body: { n } }));
    const results = await client.events.publishBatch(batch);
    assert.deepEqual(
      results.map(({ event, error }) => [event?.type, error]),
      batch.map(({ type }) => [type, undefined]),
    );
    const { data } = await client.events.list({ type: 'once.batch' }).page();
    assert.equal(data.length, 3);
  });
});

describe('what is not safe to repeat', () => {
  const failures = [
    ['a cut', 'cut', ConnectionError],
    ['a lost answer', 'lost', ConnectionError],
    ['a torn answer', 'torn', ConnectionError],
    ['503 of the service', UNAVAILABLE, UnavailableError],
    ['503 of a proxy', OF_A_PROXY, UnexpectedAnswerError],
  ] as const;
  for (const [what, failure, expected] of failures) {
    test(`is not repeated after ${what}`, async () => {
      proxy.failures = [failure];
      await assert.rejects(client.destinations.create(DESTINATION), expected);
      assert.equal(proxy.seen.length, 1);
    });
  }

  test('is repeated where the service did nothing', async () => {
    proxy.failures = [RATE_LIMITED];
    await client.destinations.create(DESTINATION);
    assert.equal(proxy.seen.length, 2);
  });

  test('is given all of the deadline', async () => {
    proxy.failures = ['hang'];
    await assert.rejects(client.destinations.create(DESTINATION, { timeoutMs: 1_000 }), TimeoutError);
    assert.equal(proxy.seen.length, 1);
  });
});

test('a delete whose answer was lost is done; one of what is not there is an error', async () => {
  const { id } = await client.destinations.create(DESTINATION);
  proxy.failures = ['lost'];
  await client.destinations.delete(id);
  await assert.rejects(client.destinations.delete(id), DestinationNotFoundError);
});

test('four tries, then what went wrong last', async () => {
  proxy.failures = ['cut', 'cut', 'lost', UNAVAILABLE, 'cut'];
  await assert.rejects(client.events.list().page(), UnavailableError);
  assert.equal(proxy.seen.length, 4);
  const once = new Postrider({ apiKey: service.key, baseUrl: proxy.url, maxRetries: 0 });
  await assert.rejects(once.events.list().page(), ConnectionError);
  assert.equal(proxy.seen.length, 5);
});

test('one that may be tried only once is given all of the deadline', async () => {
  const once = new Postrider({ apiKey: service.key, baseUrl: proxy.url, maxRetries: 0, timeoutMs: 300 });
  proxy.failures = ['hang'];
  // A busy machine may have spent some of it; a share of it for each of several tries would be less by far.
  await assert.rejects(once.stats.now(), /no answer within (2\d\d|300) ms/);
});

test('a try that hangs after others says how long all of them took, and how many they were', async () => {
  const twice = new Postrider({ apiKey: service.key, baseUrl: proxy.url, maxRetries: 1, timeoutMs: 2_000 });
  proxy.failures = ['cut', 'hang'];
  await assert.rejects(twice.stats.now(), (error: TimeoutError) => {
    assert.ok(error instanceof TimeoutError);
    assert.match(error.message, /^no answer within \d+ ms, in 2 tries$/);
    return true;
  });
});

test('no earlier than Retry-After', async () => {
  proxy.failures = [refused(429, 'rate_limited', { 'retry-after': '1' })];
  await client.stats.now();
  const [first, second] = proxy.seen;
  assert.ok(second!.at - first!.at >= 1_000);
});

test('a Retry-After beyond the deadline is not waited for', async () => {
  proxy.failures = [refused(429, 'rate_limited', { 'retry-after': '3600' })];
  await assert.rejects(client.stats.now(), (error: RateLimitedError) => {
    assert.ok(error instanceof RateLimitedError);
    assert.equal(error.retryAfterSeconds, 3_600);
    return true;
  });
  assert.equal(proxy.seen.length, 1);
});

test('other refusals are thrown at once, with what the service says', async () => {
  await assert.rejects(client.events.publish({ type: 'one', body: {} }), (error: ApiError) => {
    const { name, code, status, param, requestId } = error;
    assert.deepEqual([name, code, status, param], ['InvalidEventTypeError', 'invalid_event_type', 400, '/type']);
    assert.match(requestId!, /^req_/);
    return true;
  });
  assert.equal(proxy.seen.length, 1);
  proxy.failures = [refused(418, 'of_another_time')];
  await assert.rejects(client.stats.now(), (error: ApiError) => {
    assert.deepEqual([error.constructor, error.code], [ApiError, 'of_another_time']);
    return true;
  });
});

describe('an answer that is not Postrider’s', () => {
  const answers: Record<string, Failure> = {
    'a page': { status: 200, body: '<html>' },
    'a page of an error': { status: 404, body: '<html>' },
    'JSON of somebody else': { status: 500, body: '{"error":"no"}' },
    'a code and nothing else': { status: 500, body: '{"error":{"code":7,"message":"no"}}' },
    null: { status: 500, body: 'null' },
    'null where an object is due': { status: 200, body: 'null' },
    'a list where an object is due': { status: 200, body: '[]' },
    'nothing where an object is due': { status: 204, body: '' },
    'a redirect': { status: 301, body: '', headers: { location: 'https://example.com/' } },
  };
  for (const [what, answer] of Object.entries(answers)) {
    test(`is said to be that: ${what}`, async () => {
      proxy.failures = [answer];
      await assert.rejects(client.stats.now(), (error: UnexpectedAnswerError) => {
        assert.ok(error instanceof UnexpectedAnswerError);
        if (what === 'a redirect') assert.match(error.message, /points to https:\/\/example\.com\//);
        return true;
      });
      assert.equal(proxy.seen.length, 1);
    });
  }
});

test('an event counts as published, and a page as read, only by an answer that has what Postrider’s has', async () => {
  for (const body of ['{}', '{"ok":true}', '{"event_id":7}']) {
    proxy.failures = [{ status: 200, body }];
    await assert.rejects(client.events.publish({ type: 'order.paid', body: {} }), UnexpectedAnswerError, body);
  }
  for (const body of ['{"ok":true}', '{"count":12}', '{"a":{"b":1,"body":2},"c":3}']) {
    proxy.failures = [{ status: 200, body }];
    await assert.rejects(client.events.body('evt_1'), UnexpectedAnswerError, body);
  }
  const nothing: Failure = { status: 204, body: '' };
  proxy.failures = [nothing, nothing];
  await assert.rejects(client.events.publish({ type: 'order.paid', body: {} }), UnexpectedAnswerError);
  await assert.rejects(client.destinations.list().page(), UnexpectedAnswerError);
  const [noRow, emptyRow] = ['{"data":[null],"next_cursor":null}', '{"data":[{}],"next_cursor":null}'];
  for (const body of ['{}', '{"data":{}}', '{"data":[]}', '{"data":[],"next_cursor":7}', noRow, emptyRow]) {
    proxy.failures = [{ status: 200, body }];
    await assert.rejects(client.destinations.list().page(), UnexpectedAnswerError, body);
    proxy.failures = [{ status: 200, body }];
    await assert.rejects(Array.fromAsync(client.dlq.list()), UnexpectedAnswerError, body);
  }
  for (const body of [noRow, emptyRow]) {
    proxy.failures = [{ status: 202, body }];
    await assert.rejects(client.events.replay('evt_1'), UnexpectedAnswerError, body);
  }
});

test('a walk ends where the same page comes again, as from a cache that leaves out the query', async () => {
  const page: Failure = { status: 200, body: '{"data":[{"id":"dst_1"}],"next_cursor":"same"}' };
  proxy.failures = [page, page];
  await assert.rejects(Array.fromAsync(client.destinations.list()), UnexpectedAnswerError);
});

test('nothing counts as done, made or read by an answer that is not Postrider’s', async () => {
  const calls: Record<string, () => Promise<unknown>> = {
    'destinations.create': () => client.destinations.create(DESTINATION),
    'destinations.get': () => client.destinations.get('dst_1'),
    'destinations.update': () => client.destinations.update('dst_1', { name: 'x' }),
    'destinations.delete': () => client.destinations.delete('dst_1'),
    'destinations.health': () => client.destinations.health('dst_1'),
    'destinations.test': () => client.destinations.test('dst_1'),
    'destinations.rotate': () => client.destinations.rotate('dst_1'),
    'destinations.recover': () => client.destinations.recover('dst_1', { since: new Date() }),
    'signingKeys.delete': () => client.destinations.signingKeys.delete('dst_1', 'sgk_1'),
    'subscriptions.create': () => client.subscriptions.create({ destination_id: 'dst_1', event_type: 'a.b' }),
    'subscriptions.get': () => client.subscriptions.get('sub_1'),
    'subscriptions.delete': () => client.subscriptions.delete('sub_1'),
    'events.get': () => client.events.get('evt_1'),
    'events.replay': () => client.events.replay('evt_1'),
    'events.replayAll': () => client.events.replayAll({ since: new Date(), dry_run: true }),
    'deliveries.get': () => client.deliveries.get('dlv_1'),
    'deliveries.attempts': () => client.deliveries.attempts('dlv_1'),
    'deliveries.retry': () => client.deliveries.retry('dlv_1'),
    'dlq.replay': () => client.dlq.replay('dlv_1'),
    'dlq.replayAll': () => client.dlq.replayAll(),
    'operations.get': () => client.operations.get('op_1'),
    'operations.wait': () => client.operations.wait('op_1'),
    'operations.cancel': () => client.operations.cancel('op_1'),
    'stats.get': () => client.stats.get(),
    'stats.now': () => client.stats.now(),
    'keys.create': () => client.keys.create(),
    'keys.revoke': () => client.keys.revoke('key_1'),
    explain: () => client.explain({ event_id: 'evt_1' }),
    cluster: () => client.cluster(),
  };
  for (const [what, call] of Object.entries(calls)) {
    proxy.failures = [{ status: 200, body: '{"ok":true}' }];
    await assert.rejects(call(), UnexpectedAnswerError, what);
  }
});

test('of an answer to a batch that has not one result for each event nothing is believed', async () => {
  const accepted = { status: 202, event: { event_id: 'evt_1' } };
  const conflict = { code: 'idempotency_key_conflict', message: 'said the proxy', request_id: 'req_1' };
  const batch = [
    { type: 'order.paid', body: {} },
    { type: 'order.paid', body: {} },
  ];
  for (const data of [
    undefined,
    [accepted],
    [accepted, accepted, accepted],
    [accepted, null],
    [accepted, { status: 202 }],
    [accepted, { status: 202, error: conflict }],
    [accepted, { status: 409 }],
    [accepted, { status: 409, error: { ...conflict, param: 7 } }],
  ]) {
    proxy.failures = [{ status: 200, body: JSON.stringify({ data }) }];
    await assert.rejects(client.events.publishBatch(batch), UnexpectedAnswerError, JSON.stringify(data));
  }
  proxy.failures = [{ status: 200, body: JSON.stringify({ data: [accepted, { status: 409, error: conflict }] }) }];
  const [first, second] = await client.events.publishBatch(batch);
  assert.deepEqual([first!.event?.event_id, second!.error?.code], ['evt_1', conflict.code]);
});

describe('an abort', () => {
  const reason = new Error('enough');

  test('before the call', async () => {
    await assert.rejects(client.stats.now({ signal: AbortSignal.abort(reason) }), reason);
    assert.equal(proxy.seen.length, 0);
  });

  test('while it waits for the answer', async () => {
    proxy.failures = ['hang'];
    const abort = new AbortController();
    const call = client.stats.now({ signal: abort.signal });
    while (proxy.seen.length === 0) await new Promise(setImmediate);
    abort.abort(reason);
    await assert.rejects(call, reason);
  });

  test('while it waits for the next try', async () => {
    proxy.failures = [refused(429, 'rate_limited', { 'retry-after': '30' })];
    const abort = new AbortController();
    const call = client.stats.now({ signal: abort.signal });
    while (proxy.failures.length > 0) await new Promise(setImmediate);
    setTimeout(() => abort.abort(reason), 100);
    await assert.rejects(call, reason);
    assert.equal(proxy.seen.length, 1);
  });
});

test('nobody there', async () => {
  const away = new Postrider({ apiKey: service.key, baseUrl: 'http://127.0.0.1:1', maxRetries: 0 });
  await assert.rejects(
    away.stats.now(),
    /^ConnectionError: GET \/v1\/stats\/now: no answer from http:\/\/127\.0\.0\.1:1/,
  );
});

test('a deadline beyond what a timer can count is the longest there is, not none', async () => {
  for (const timeoutMs of [2 ** 33, Number.POSITIVE_INFINITY]) {
    proxy.failures = ['cut'];
    assert.ok(await client.stats.now({ timeoutMs }));
  }
});

test('wrong arguments are said at once', async () => {
  for (const options of [
    { apiKey: '', baseUrl: service.url },
    { apiKey: 'pr_test_x\n', baseUrl: service.url },
    { apiKey: service.key, baseUrl: '127.0.0.1:8383' },
    { apiKey: service.key, baseUrl: service.url, maxRetries: 4 },
    { apiKey: service.key, baseUrl: service.url, timeoutMs: '5000' as unknown as number },
    { apiKey: service.key, baseUrl: service.url.replace('//', '//somebody:secret@') },
  ]) {
    assert.throws(() => new Postrider(options), TypeError);
  }
  assert.throws(() => client.destinations.get('..'), TypeError);
  assert.throws(() => client.events.get('\ud800'), TypeError);
  await assert.rejects(client.destinations.delete(''), TypeError);
  await assert.rejects(client.deliveries.list({ since: new Date('yesterday') }).page(), TypeError);
  const never = new Date('never');
  for (const call of [
    async () => client.keys.create({ expires_at: never }),
    async () => client.events.publish({ type: 'a', body: {}, occurred_at: never }),
    async () => client.events.publishBatch([{ type: 'a', body: {}, occurred_at: never }]),
    async () => client.dlq.replayAll({ since: never }),
  ]) {
    await assert.rejects(call, /^TypeError: \w+ is no valid Date$/);
  }
  for (const timeoutMs of [0, Number.NaN, '5000' as unknown as number]) {
    await assert.rejects(client.stats.now({ timeoutMs }), /^TypeError: timeoutMs is/);
  }
  assert.equal(proxy.seen.length, 0);
});
