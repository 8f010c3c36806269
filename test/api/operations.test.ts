import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { StoreError, type Store } from '../../src/store/store.ts';
import { addDestination, postEvent, startApi, type Api } from './harness.ts';
import type { Answer as Answered } from '../../src/api/services.ts';

let api: Api;
before(async () => {
  api = await startApi();
});
after(() => api.close());

const OPEN = { key: null };

test('health, readiness, metrics and the OpenAPI document need no key', async () => {
  assert.deepEqual((await api.expect(200, 'GET', '/healthz', OPEN)).json, { status: 'ok' });
  assert.deepEqual((await api.expect(200, 'GET', '/readyz', OPEN)).json, { status: 'ready' });
  const metrics = await api.expect(200, 'GET', '/metrics', OPEN);
  assert.match(metrics.text, /^postrider_events_accepted_total 0$/m);
  assert.equal(metrics.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  const { json } = await api.expect(200, 'GET', '/openapi.json', OPEN);
  assert.equal(json.openapi, '3.1.0');
});

test('the cluster shows its nodes, what they own, and what is still to be sent', async () => {
  await addDestination(api);
  for (let i = 0; i < 3; i++) await postEvent(api);
  const { json } = await api.expect(200, 'GET', '/v1/cluster');
  const [node] = json.data as Record<string, unknown>[];
  assert.deepEqual(
    [node!.shards_owned, node!.last_heartbeat_at, json.shards_free, json.backlog],
    [256, new Date(api.clock.now()).toISOString(), 0, 3],
  );
});

test('a service that is not ready says why', async () => {
  const other = await startApi({ readiness: () => ({ ready: false, reasons: ['the store is away', 'starting'] }) });
  const { json } = await other.expect(503, 'GET', '/readyz', OPEN);
  assert.match(JSON.stringify(json), /the store is away; starting/);
  await other.expect(200, 'GET', '/healthz', OPEN);
  await other.close();
});

test('METRICS_TOKEN closes the metrics', async () => {
  const other = await startApi({ metricsToken: 'm3trics' });
  await other.refuse('unauthorized', 'GET', '/metrics', OPEN);
  for (const key of ['wrong', await other.makeKey(), 'm3tric', 'm3tricss']) {
    await other.refuse('unauthorized', 'GET', '/metrics', { key });
  }
  await other.expect(200, 'GET', '/metrics', { key: 'm3trics' });
  await other.close();
});

/** An API whose store fails in one method. */
async function startFailing(method: keyof Store, error: Error): Promise<Api> {
  const failing = await startApi();
  (failing.store as Record<keyof Store, unknown>)[method] = () => Promise.reject(error);
  return failing;
}

test('a store that is away, full or lets nobody in is 503, also for one event of a batch', async () => {
  for (const code of ['unavailable', 'disk_full', 'unwritable'] as const) {
    const failing = await startFailing('acceptEvents', new StoreError(code, 'SQLITE_FULL: /secret/path'));
    const event = { type: 'a.b', body: {} };
    const error = await failing.refuse('unavailable', 'POST', '/v1/events', { body: event });
    assert.doesNotMatch(error.message, /secret/);
    const { json } = await failing.expect(200, 'POST', '/v1/events/batch', { body: { events: [event] } });
    assert.match(JSON.stringify(json), /^\{"data":\[\{"status":503,"error":\{"code":"unavailable"/);
    await failing.close();
  }
});

test('that the store is away is told in the log, with the cause, once a minute', async () => {
  const failing = await startFailing('acceptEvents', new StoreError('unavailable', 'no connection is left'));
  const tell = async () => {
    for (let n = 0; n < 3; n++)
      await failing.refuse('unavailable', 'POST', '/v1/events', { body: { type: 'a.b', body: {} } });
    return failing.logged.flatMap(({ level, fields: { err } }) => (level === 'error' ? String(err) : []));
  };
  const once = ['StoreError: no connection is left'];
  assert.deepEqual(await tell(), once);
  failing.clock.advance(59_000);
  assert.deepEqual(await tell(), once);
  failing.clock.advance(1_000);
  assert.deepEqual(await tell(), [...once, ...once]);
  await failing.close();
});

test('anything unforeseen is internal_error: logged with the request id, and nothing leaks', async () => {
  const failing = await startFailing('listDestinations', new TypeError('SELECT secret FROM keys'));
  const { text, headers } = await failing.expect(500, 'GET', '/v1/destinations');
  assert.doesNotMatch(text, /SELECT|TypeError|\.ts/);
  const entry = failing.logged.find(({ message }) => message === 'a request failed')!;
  assert.equal(entry.fields.request_id, headers['x-request-id']);
  assert.match(String((entry.fields.err as Error).stack), /SELECT secret/);
  await failing.close();
});

test('the log of a request has its route, never its URL or key', async () => {
  const key = await api.makeKey();
  await api.call('GET', '/v1/events/evt_secret?token=secret', { key });
  await api.call('GET', '/secret/path', { key });
  const text = JSON.stringify(api.logged);
  assert.match(text, /"route":"\/v1\/events\/:id","status":400/);
  assert.match(text, /"route":"none","status":404/);
  assert.ok(!text.includes('secret') && !text.includes(key));
});

test('every answer is counted once, by method, path template and status, whatever the request says', async () => {
  const answers: Answered[] = [];
  const other = await startApi({ onAnswered: (answer) => void answers.push(answer) });
  const count = async (method: string, url: string, expected: Answered) => {
    answers.length = 0;
    await other.call(method, url);
    assert.deepEqual(answers, [expected], `${method} ${url}`);
  };
  const id = 'dst_01kg9qz3xefa3vqtdw5f0bz7ra';
  await count('GET', '/healthz', { method: 'GET', route: '/healthz', status: 200 });
  await count('HEAD', '/healthz', { method: 'HEAD', route: '/healthz', status: 200 });
  await count('GET', `/v1/destinations/${id}?x=1`, { method: 'GET', route: '/v1/destinations/{id}', status: 400 });
  await count('DELETE', `/v1/destinations/${id}`, { method: 'DELETE', route: '/v1/destinations/{id}', status: 404 });
  await count('POST', '/v1/events', { method: 'POST', route: '/v1/events', status: 400 });
  await count('GET', `/v1/${id}`, { method: 'GET', route: 'none', status: 404 });
  await count('PUT', '/v1/events', { method: 'other', route: 'none', status: 405 });
  await other.close();
});
