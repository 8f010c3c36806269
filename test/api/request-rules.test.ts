// What every request must be, whatever its endpoint: media type, size, JSON, known fields and parameters.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addDestination, startApi, type Api, type Json } from './harness.ts';

let api: Api;
let destination: string;
before(async () => {
  api = await startApi();
  destination = await addDestination(api, { eventType: null });
});
after(() => api.close());

const EVENT = '{"type":"a.b","body":{}}';

test('a body is application/json in UTF-8', async () => {
  const accepted = [
    'application/json',
    'Application/JSON',
    'application/json;charset=utf-8',
    'application/json; charset="UTF-8"',
    'application/json ; charset=utf8',
    'application/json; version=1',
  ];
  const refused = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/vnd.api+json',
    'application/json; charset=iso-8859-1',
    'application/json; charset=',
    'application/json; charset=utf-8; charset=latin1',
    'application/json; charset=utf-16',
    'json',
    '',
    'application',
    'application/json, text/plain',
    '*/*',
  ];
  for (const type of accepted) {
    await api.expect(202, 'POST', '/v1/events', { body: EVENT, headers: { 'content-type': type } });
  }
  for (const type of refused) {
    const call = { body: EVENT, headers: { 'content-type': type } };
    await api.refuse('unsupported_media_type', 'POST', '/v1/events', call);
  }
});

test('a body without a Content-Type, or with a Content-Encoding, is refused', async () => {
  const headers = { authorization: `Bearer ${await api.makeKey()}` };
  const { statusCode } = await api.app.inject({ method: 'POST', url: '/v1/events', headers, payload: EVENT });
  assert.equal(statusCode, 415);
  for (const encoding of ['gzip', 'identity', 'br', '']) {
    const call = { body: EVENT, headers: { 'content-encoding': encoding } };
    await api.refuse('unsupported_media_type', 'POST', '/v1/events', call);
  }
});

test('no body counts as {}, with or without a Content-Type', async () => {
  const url = `/v1/destinations/${destination}`;
  const types: Record<string, string>[] = [
    {},
    { 'content-type': 'application/json' },
    { 'content-type': 'text/plain' },
  ];
  for (const headers of types) {
    await api.expect(200, 'PATCH', url, { headers });
    await api.expect(200, 'PATCH', url, { headers: { ...headers, 'content-length': '0' } });
    const error = await api.refuse('invalid_request', 'POST', '/v1/events', { headers });
    assert.equal(error.param, '/type');
  }
  await api.refuse('invalid_request', 'PATCH', url, { body: ' ' });
});

test('requests other than events have at most 65,536 bytes', async () => {
  const url = `/v1/destinations/${destination}`;
  await api.expect(200, 'PATCH', url, { body: '{}'.padEnd(65_536) });
  await api.refuse('body_too_large', 'PATCH', url, { body: '{}'.padEnd(65_537) });
  for (const path of ['/v1/destinations', '/v1/subscriptions', '/v1/api-keys', '/v1/deliveries/x/retry']) {
    await api.refuse('body_too_large', 'POST', path, { body: '{}'.padEnd(65_537) });
  }
  await api.refuse('body_too_large', 'DELETE', url, { body: '{}'.padEnd(65_537) });
});

test('what is no JSON object is invalid_request, whatever the endpoint', async () => {
  const bodies = [
    '{',
    '{"type"',
    '{"type":"a.b","body":{}',
    '{"type":"a.b","body":{}}x',
    'null',
    '[]',
    '"x"',
    '7',
    '\ufeff{}',
    "{'type':'a.b'}",
    '{"type":"a.b",}',
    '\u0000',
  ];
  const places = [
    ['POST', '/v1/events'],
    ['POST', '/v1/events/batch'],
    ['POST', '/v1/destinations'],
    ['PATCH', `/v1/destinations/${destination}`],
    ['DELETE', `/v1/destinations/${destination}`],
    ['POST', '/v1/deliveries/x/retry'],
  ] as const;
  for (const [method, url] of places) {
    for (const body of bodies) await api.refuse('invalid_request', method, url, { body });
    await api.refuse('invalid_request', method, url, {
      body: Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d]),
    });
  }
});

test('a value of the wrong type is told what it must be, in words', async () => {
  const said = async (url: string, body: string) =>
    (await api.refuse('invalid_request', 'POST', url, { body })).message;
  assert.equal(await said('/v1/events', '{"type":"a.b","body":[]}'), '"body" must be an object');
  assert.equal(await said('/v1/events', '{"type":7,"body":{}}'), '"type" must be a string');
  assert.equal(
    await said('/v1/destinations', '{"url":"https://example.com","name":7}'),
    '"name" must be a string or null',
  );
});

