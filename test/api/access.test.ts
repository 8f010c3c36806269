// Who may call what: 401, 404, 405, 403, in this order, and all before the body is read.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SCOPES, type Scope } from '../../src/model/api-key.ts';
import { startApi, type Api } from './harness.ts';

let api: Api;
before(async () => {
  api = await startApi();
});
after(() => api.close());

const ID = '00000000000000000000000000';

const ROUTES: [scope: Scope, method: string, path: string][] = [
  ['manage', 'POST', '/v1/destinations'],
  ['read', 'GET', '/v1/destinations'],
  ['read', 'GET', `/v1/destinations/dst_${ID}`],
  ['manage', 'PATCH', `/v1/destinations/dst_${ID}`],
  ['manage', 'DELETE', `/v1/destinations/dst_${ID}`],
  ['manage', 'POST', `/v1/destinations/dst_${ID}/signing-keys/rotate`],
  ['read', 'GET', `/v1/destinations/dst_${ID}/signing-keys`],
  ['manage', 'DELETE', `/v1/destinations/dst_${ID}/signing-keys/sgk_${ID}`],
  ['manage', 'POST', `/v1/destinations/dst_${ID}/test`],
  ['read', 'GET', `/v1/destinations/dst_${ID}/health`],
  ['read', 'GET', '/v1/stats'],
  ['read', 'GET', '/v1/stats/now'],
  ['read', 'GET', '/v1/stream?kinds=none'],
  ['manage', 'POST', '/v1/subscriptions'],
  ['read', 'GET', '/v1/subscriptions'],
  ['read', 'GET', `/v1/subscriptions/sub_${ID}`],
  ['manage', 'DELETE', `/v1/subscriptions/sub_${ID}`],
  ['publish', 'POST', '/v1/events'],
  ['publish', 'POST', '/v1/events/batch'],
  ['read', 'GET', '/v1/events'],
  ['read', 'GET', `/v1/events/evt_${ID}`],
  ['operate', 'POST', `/v1/events/evt_${ID}/replay`],
  ['read', 'POST', '/v1/explain'],
  ['read', 'GET', '/v1/deliveries'],
  ['read', 'GET', `/v1/deliveries/dlv_${ID}`],
  ['operate', 'POST', `/v1/deliveries/dlv_${ID}/retry`],
  ['read', 'GET', '/v1/dlq'],
  ['operate', 'POST', '/v1/dlq/replay'],
  ['operate', 'POST', `/v1/destinations/dst_${ID}/recover`],
  ['operate', 'POST', '/v1/events/replay'],
  ['read', 'GET', '/v1/operations'],
  ['read', 'GET', `/v1/operations/op_${ID}`],
  ['operate', 'POST', `/v1/operations/op_${ID}/cancel`],
  ['operate', 'POST', `/v1/operations/op_${ID}/pause`],
  ['operate', 'POST', `/v1/operations/op_${ID}/resume`],
  ['operate', 'POST', `/v1/dlq/dlv_${ID}/replay`],
  ['admin', 'GET', '/v1/api-keys'],
  ['admin', 'POST', '/v1/api-keys'],
  ['admin', 'DELETE', `/v1/api-keys/key_${ID}`],
  ['admin', 'GET', '/v1/cluster'],
];

