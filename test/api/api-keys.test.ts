import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiKey } from '../../src/model/api-key.ts';
import { addDestination, startApi, type Api, type Json } from './harness.ts';

let api: Api;
before(async () => {
  api = await startApi();
});
after(() => api.close());

const create = async (body: Json = {}, key?: string): Promise<Json> =>
  (await api.expect(201, 'POST', '/v1/api-keys', { body, ...(key === undefined ? {} : { key }) })).json;

async function list(key?: string): Promise<Json[]> {
  const call = key === undefined ? {} : { key };
  return (await api.expect(200, 'GET', '/v1/api-keys?limit=100', call)).json.data as Json[];
}

test('a new key works, and its text is shown this once', async () => {
  const { headers, json } = await api.expect(201, 'POST', '/v1/api-keys');
  const { secret, ...row } = json;
  assert.ok(isApiKey(String(secret)));
  assert.equal(headers.location, `/v1/api-keys/${String(row.id)}`);
  assert.deepEqual(row, {
    id: row.id,
    name: null,
    mode: 'live',
    prefix: 'pr_live_',
    last4: String(secret).slice(-4),
    scopes: ['publish', 'read', 'manage', 'operate'],
    created_at: new Date(api.clock.now()).toISOString(),
    expires_at: null,
    last_used_at: null,
  });
  await api.expect(200, 'GET', '/v1/destinations', { key: String(secret) });
  const listed = (await list()).find(({ id }) => id === row.id);
  assert.deepEqual(listed, row);
});

test('every field is kept', async () => {
  const expires_at = new Date(api.clock.now() + 1).toISOString();
  const body = { name: 'CI', mode: 'test', scopes: ['read', 'admin'], expires_at };
  const { name, mode, scopes, expires_at: expiry, prefix } = await create(body);
  assert.deepEqual({ name, mode, scopes, expires_at: expiry }, body);
  assert.equal(prefix, 'pr_test_');
});

test('a field that cannot be is named', async () => {
  const past = new Date(api.clock.now()).toISOString();
  const invalid: [body: Json, param: string][] = [
    [{ name: 5 }, '/name'],
    [{ name: 'x'.repeat(257) }, '/name'],
    [{ mode: 'prod' }, '/mode'],
    [{ scopes: [] }, '/scopes'],
    [{ scopes: 'read' }, '/scopes'],
    [{ scopes: ['write'] }, '/scopes/0'],
    [{ scopes: ['read', 'read'] }, '/scopes'],
    [{ expires_at: 'tomorrow' }, '/expires_at'],
    [{ expires_at: past }, '/expires_at'],
    [{ secret: 'pr_live_x' }, '/secret'],
  ];
  for (const [body, param] of invalid) {
    assert.equal((await api.refuse('invalid_request', 'POST', '/v1/api-keys', { body })).param, param);
  }
});

test('a test key manages test keys only, a live key both', async () => {
  const live = String((await create({ name: 'a live one' })).id);
  const key = await api.makeKey({ mode: 'test' });
  const made = await create({}, key);
  assert.equal(made.mode, 'test');
  await api.refuse('forbidden', 'POST', '/v1/api-keys', { key, body: { mode: 'live' } });
  assert.ok((await list(key)).every(({ mode }) => mode === 'test'));
  const all = (await list()).map(({ id }) => id);
  assert.ok(all.includes(live) && all.includes(made.id));
  await api.refuse('not_found', 'DELETE', `/v1/api-keys/${live}`, { key });
  await api.expect(204, 'DELETE', `/v1/api-keys/${String(made.id)}`);
});

test('a revoked key is refused from the next request on', async () => {
  const { id, secret } = await create();
  const call = { key: String(secret) };
  await api.expect(200, 'GET', '/v1/events', call);
  await api.expect(204, 'DELETE', `/v1/api-keys/${String(id)}`);
  await api.refuse('unauthorized', 'GET', '/v1/events', call);
  await api.refuse('not_found', 'DELETE', `/v1/api-keys/${String(id)}`);
  assert.ok((await list()).every((row) => row.id !== id));
});

test('an id of no key is not_found', async () => {
  const destination = await addDestination(api, { eventType: null });
  for (const id of ['x', destination, 'key_00000000000000000000000000']) {
    await api.refuse('not_found', 'DELETE', `/v1/api-keys/${id}`);
  }
});

test('the last use is known to the minute', async () => {
  const { id, secret } = await create();
  api.clock.advance(90_500);
  await api.expect(200, 'GET', '/v1/events', { key: String(secret) });
  await api.store.touchApiKeys(api.services.authenticator.takeUses());
  const { last_used_at: lastUsedAt } = (await list()).find((row) => row.id === id)!;
  const minute = Math.floor(api.clock.now() / 60_000) * 60_000;
  assert.equal(lastUsedAt, new Date(minute).toISOString());
});

test('a use is reported once a minute', async () => {
  const { authenticator } = api.services;
  const { secret } = await create();
  authenticator.takeUses();
  for (const [advanceMs, uses] of [
    [0, 1],
    [0, 0],
    [60_000, 1],
  ] as const) {
    api.clock.advance(advanceMs);
    authenticator.authenticate(`Bearer ${String(secret)}`);
    assert.equal(authenticator.takeUses().length, uses);
  }
});
