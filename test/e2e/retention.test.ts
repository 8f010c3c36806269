// What time does to the data, with retentions of seconds instead of days: bodies go, then rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Api, type Delivery, type Event, type Page } from './api.ts';
import { hold, startReceiver } from './receiver.ts';
import { startService } from './service.ts';

const IN_AN_HOUR = { retry_policy: { schedule_seconds: [3_600], jitter: 0 } };
const SETTINGS = { BODY_RETENTION: '2s', ROW_RETENTION: '7s' };

test('bodies are erased, what is unfinished expires, and then the rows go', async (t) => {
  const service = await startService(t, SETTINGS);
  const api = new Api(service);
  const good = await startReceiver(t);
  const bad = await startReceiver(t, (request) => request.answer(500));
  const silent = await startReceiver(t, hold);
  const destination = await api.subscribed(good.url, 'old.delivered');
  await api.subscribed(bad.url, 'old.retrying', IN_AN_HOUR);
  await api.subscribed(bad.url, 'old.dead', { retry_policy: { schedule_seconds: [] } });
  await api.subscribed(silent.url, 'old.on-wire', IN_AN_HOUR);
  const paused = await api.subscribed(good.url, 'old.held', IN_AN_HOUR);
  await api.change(paused.id, { status: 'paused' });

  const types = ['old.delivered', 'old.retrying', 'old.dead', 'old.held', 'old.on-wire'];
  const events = await Promise.all(types.map((type) => api.publish(type, { type }, { idempotency_key: type })));
  const ids = events.map(({ deliveries }) => deliveries[0]!.id);
  const [delivered, retrying, dead, held] = ids as [string, string, string, string];

  for (const { event_id: id, type } of events) {
    const erased = await api.eventually(
      () => api.expect<Event & { body: object | null }>(200, 'GET', `/v1/events/${id}`),
      ({ body }) => body === null,
    );
    assert.equal(erased.type, type, 'the rest is still there');
    await assertTooOld('POST', `/v1/events/${id}/replay`, 'event_too_old');
  }
  for (const id of [retrying, held]) {
    const expired = await api.deliveryEnds(id);
    assert.deepEqual([expired.status, expired.dead_reason, expired.next_attempt_at], ['dead', 'expired', null]);
  }
  const isTold = (line: Record<string, unknown>): boolean =>
    line['destination'] === paused.id && line['dead_reason'] === 'expired' && line['count'] === 1;
  await api.eventually(
    async () => service.logEntries(),
    (lines) => lines.some(isTold),
  );
  assert.equal((await api.delivery(delivered)).status, 'succeeded');
  assert.equal((await api.delivery(dead)).dead_reason, 'exhausted');
  for (const id of [delivered, retrying, dead, held]) {
    await assertTooOld('POST', `/v1/deliveries/${id}/retry`, 'delivery_too_old');
  }
  for (const id of [retrying, dead, held]) await assertTooOld('POST', `/v1/dlq/${id}/replay`, 'delivery_too_old');
  // What is on the wire while its event expires may still arrive; it ends either way.
  silent.requests[0]!.answer(200);

  for (const { event_id: id } of events) await goes(`/v1/events/${id}`, 'event_not_found');
  for (const id of ids) await goes(`/v1/deliveries/${id}`, 'delivery_not_found');
  for (const path of ['/v1/events', '/v1/deliveries', '/v1/dlq']) {
    assert.deepEqual((await api.expect<Page<Delivery>>(200, 'GET', path)).data, []);
  }
  assert.equal((await api.readDestination(destination.id)).status, 'active', 'configuration has no age');
  const next = await api.publish('old.delivered', { type: 'new' }, { idempotency_key: 'new' });
  assert.equal((await api.deliveryEnds(next.deliveries[0]!.id)).status, 'succeeded');
  assert.equal(good.requests.length, 2, 'nothing was sent again');

  async function assertTooOld(method: string, path: string, code: string): Promise<void> {
    const answer = await api.send(method, path, {});
    assert.deepEqual([answer.status, answer.body.error.code], [410, code], path);
  }

  async function goes(path: string, code: string): Promise<void> {
    const gone = await api.eventually(
      () => api.send('GET', path),
      ({ status }) => status === 404,
    );
    assert.equal(gone.body.error.code, code);
  }
});
