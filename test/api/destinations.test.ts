import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { DestinationId } from '../../src/model/id.ts';
import { addDestination, startApi, type Api, type Json } from './harness.ts';

let api: Api;
before(async () => {
  api = await startApi();
});
after(() => api.close());

const URL_OK = 'https://example.com/hook';
const create = (body: Json) => api.expect(201, 'POST', '/v1/destinations', { body });
const refuse = (code: string, body: Json) => api.refuse(code, 'POST', '/v1/destinations', { body });
const patch = (id: string, body: Json) => api.expect(200, 'PATCH', `/v1/destinations/${id}`, { body });
const read = (id: string) => api.expect(200, 'GET', `/v1/destinations/${id}`);

test('a new destination has its defaults, its location, and its signing secret this once', async () => {
  const { json, headers } = await create({ url: URL_OK });
  const { id, signing_secret: secret, created_at: createdAt, ...rest } = json;
  assert.deepEqual(rest, {
    url: URL_OK,
    name: null,
    status: 'active',
    paused_reason: null,
    retry_policy: null,
    max_in_flight: 50,
    rate_per_second: null,
    headers: {},
    signature_style: 'standard',
    metadata: {},
    updated_at: createdAt,
  });
  assert.match(String(id), /^dst_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  assert.equal(headers.location, `/v1/destinations/${String(id)}`);
  assert.match(String(secret), /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(createdAt, new Date(api.clock.now()).toISOString());
  const reading = await read(String(id));
  assert.deepEqual(reading.json, { id, created_at: createdAt, ...rest });
});

test('every field is stored and read back', async () => {
  const fields = {
    url: URL_OK,
    name: 'Bestellungen 😀',
    retry_policy: { schedule_seconds: [1, 604_800], timeout_seconds: 1.5, jitter: 0 },
    max_in_flight: 1_000,
    rate_per_second: 0.1,
    signature_style: 'svix',
    metadata: { a: [1, null, { b: 'é\u0000' }], 10: 1, 9: 2, '': {}, ['__proto__']: { x: 1 } },
  };
  const { json } = await create({ ...fields, headers: { 'X-Tenant': 'acme', authorization: 'Bearer x' } });
  const { json: reading } = await read(String(json.id));
  for (const answer of [json, reading]) {
    const { url, name, retry_policy, max_in_flight, rate_per_second, signature_style, metadata } = answer;
    const shown = { url, name, retry_policy, max_in_flight, rate_per_second, signature_style, metadata };
    assert.deepEqual(shown, fields);
    assert.deepEqual(answer.headers, { 'X-Tenant': '***', authorization: '***' });
  }
});

test('null is the same as absent for optional fields', async () => {
  const { json } = await create({
    url: URL_OK,
    name: null,
    retry_policy: null,
    max_in_flight: null,
    rate_per_second: null,
    headers: null,
    signature_style: null,
    signing_secret: null,
    metadata: null,
  });
  assert.deepEqual([json.name, json.max_in_flight, json.headers, json.metadata], [null, 50, {}, {}]);
  assert.equal(json.signature_style, 'standard');
  assert.match(String(json.signing_secret), /^whsec_/);
});

test('the URL is stored as it serialises', async () => {
  const { json } = await create({ url: 'HTTPS://Exämple.com:443/a b/../ü?q=1 2' });
  assert.equal(json.url, 'https://xn--exmple-cua.com/%C3%BC?q=1%202');
});

const LONG_URL = `${URL_OK}?${'q'.repeat(2_048 - URL_OK.length - 1)}`;

test('URLs that cannot be destinations are invalid_url', async () => {
  const urls = [
    '',
    ' ',
    'example.com',
    '/hook',
    'https://',
    'ftp://example.com',
    'http://example.com/',
    'https://user@example.com',
    'https://user:pw@example.com',
    'https://example.com/#top',
    'https://example.com/#',
    'https://localhost/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://10.1.2.3/',
    'https://2130706433/',
    'https://intranet/',
    'https://printer.local/',
    'https://example.com:22/',
    'https://example.com:80/',
    `${LONG_URL}q`,
    `https://example.com/${'é'.repeat(400)}`,
  ];
  for (const url of urls) assert.equal((await refuse('invalid_url', { url })).param, '/url', url);
  await create({ url: LONG_URL });
});

test('a test key may register plain HTTP', async () => {
  const key = await api.makeKey({ mode: 'test' });
  await api.expect(201, 'POST', '/v1/destinations', { key, body: { url: 'http://example.com/' } });
});

const INVALID: [body: Json, param: string][] = [
  [{}, '/url'],
  [{ url: 5 }, '/url'],
  [{ url: null }, '/url'],
  [{ url: ['a'] }, '/url'],
  [{ status: 'paused' }, '/status'],
  [{ nmae: 'x' }, '/nmae'],
  [{ signing_secret: 'x' }, '/signing_secret'],
  [{ name: 5 }, '/name'],
  [{ name: 'x'.repeat(257) }, '/name'],
  [{ name: 'a\u0000b' }, '/name'],
  [{ retry_policy: [] }, '/retry_policy'],
  [{ retry_policy: 'x' }, '/retry_policy'],
  [{ retry_policy: { retries: 3 } }, '/retry_policy/retries'],
  [{ retry_policy: { schedule_seconds: 5 } }, '/retry_policy/schedule_seconds'],
  [{ retry_policy: { schedule_seconds: [5, 0] } }, '/retry_policy/schedule_seconds/1'],
  [{ retry_policy: { schedule_seconds: [1.5] } }, '/retry_policy/schedule_seconds/0'],
  [{ retry_policy: { schedule_seconds: [604_801] } }, '/retry_policy/schedule_seconds/0'],
  [{ retry_policy: { schedule_seconds: Array.from({ length: 51 }, () => 1) } }, '/retry_policy/schedule_seconds'],
  [{ retry_policy: { schedule_seconds: [1], max_attempts: 2 } }, '/retry_policy'],
  [{ retry_policy: { schedule_seconds: [604_800, 604_800, 604_800, 604_800, 604_800] } }, '/retry_policy'],
  [{ retry_policy: { max_attempts: 0 } }, '/retry_policy/max_attempts'],
  [{ retry_policy: { max_attempts: 52 } }, '/retry_policy/max_attempts'],
  [{ retry_policy: { max_attempts: 1.5 } }, '/retry_policy/max_attempts'],
  [{ retry_policy: { factor: 0.9 } }, '/retry_policy/factor'],
  [{ retry_policy: { factor: 10.1 } }, '/retry_policy/factor'],
  [{ retry_policy: { timeout_seconds: 0 } }, '/retry_policy/timeout_seconds'],
  [{ retry_policy: { timeout_seconds: 61 } }, '/retry_policy/timeout_seconds'],
  [{ retry_policy: { jitter: 1.1 } }, '/retry_policy/jitter'],
  [{ retry_policy: { jitter: -0.1 } }, '/retry_policy/jitter'],
  [{ max_in_flight: 0 }, '/max_in_flight'],
  [{ max_in_flight: 1_001 }, '/max_in_flight'],
  [{ max_in_flight: 1.5 }, '/max_in_flight'],
  [{ max_in_flight: '5' }, '/max_in_flight'],
  [{ rate_per_second: 0 }, '/rate_per_second'],
  [{ rate_per_second: 10_001 }, '/rate_per_second'],
  [{ signature_style: 'Svix' }, '/signature_style'],
  [{ signature_style: '' }, '/signature_style'],
  [{ signing_secret: 5 }, '/signing_secret'],
  [{ metadata: [] }, '/metadata'],
  [{ metadata: 'x' }, '/metadata'],
  [{ metadata: { a: 'x'.repeat(8_192 - 7) } }, '/metadata'],
  [{ metadata: { a: 'é'.repeat(4_093) } }, '/metadata'],
  [{ headers: [] }, '/headers'],
  [{ headers: { 'x-a': 5 } }, '/headers/x-a'],
  [{ headers: { 'x-a': null } }, '/headers/x-a'],
  [{ headers: { '': 'x' } }, '/headers/'],
  [{ headers: { 'x a': 'x' } }, '/headers/x a'],
  [{ headers: { 'x-ä': 'x' } }, '/headers/x-ä'],
  [{ headers: { ['x'.repeat(65)]: 'x' } }, `/headers/${'x'.repeat(65)}`],
  [{ headers: { 'x-a': 'é' } }, '/headers/x-a'],
  [{ headers: { 'x-a': 'a\r\nb: c' } }, '/headers/x-a'],
  [{ headers: { 'x-a': 'x'.repeat(2_049) } }, '/headers/x-a'],
  [{ headers: { 'x-a': '1', 'X-A': '2' } }, '/headers/X-A'],
  [{ headers: { 'x-a': '***' } }, '/headers/x-a'],
  [{ headers: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`x-${n}`, 'v'])) }, '/headers'],
  [
    {
      headers: Object.fromEntries(Array.from({ length: 4 }, (_, n) => [`x-${n}`, 'v'.repeat(n === 0 ? 2_046 : 2_045)])),
    },
    '/headers',
  ],
];