test('a number or a size that is out of bounds is told what it is and what it may be', async () => {
  const said = async (fields: object) =>
    (await api.refuse('invalid_request', 'POST', '/v1/destinations', { body: { url: 'https://a.test', ...fields } }))
      .message;
  assert.equal(await said({ max_in_flight: 0 }), '"max_in_flight" is 0; it must be at least 1');
  assert.equal(await said({ max_in_flight: 1_001 }), '"max_in_flight" is 1001; it must be at most 1000');
  assert.equal(await said({ name: 'ü'.repeat(257) }), '"name" has 257 characters; it must have at most 256');
  const headers = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`x-${i}`, 'v']));
  assert.equal(await said({ headers }), '"headers" has 21 members; it must have at most 20');
  const { message } = await api.refuse('invalid_request', 'POST', '/v1/events/batch', { body: { events: [] } });
  assert.equal(message, '"events" must not be empty');
});

test('a query parameter that is there twice is told that it is given once', async () => {
  const said = async (query: string) => (await api.refuse('invalid_request', 'GET', `/v1/deliveries?${query}`)).message;
  assert.equal(await said('status=dead&status=pending'), '"status" must be a string, given once');
  assert.equal(await said('limit=1&limit=2'), '"limit" must be an integer, given once');
});

test('members that JavaScript has a meaning for are fields like any other', async () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const body = `{"type":"a.b","body":{},"${name}":{"x":1}}`;
    assert.equal((await api.refuse('invalid_request', 'POST', '/v1/events', { body })).param, `/${name}`);
    const patch = { body: `{"${name}":1}` };
    const error = await api.refuse('invalid_request', 'PATCH', `/v1/destinations/${destination}`, patch);
    assert.equal(error.param, `/${name}`);
    assert.equal((await api.refuse('invalid_request', 'GET', `/v1/events?${name}=1`)).param, name);
  }
  assert.equal(
    (await api.refuse('invalid_request', 'POST', '/v1/events', { body: '{"__proto__":{"type":"a.b"}}' })).param,
    '/type',
  );
});

const LISTS = [
  'destinations',
  'subscriptions',
  'events',
  'deliveries',
  'dlq',
  'api-keys',
  'destinations/ID/signing-keys',
];

test('a limit is a whole number of 1-100', async () => {
  for (const list of LISTS) {
    const url = `/v1/${list.replace('ID', destination)}`;
    for (const limit of ['1', '100', '007']) await api.expect(200, 'GET', `${url}?limit=${limit}`);
    for (const limit of [
      '0',
      '101',
      '-1',
      '1.5',
      '1e1',
      '0x10',
      '',
      '+5',
      '%205',
      'x',
      'NaN',
      '5&limit=6',
      '9'.repeat(30),
    ]) {
      const error = await api.refuse('invalid_request', 'GET', `${url}?limit=${limit}`);
      assert.equal(error.param, 'limit', limit);
    }
  }
});

test('unknown and repeated query parameters are named, wherever they are', async () => {
  for (const list of LISTS) {
    const url = `/v1/${list.replace('ID', destination)}`;
    assert.equal((await api.refuse('invalid_request', 'GET', `${url}?page=2`)).param, 'page');
    assert.equal((await api.refuse('invalid_request', 'GET', `${url}?cursor=a&cursor=b`)).param, 'cursor');
  }
  const others = [
    ['GET', `/v1/destinations/${destination}`],
    ['PATCH', `/v1/destinations/${destination}`],
    ['POST', '/v1/events'],
    ['POST', '/v1/deliveries/x/retry'],
  ] as const;
  for (const [method, url] of others) {
    assert.equal((await api.refuse('invalid_request', method, `${url}?dry_run=1`, { body: '{}' })).param, 'dry_run');
  }
  await api.expect(200, 'GET', '/healthz?probe=1', { key: null });
});

test('a cursor that was not made by this list is invalid_cursor', async () => {
  for (const list of LISTS) {
    for (const cursor of ['', 'x', '%00', 'é', 'x'.repeat(10_000)]) {
      const url = `/v1/${list.replace('ID', destination)}?cursor=${encodeURIComponent(cursor)}`;
      assert.equal((await api.refuse('invalid_cursor', 'GET', url)).param, 'cursor');
    }
  }
});

test('a refused character is named, with those that are allowed', async () => {
  const refuse = async (path: string, body: Json) =>
    (await api.refuse('invalid_request', 'POST', path, { body })).message;
  const named = { url: 'https://example.com/x', name: 'a\u0000b' };
  assert.equal(await refuse('/v1/destinations', named), '"name" has the character U+0000; it takes any other');
  assert.equal(await refuse('/v1/api-keys', { name: '\u0000' }), '"name" has the character U+0000; it takes any other');
  const keyed = { type: 'a.b', body: {}, idempotency_key: 'order-\u{1f600}' };
  assert.equal(
    await refuse('/v1/events', keyed),
    '"idempotency_key" has the character U+1F600; it takes printable ASCII only, U+0020 to U+007E',
  );
  const { json } = await api.expect(200, 'POST', '/v1/events/batch', { body: { events: [keyed] } });
  const [result] = json.data as { error: { message: string } }[];
  assert.match(result!.error.message, /"idempotency_key" has the character U\+1F600; it takes printable ASCII/);
});
