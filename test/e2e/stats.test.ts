// Stats across stops and crashes of a real service: a stop loses nothing, kill -9 only what was not stored yet, and
// nothing counts twice.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { decodeCounts } from '../../src/stats/counts.ts';
import { Api } from './api.ts';
import { hold, startReceiver } from './receiver.ts';
import { startService } from './service.ts';

type Point = {
  events_accepted: number;
  deliveries_scheduled: number;
  deliveries_succeeded: number;
  attempts: Record<string, number>;
  first_attempt_seconds: { p50: number | null };
};
type Health = { state: string; success_rate_1h: number | null; last_success_at: string | null; last_failure: unknown };
type Now = { events_per_second: number; success_rate: number | null; destinations: object; troubles: unknown[] };

/** Of the last two hours, for one may end meanwhile. */
async function totals(api: Api, query = '') {
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const { data } = await api.expect<{ data: Point[] }>(200, 'GET', `/v1/stats?step=1h&since=${since}${query}`);
  const sum = (valueOf: (point: Point) => number): number => data.reduce((all, point) => all + valueOf(point), 0);
  return {
    accepted: sum((point) => point.events_accepted),
    scheduled: sum((point) => point.deliveries_scheduled),
    succeeded: sum((point) => point.deliveries_succeeded),
    attempts: sum((point) => point.attempts.succeeded!),
  };
}

const ofAll = (count: number) => ({ accepted: count, scheduled: count, succeeded: count, attempts: count });

describe('stats', () => {
  test('outlive a stop whole, and a crash as far as they were stored', async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    const receiver = await startReceiver(t, (request) => request.answer(200));
    const destination = await api.subscribed(receiver.url, 'order.paid');
    const deliver = async (count: number): Promise<void> => {
      const ids: string[] = [];
      for (let i = 0; i < count; i++) ids.push(await api.publishToOne('order.paid', { i }));
      for (const id of ids) await api.deliveryEnds(id);
    };
    const healthy = async (): Promise<Health> => {
      const health = await api.expect<Health>(200, 'GET', `/v1/destinations/${destination.id}/health`);
      assert.deepEqual([health.state, health.success_rate_1h, health.last_failure], ['healthy', 1, null]);
      return health;
    };

    await deliver(5);
    // An answer may be there before the result that ended it is told to those who count.
    await api.eventually(
      () => totals(api),
      ({ attempts }) => attempts === 5,
    );
    const now = await api.expect<Now>(200, 'GET', '/v1/stats/now');
    assert.ok(now.events_per_second > 0 && now.success_rate === 1);
    assert.deepEqual([now.destinations, now.troubles], [{ active: 1, paused: 0, failing: 0 }, []]);
    const before = await healthy();
    await service.stop();
    await service.start();
    assert.deepEqual(await totals(api), ofAll(5));
    assert.deepEqual(await totals(api, '&event_type=order.paid'), ofAll(5));
    assert.deepEqual(await totals(api, `&destination_id=${destination.id}`), { ...ofAll(5), accepted: 0 });
    assert.equal((await healthy()).last_success_at, before.last_success_at);

    await deliver(3);
    await api.eventually(
      () => totals(api),
      ({ attempts }) => attempts === 8,
    );
    await stored(service.dataDir, 8);
    await deliver(1);
    await service.kill();
    await service.start();
    const left = await totals(api);
    assert.ok(left.attempts >= 8 && left.attempts <= 9, `${left.attempts} of 8 stored and 1 more`);
    assert.equal(left.accepted, left.scheduled);
  });

  test('tell no destination idle whose first request is on the wire', async (t) => {
    const api = new Api(await startService(t));
    const receiver = await startReceiver(t, hold);
    const destination = await api.subscribed(receiver.url, 'order.paid');
    const idle = async (): Promise<string[]> => {
      const { data } = await api.expect<{ data: { id: string }[] }>(200, 'GET', '/v1/destinations?state=idle');
      return data.map(({ id }) => id);
    };
    assert.deepEqual(await idle(), [destination.id]);
    const delivery = await api.publishToOne('order.paid');
    await receiver.arrived(1);
    const path = `/v1/destinations/${destination.id}/health`;
    const { state, summary, in_flight } = await api.expect<Record<string, unknown>>(200, 'GET', path);
    assert.deepEqual({ state, summary, in_flight }, { state: 'healthy', summary: 'works; 1 waits', in_flight: 1 });
    assert.deepEqual(await idle(), []);
    receiver.requests[0]!.answer(200);
    await api.deliveryEnds(delivery);
  });
});

/** Resolves when so many attempts stand in the store. */
async function stored(dataDir: string, attempts: number): Promise<void> {
  const db = new DatabaseSync(join(dataDir, 'postrider.db'), { readOnly: true });
  const select = db.prepare('SELECT counts FROM stats WHERE span = 1 AND kind = 0');
  const count = (): number =>
    select.all().reduce((sum, row) => sum + decodeCounts(row.counts as Uint8Array).attemptCount(), 0);
  try {
    const endsAt = Date.now() + 60_000;
    while (count() < attempts) {
      assert.ok(Date.now() < endsAt, 'counts are stored within a minute');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    db.close();
  }
}