test('a field that is missing, unknown, of the wrong type or out of range is named', async () => {
  for (const [fields, param] of INVALID) {
    const body = param === '/url' ? fields : { url: URL_OK, ...fields };
    const error = await refuse('invalid_request', body);
    assert.equal(error.param, param, JSON.stringify(fields).slice(0, 100));
  }
});

test('headers of the protocol, of the service, of Standard Webhooks and of Svix are refused in any case', async () => {
  const names = [
    'webhook-id',
    'Webhook-Signature',
    'postrider-attempt',
    'Content-Type',
    'content-anything',
    'Proxy-Authorization',
    'host',
    'User-Agent',
    'connection',
    'keep-alive',
    'Transfer-Encoding',
    'te',
    'trailer',
    'upgrade',
    'Expect',
    'accept-encoding',
    'svix-id',
    'Svix-Timestamp',
    'svix-signature',
  ];
  for (const name of names) {
    const error = await refuse('invalid_request', { url: URL_OK, headers: { [name]: 'x' } });
    assert.equal(error.param, `/headers/${name}`);
  }
});

test('limits hold at their edge', async () => {
  await create({ url: URL_OK, name: '😀'.repeat(256) });
  await create({ url: URL_OK, metadata: { a: 'x'.repeat(8_192 - 8) } });
  // White space and escapes do not count: what counts is the minified text.
  const metadata = `{ "a" :\n "${'\\u0061'.repeat(8_192 - 8)}" }`;
  await api.expect(201, 'POST', '/v1/destinations', { body: `{"url":"${URL_OK}","metadata":${metadata}}` });
  for (const [count, length] of [
    [20, 1],
    [4, 2_045],
  ] as const) {
    const headers = Array.from({ length: count }, (_, n) => [`x-${n}`, 'v'.repeat(length)]);
    await create({ url: URL_OK, headers: Object.fromEntries(headers) as Json });
  }
  await create({ url: URL_OK, headers: { ['x'.repeat(64)]: `\t ~${'v'.repeat(2_045)}`, 'x-empty': '' } });
  for (const schedule_seconds of [[], Array.from({ length: 50 }, () => 1)]) {
    await create({ url: URL_OK, retry_policy: { schedule_seconds } });
  }
  await create({ url: URL_OK, retry_policy: { max_attempts: 51, initial_seconds: 1, factor: 1 } });
});

