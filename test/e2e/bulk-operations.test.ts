// Operations on thousands of deliveries, with the power going in the middle: each is sent again once, and the counts
// say so.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Api, type Delivery } from './api.ts';
import { startReceiver } from './receiver.ts';
import { startService } from './service.ts';

type Operation = {
  id: string;
  status: string;
  total: number;
  done: number;
  failed: number;
  skipped: number;
};

const EVENTS = 4_000;
const EVENTS_PER_BATCH = 1_000;
const ONE_ATTEMPT = { retry_policy: { schedule_seconds: [] }, max_in_flight: 200 };

async function publish(api: Api, type: string, count: number): Promise<void> {
  for (let first = 0; first < count; first += EVENTS_PER_BATCH) {
    const events = Array.from({ length: Math.min(EVENTS_PER_BATCH, count - first) }, (_, n) => {
      return { type, body: { n: first + n } };
    });
    await api.expect(200, 'POST', '/v1/events/batch', { events });
  }
}

const read = (api: Api, id: string): Promise<Operation> => api.expect<Operation>(200, 'GET', `/v1/operations/${id}`);

const ends = (api: Api, id: string): Promise<Operation> =>
  api.eventually(
    () => read(api, id),
    ({ status }) => status !== 'running',
  );

const countsOf = ({ status, total, done, failed, skipped }: Operation) => [status, total, done, failed, skipped];

describe('an operation', () => {
  test('on thousands of dead deliveries sends each again once, though the power goes twice', async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    const receiver = await startReceiver(t, (request) => request.answer(404));
    await api.subscribed(receiver.url, 'order.paid', ONE_ATTEMPT);
    await publish(api, 'order.paid', EVENTS);
    const dryRun = { dry_run: true, dead_reason: 'exhausted' };
    await api.eventually(
      () => api.expect<{ count: number }>(200, 'POST', '/v1/dlq/replay', dryRun),
      ({ count }) => count === EVENTS,
    );
    // Those who come now are sent again: what dies of that is none of the operation's business.
    const again = new Map<string, number>();
    receiver.respond = (request) => {
      again.set(request.deliveryId, (again.get(request.deliveryId) ?? 0) + 1);
      request.answer(200);
    };
    // A busy machine answers before all are counted; at the end the total is exact.
    const { id } = await api.expect<Operation>(202, 'POST', '/v1/dlq/replay', { per_second: 10_000 });
    for (const part of [0.2, 0.5]) {
      const { done } = await api.eventually(
        () => read(api, id),
        (operation) => operation.done >= part * EVENTS,
      );
      await service.kill();
      t.diagnostic(`killed after ${done} of ${EVENTS}`);
      await service.start();
    }
    assert.deepEqual(countsOf(await ends(api, id)), ['done', EVENTS, EVENTS, 0, 0]);
    await receiver.until(() => again.size === EVENTS, 'every delivery');
    const { data } = await api.eventually(
      () => api.expect<{ data: Delivery[] }>(200, 'GET', '/v1/deliveries?status=pending'),
      (page) => page.data.length === 0,
    );
    assert.deepEqual(data, []);
    // What was on the wire when the power went is sent once more, and nothing else is.
    const attempts = (await api.all<Delivery>('/v1/deliveries')).map(({ attempt_count: count }) => count);
    assert.deepEqual(new Set(attempts), new Set([2]));
    t.diagnostic(`duplicates: ${[...again.values()].filter((count) => count > 1).length}`);
  });

  test('on old events makes each delivery once, though the power goes', async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    const receiver = await startReceiver(t, (request) => request.answer(200));
    const count = 2_000;
    await publish(api, 'order.paid', count);
    await api.subscribed(receiver.url, 'order.*', { max_in_flight: 200 });
    const request = { since: '2020-01-01', missing_only: true, per_second: 10_000 };
    const { id, total } = await api.expect<Operation>(202, 'POST', '/v1/events/replay', request);
    assert.equal(total, count);
    await api.eventually(
      () => read(api, id),
      ({ done }) => done >= count / 4,
    );
    await service.kill();
    await service.start();
    assert.deepEqual(countsOf(await ends(api, id)), ['done', count, count, 0, 0]);
    const deliveries = await api.all<Delivery>('/v1/deliveries');
    assert.equal(new Set(deliveries.map(({ event_id: event }) => event)).size, count);
    assert.equal(deliveries.length, count);
    const { count: left } = await api.eventually(
      () => api.expect<{ count: number }>(200, 'POST', '/v1/events/replay', { ...request, dry_run: true }),
      (found) => found.count === 0,
    );
    assert.equal(left, 0);
  });

  test('keeps to its pace, pauses, goes on, and ends where it is cancelled', async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    const receiver = await startReceiver(t, (request) => request.answer(404));
    const { id: destination } = await api.subscribed(receiver.url, 'order.paid', ONE_ATTEMPT);
    await publish(api, 'order.paid', 60);
    const path = `/v1/destinations/${destination}/recover`;
    await api.eventually(
      () => api.expect<{ count: number }>(200, 'POST', path, { since: '2020-01-01', dry_run: true }),
      ({ count }) => count === 60,
    );
    const startedAt = performance.now();
    const { id } = await api.expect<Operation>(202, 'POST', path, { since: '2020-01-01', per_second: 20 });
    await api.eventually(
      () => read(api, id),
      ({ done }) => done >= 20,
    );
    // At the most a quarter of a second's worth at once, and then twenty a second.
    assert.ok(performance.now() - startedAt > 700);
    const paused = await api.expect<Operation>(200, 'POST', `/v1/operations/${id}/pause`);
    assert.ok(paused.done < 60);
    await service.stop();
    await service.start();
    assert.deepEqual(await read(api, id), paused);
    await api.expect(200, 'POST', `/v1/operations/${id}/resume`);
    const resumed = await api.eventually(
      () => read(api, id),
      ({ done }) => done > paused.done,
    );
    const cancelled = await api.expect<Operation>(200, 'POST', `/v1/operations/${id}/cancel`);
    assert.equal(cancelled.status, 'cancelled');
    assert.ok(cancelled.done >= resumed.done && cancelled.done < 60);
  });

  test('fails when the destination that it is about is deleted', async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    const receiver = await startReceiver(t, (request) => request.answer(404));
    const { id: destination } = await api.subscribed(receiver.url, 'order.paid', ONE_ATTEMPT);
    await publish(api, 'order.paid', 20);
    const path = `/v1/destinations/${destination}/recover`;
    await api.eventually(
      () => api.expect<{ count: number }>(200, 'POST', path, { since: '2020-01-01', dry_run: true }),
      ({ count }) => count === 20,
    );
    const { id } = await api.expect<Operation>(202, 'POST', path, { since: '2020-01-01', per_second: 1 });
    await api.expect(204, 'DELETE', `/v1/destinations/${destination}`);
    const { status, total, done, failed, skipped } = await ends(api, id);
    assert.deepEqual([status, total, failed], ['failed', 20, 0]);
    assert.equal(done + skipped, 20);
  });
});
