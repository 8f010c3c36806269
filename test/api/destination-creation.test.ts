// What creating a destination checks outside the request: is the URL reachable, is there room for one more.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiServices } from '../../src/api/services.ts';
import { ApiError } from '../../src/model/error.ts';
import { addDestination, startApi } from './harness.ts';

const body = { url: 'https://example.com/hook?a=b' };

/** An API whose probe finds the given thing, and what it was asked. */
async function startProbing(result: 'reachable' | 'unreachable' | 'no_descriptors' | 'rate_limited') {
  const asked: unknown[] = [];
  const probe: ApiServices['probe'] = (request) => {
    asked.push(request);
    return Promise.resolve(result);
  };
  return { api: await startApi({ probe }), asked };
}

test('a URL that is not reachable is refused, and nothing is stored', async () => {
  const { api, asked } = await startProbing('unreachable');
  const error = await api.refuse('url_not_reachable', 'POST', '/v1/destinations', { body });
  assert.equal(error.param, '/url');
  assert.deepEqual(asked, [{ environment: 1, mode: 'live', url: new URL(body.url) }]);
  assert.deepEqual((await api.expect(200, 'GET', '/v1/destinations')).json.data, []);
  await api.close();
});

test('where this node can open no connection nothing is said of the URL', async () => {
  const { api } = await startProbing('no_descriptors');
  const answer = await api.expect(503, 'POST', '/v1/destinations', { body });
  assert.equal(answer.headers['retry-after'], '1');
  await api.close();
});

test('too many probes are rate_limited, with a time to wait', async () => {
  const { api } = await startProbing('rate_limited');
  const answer = await api.expect(429, 'POST', '/v1/destinations', { body });
  assert.match(answer.headers['retry-after']!, /^[1-9]\d*$/);
  await api.close();
});

test('no probe is spent on a request that is refused anyway, nor on a PATCH', async () => {
  const { api, asked } = await startProbing('reachable');
  const key = await api.makeKey({ scopes: ['read'] });
  await api.refuse('forbidden', 'POST', '/v1/destinations', { body, key });
  await api.refuse('invalid_request', 'POST', '/v1/destinations', { body: { ...body, name: 5 } });
  await api.refuse('invalid_request', 'POST', '/v1/destinations', { body: { ...body, headers: { host: 'x' } } });
  await api.refuse('invalid_request', 'POST', '/v1/destinations', {
    body: { ...body, metadata: { a: 'x'.repeat(9_000) } },
  });
  await api.refuse('invalid_url', 'POST', '/v1/destinations', { body: { url: 'https://127.0.0.1' } });
  assert.equal(asked.length, 0);
  const id = await addDestination(api, { eventType: null });
  await api.expect(200, 'PATCH', `/v1/destinations/${id}`, { body: { url: 'https://example.org' } });
  assert.equal(asked.length, 1);
  await api.close();
});

test('over_destination_limit counts per environment, and what was deleted no more', async () => {
  const api = await startApi();
  api.services.limits.maxDestinations = 2;
  const first = await addDestination(api, { eventType: null });
  await addDestination(api, { eventType: null });
  await api.refuse('over_destination_limit', 'POST', '/v1/destinations', { body });
  await addDestination(api, { eventType: null, key: await api.makeKey({ mode: 'test' }) });
  await api.expect(204, 'DELETE', `/v1/destinations/${first}`);
  await addDestination(api, { eventType: null });
  await api.close();
});

test('a change that is stored and not confirmed in time answers 503', async () => {
  const api = await startApi({
    confirmChange: () =>
      Promise.reject(new ApiError('unavailable', 'stored, not yet confirmed', { retryAfterSeconds: 2 })),
  });
  const answer = await api.expect(503, 'POST', '/v1/destinations', { body });
  assert.equal(answer.headers['retry-after'], '2');
  const { json } = await api.expect(200, 'GET', '/v1/destinations');
  assert.equal((json.data as unknown[]).length, 1);
  await api.close();
});

test('every change of the configuration is confirmed before it is answered', async () => {
  const confirmed: unknown[] = [];
  const api = await startApi({ confirmChange: (change) => Promise.resolve(void confirmed.push(change)) });
  const id = await addDestination(api, { eventType: null });
  const subscription = { destination_id: id, event_type: '**' };
  const { json } = await api.expect(201, 'POST', '/v1/subscriptions', { body: subscription });
  await api.expect(200, 'POST', '/v1/subscriptions', { body: subscription });
  await api.expect(204, 'DELETE', `/v1/subscriptions/${String(json.id)}`);
  await api.expect(200, 'PATCH', `/v1/destinations/${id}`, { body: { name: 'x' } });
  await api.expect(201, 'POST', `/v1/destinations/${id}/signing-keys/rotate`);
  await api.expect(204, 'DELETE', `/v1/destinations/${id}`);
  const [environment, destination] = [1, { environment: 1, destinationId: id }];
  const other = { environment, destinationId: null };
  assert.deepEqual(confirmed, [destination, other, other, other, destination, destination, destination]);
  await api.close();
});