test('PATCH replaces what it names, keeps the rest, and null clears', async () => {
  const { json } = await create({ url: URL_OK, name: 'a', metadata: { a: 1, b: 2 }, rate_per_second: 5 });
  const id = String(json.id);
  api.clock.advance(1_000);
  const changed = await patch(id, { metadata: { c: 3 }, retry_policy: { jitter: 0.5 }, max_in_flight: 7 });
  assert.deepEqual([changed.json.name, changed.json.metadata, changed.json.max_in_flight], ['a', { c: 3 }, 7]);
  assert.notEqual(changed.json.updated_at, changed.json.created_at);
  const cleared = await patch(id, {
    name: null,
    metadata: null,
    retry_policy: null,
    max_in_flight: null,
    rate_per_second: null,
  });
  const { name, metadata, retry_policy, max_in_flight, rate_per_second, signing_secret } = cleared.json;
  assert.deepEqual([name, metadata, retry_policy, max_in_flight, rate_per_second], [null, {}, null, 50, null]);
  assert.equal(signing_secret, undefined);
  assert.deepEqual((await read(id)).json, cleared.json);
});

test('PATCH without fields changes nothing', async () => {
  const id = await addDestination(api, { eventType: null });
  const unchanged = await read(id);
  api.clock.advance(1_000);
  assert.deepEqual((await patch(id, {})).json, unchanged.json);
  assert.deepEqual((await api.expect(200, 'PATCH', `/v1/destinations/${id}`)).json, unchanged.json);
});