test('the table above is all of /v1', () => {
  const { paths } = api.app.openapi();
  const documented = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method} ${path}`),
  );
  assert.equal(documented.filter((route) => route.includes(' /v1/')).length, ROUTES.length);
});

test('without a valid key there is nothing but 401', async () => {
  const key = await api.makeKey({ expiresAt: api.clock.now() + 1_000 });
  const wrong = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
  const unknown = await (await startApi()).makeKey();
  const headers = [
    '',
    'Bearer',
    'Bearer ',
    `Bearer ${wrong}`,
    `Bearer ${unknown}`,
    `Basic ${key}`,
    key,
    `Bearer ${key} x`,
    `Bearer${key}`,
    `Bearer ${key}${key}`,
    'Bearer pr_live_',
    `Bearer ${key.toLowerCase()}`,
  ];
  for (const [, method, url] of ROUTES) await api.refuse('unauthorized', method, url, { key: null });
  for (const authorization of headers) {
    await api.refuse('unauthorized', 'GET', '/v1/events', { key: null, headers: { authorization } });
  }
  const again = { key: null, headers: { authorization: `bearer  ${key} ` } };
  await api.expect(200, 'GET', '/v1/events', again);
  api.clock.advance(1_000);
  await api.refuse('unauthorized', 'GET', '/v1/events', again);
});

test('each route needs its scope and no other', async () => {
  for (const [scope, method, url] of ROUTES) {
    const without = await api.makeKey({ scopes: SCOPES.filter((other) => other !== scope) });
    const { message } = await api.refuse('forbidden', method, url, { key: without });
    assert.ok(message.includes(`"${scope}"`), message);
    const { status } = await api.call(method, url, { key: await api.makeKey({ scopes: [scope] }) });
    assert.ok(status !== 403 && status !== 401, `${method} ${url} ${status}`);
  }
});

test('scope and key are checked before the body', async () => {
  const body = 'not JSON';
  await api.refuse('unauthorized', 'POST', '/v1/events', { key: null, body });
  await api.refuse('forbidden', 'POST', '/v1/events', { key: await api.makeKey({ scopes: ['read'] }), body });
});

test('under /v1 a path that leads nowhere asks for a key first', async () => {
  const paths = [
    '/v1',
    '/v1/',
    '/v1/nope',
    '/v1/events/x/y/z',
    '/v1/destinations/',
    '/%761/nope',
    '/v1?x=1',
    'http://h/v1/nope',
    '/v1/%zz/x',
    '/v1/nope?%zz',
  ];
  for (const path of paths) {
    await api.refuse('unauthorized', 'GET', path, { key: null });
    if (path !== '/v1/destinations/') await api.refuse('not_found', 'GET', path);
  }
  for (const path of ['/v2/events', '/v1x', '/V1/events', '//v1/events', '/v1%2Fevents', '/%', '/favicon.ico']) {
    await api.refuse('not_found', 'GET', path, { key: null });
  }
});

test('a base URL that has /v1 already, and so has it twice, is told so', async () => {
  const { message } = await api.refuse('not_found', 'GET', '/v1/v1/destinations?limit=1');
  assert.equal(message, 'there is nothing at this path, which has /v1 twice; leave it out of the base URL');
  assert.equal((await api.refuse('not_found', 'GET', '/v1/v1x')).message, 'there is nothing at this path');
});

test('a method that a path does not take is 405 with those that it takes', async () => {
  const cases: [method: string, path: string, allow: string][] = [
    ['PUT', '/v1/destinations', 'GET, HEAD, POST'],
    ['POST', `/v1/destinations/x`, 'GET, HEAD, PATCH, DELETE'],
    ['PUT', `/v1/destinations/dst_${ID}?x=1`, 'GET, HEAD, PATCH, DELETE'],
    ['GET', '/v1/events/x/replay', 'POST'],
    ['HEAD', '/v1/events/x/replay', 'POST'],
    ['OPTIONS', '/v1/events', 'GET, HEAD, POST'],
    ['TRACE', '/v1/events', 'GET, HEAD, POST'],
    ['PROPFIND', '/v1/dlq', 'GET, HEAD'],
    ['QUERY', '/v1/dlq', 'GET, HEAD'],
    ['GET', `/v1/api-keys/key_${ID}`, 'DELETE'],
    ['PATCH', '/v1/%65vents/batch', 'POST'],
    // What would be an id in their place is a route of its own.
    ['GET', '/v1/events/batch', 'POST'],
    ['HEAD', '/v1/events/batch?x=1', 'POST'],
    ['DELETE', '/v1/events/batch', 'POST'],
    ['GET', '/v1/events/%72eplay', 'POST'],
    ['DELETE', '/v1/destinations/x/signing-keys/rotate', 'POST'],
    ['PUT', '/v1/destinations/x/signing-keys/rotate', 'POST'],
    ['PUT', '/v1/destinations/x/signing-keys/x', 'DELETE'],
    ['GET', '/v1/dlq/replay', 'POST'],
  ];
  for (const [method, path, allow] of cases) {
    await api.expect(401, method, path, { key: null });
    const { headers } = await api.expect(405, method, path);
    assert.equal(headers.allow, allow, `${method} ${path}`);
  }
  for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json']) {
    const { headers } = await api.expect(405, 'POST', path, { key: null });
    assert.equal(headers.allow, 'GET, HEAD');
  }
});

test('HEAD answers as GET does, without a body', async () => {
  for (const [path, status] of [
    ['/v1/destinations', 200],
    [`/v1/events/evt_${ID}`, 404],
    ['/healthz', 200],
  ] as const) {
    const get = await api.expect(status, 'GET', path);
    const head = await api.expect(status, 'HEAD', path);
    assert.deepEqual([head.text, head.headers['content-length']], ['', String(Buffer.byteLength(get.text))]);
  }
});