test('PATCH pauses and reactivates', async () => {
  const id = await addDestination(api, { eventType: null });
  const paused = await patch(id, { status: 'paused' });
  assert.deepEqual([paused.json.status, paused.json.paused_reason], ['paused', 'manual']);
  const active = await patch(id, { status: 'active' });
  assert.deepEqual([active.json.status, active.json.paused_reason], ['active', null]);
  for (const status of ['deleted', null, 1]) {
    const error = await api.refuse('invalid_request', 'PATCH', `/v1/destinations/${id}`, { body: { status } });
    assert.equal(error.param, '/status');
  }
});

test('PATCH of the URL is checked as at creation', async () => {
  const id = await addDestination(api, { eventType: null });
  assert.equal((await patch(id, { url: 'https://example.org' })).json.url, 'https://example.org/');
  for (const url of ['', 'http://example.com', 'https://127.0.0.1']) {
    await api.refuse('invalid_url', 'PATCH', `/v1/destinations/${id}`, { body: { url } });
  }
  await api.refuse('invalid_request', 'PATCH', `/v1/destinations/${id}`, { body: { url: null } });
});

test('"***" in a PATCH keeps the stored value of a header, whatever the case of its name', async () => {
  const id = await addDestination(api, { eventType: null, headers: { 'X-Keep': 'secret', 'x-drop': 'gone' } });
  const { json } = await patch(id, { headers: { 'x-keep': '***', 'x-new': 'fresh' } });
  assert.deepEqual(json.headers, { 'x-keep': '***', 'x-new': '***' });
  const stored = await api.store.readDestination({ environment: 1, id: id as `dst_${string}` });
  assert.deepEqual(stored!.headers, { 'x-keep': 'secret', 'x-new': 'fresh' });
  const error = await api.refuse('invalid_request', 'PATCH', `/v1/destinations/${id}`, {
    body: { headers: { 'x-unknown': '***' } },
  });
  assert.equal(error.param, '/headers/x-unknown');
  assert.deepEqual((await patch(id, { headers: null })).json.headers, {});
});

test('a kept header counts with its stored length', async () => {
  const headers = Object.fromEntries([0, 1, 2].map((n) => [`x-${n}`, 'v'.repeat(2_045)]));
  const id = await addDestination(api, { eventType: null, headers });
  const kept = { 'x-0': '***', 'x-1': '***', 'x-2': '***' };
  await patch(id, { headers: { ...kept, 'x-3': 'v'.repeat(2_045) } });
  const body = { headers: { ...kept, 'x-3': 'v'.repeat(2_046) } };
  assert.equal((await api.refuse('invalid_request', 'PATCH', `/v1/destinations/${id}`, { body })).param, '/headers');
});

test('a deleted destination is gone, with its subscriptions', async () => {
  const id = await addDestination(api);
  const { text, headers } = await api.expect(204, 'DELETE', `/v1/destinations/${id}`);
  assert.deepEqual([text, headers['content-type']], ['', undefined]);
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    await api.refuse('destination_not_found', method, `/v1/destinations/${id}`);
  }
  const { json } = await api.expect(200, 'GET', `/v1/subscriptions?destination_id=${id}`);
  assert.deepEqual(json.data, []);
});

test('a destination of the other mode does not exist', async () => {
  const id = await addDestination(api, { eventType: null });
  const key = await api.makeKey({ mode: 'test' });
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    await api.refuse('destination_not_found', method, `/v1/destinations/${id}`, { key });
  }
  const { json } = await api.expect(200, 'GET', '/v1/destinations', { key });
  assert.ok((json.data as Json[]).every((row) => row.id !== id));
  await read(id);
});

test('the list is filtered by status', async () => {
  const id = await addDestination(api, { eventType: null });
  await patch(id, { status: 'paused' });
  const { json: paused } = await api.expect(200, 'GET', '/v1/destinations?status=paused');
  assert.deepEqual(
    (paused.data as Json[]).map((row) => row.id),
    [id],
  );
  const { json: active } = await api.expect(200, 'GET', '/v1/destinations?status=active&limit=100');
  assert.ok((active.data as Json[]).every((row) => row.status === 'active' && row.signing_secret === undefined));
  assert.equal((await api.refuse('invalid_request', 'GET', '/v1/destinations?status=deleted')).param, 'status');
});

test('the style of signatures is changed and read back everywhere, and null is the standard one', async () => {
  const { json } = await create({ url: URL_OK, signature_style: 'svix' });
  const id = String(json.id);
  assert.equal((await patch(id, { signature_style: null })).json.signature_style, 'standard');
  assert.equal((await patch(id, { signature_style: 'svix' })).json.signature_style, 'svix');
  assert.equal((await patch(id, { name: 'something else' })).json.signature_style, 'svix');
  assert.equal((await read(id)).json.signature_style, 'svix');
  const { json: page } = await api.expect(200, 'GET', '/v1/destinations');
  assert.equal((page.data as Json[]).find((row) => row.id === id)!.signature_style, 'svix');
});

test('a header that was stored under a name of Svix must go before the style is svix', async () => {
  const id = await addDestination(api, { eventType: null });
  const [change, now] = [{ headers: { 'Svix-Id': 'mine' } }, api.clock.now()];
  await api.store.updateDestination({ environment: 1, id: id as DestinationId, change, now });
  const body = { signature_style: 'svix' };
  const error = await api.refuse('invalid_request', 'PATCH', `/v1/destinations/${id}`, { body });
  assert.equal(error.param, '/headers/Svix-Id');
  await patch(id, { signature_style: 'svix', headers: {} });
});

const secretOf = (bytes: number): string => `whsec_${Buffer.alloc(bytes, 251).toString('base64')}`;

test('a secret that is brought along signs, is in the answer to creation, and is never shown again', async () => {
  for (const bytes of [24, 32, 33, 64]) {
    const { json } = await create({ url: URL_OK, signing_secret: secretOf(bytes) });
    assert.equal(json.signing_secret, secretOf(bytes));
    const stored = await api.store.readDestination({ environment: 1, id: json.id as DestinationId });
    assert.deepEqual(
      stored!.signingKeys.map(({ secret }) => Buffer.from(secret)),
      [Buffer.alloc(bytes, 251)],
    );
    assert.ok(!('signing_secret' in (await read(String(json.id))).json));
  }
});

test('a secret of another form or length is refused, by its name and without its text', async () => {
  const body = secretOf(32).slice('whsec_'.length);
  const wrong = [
    '',
    'whsec_',
    body,
    `WHSEC_${body}`,
    `whsec_${body.slice(0, -1)}`,
    `whsec_${body.replaceAll('+', '-')}`,
    ` whsec_${body}`,
    `whsec_${body}\n`,
    `whsec_${body.slice(0, 8)} ${body.slice(8)}`,
    `whsec_${body.slice(0, -2)}/=`,
    secretOf(23),
    secretOf(65),
    secretOf(10_000),
  ];
  for (const secret of wrong) {
    const error = await refuse('invalid_request', { url: URL_OK, signing_secret: secret });
    assert.equal(error.param, '/signing_secret', secret);
    assert.ok(!JSON.stringify(error).includes(body.slice(0, 20)), secret);
  }
  const id = await addDestination(api, { eventType: null });
  const call = { body: { signing_secret: secretOf(32) } };
  assert.equal((await api.refuse('invalid_request', 'PATCH', `/v1/destinations/${id}`, call)).param, '/signing_secret');
});
