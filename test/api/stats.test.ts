// Stats and health through the API: what was counted of the requests themselves, on a clock that stands still.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { DeliveryId, DestinationId } from '../../src/model/id.ts';
import { encodePulse } from '../../src/stats/activity.ts';
import { attempt, result, retryAt } from '../store/scene.ts';
import { DAY_MS, ENVIRONMENTS, addDestination, postEvent, startApi, type Api, type Json } from './harness.ts';

const MINUTE_MS = 60_000;

let api: Api;
beforeEach(async () => void (api = await startApi()));
afterEach(() => api.close());

const get = async (url: string, key?: string): Promise<Json> =>
  (await api.expect(200, 'GET', url, key === undefined ? {} : { key })).json;
const points = async (query = ''): Promise<Json[]> => (await get(`/v1/stats${query}`)).data as Json[];
const sum = (data: Json[], name: string): number => data.reduce((total, point) => total + (point[name] as number), 0);
const at = (ms: number): string => new Date(ms).toISOString();

describe('GET /v1/stats', () => {
  test('has every step of the last hour, zeros and nulls included, and what was just counted', async () => {
    const destination = await addDestination(api);
    await postEvent(api);
    const { step, data } = (await get('/v1/stats')) as { step: string; data: Json[] };
    assert.equal(step, '1m');
    assert.ok(data.length === 60 || data.length === 61);
    const last = data.at(-1)!;
    assert.equal(last.at, at(Math.floor(api.clock.now() / MINUTE_MS) * MINUTE_MS));
    assert.deepEqual([last.events_accepted, last.deliveries_scheduled], [1, 1]);
    assert.deepEqual(data[0]!.first_attempt_seconds, { p50: null, p95: null, p99: null });
    assert.equal(sum(data, 'events_accepted'), 1);
    const ofDestination = await points(`?destination_id=${destination}`);
    assert.deepEqual([sum(ofDestination, 'events_accepted'), sum(ofDestination, 'deliveries_scheduled')], [0, 1]);
  });

  test('keeps event types apart, and environments', async () => {
    await addDestination(api);
    await postEvent(api, { type: 'order.paid' });
    await postEvent(api, { type: 'order.sent' });
    assert.equal(sum(await points('?event_type=order.paid'), 'events_accepted'), 1);
    assert.equal(sum(await points('?event_type=order.none'), 'events_accepted'), 0);
    assert.equal(sum(await points('?event_type=other'), 'events_accepted'), 0);
    const key = await api.makeKey({ mode: 'test' });
    assert.equal(sum((await get('/v1/stats', key)).data as Json[], 'events_accepted'), 0);
  });

  test('counts under `other` what is not among the 200 busiest types', async () => {
    for (let n = 0; n < 205; n++) {
      await postEvent(api, { type: `busy.t${n}` });
      if (n >= 5) await postEvent(api, { type: `busy.t${n}` });
    }
    assert.equal(sum(await points('?event_type=other'), 'events_accepted'), 5);
    assert.equal(sum(await points('?event_type=busy.t0'), 'events_accepted'), 0);
    assert.equal(sum(await points('?event_type=busy.t204'), 'events_accepted'), 2);
  });

  test('adds up steps that begin at whole multiples', async () => {
    await postEvent(api);
    for (const [step, ms] of [
      ['5m', 5 * MINUTE_MS],
      ['1h', 60 * MINUTE_MS],
      ['1d', DAY_MS],
    ] as const) {
      const data = await points(`?step=${step}&since=${at(api.clock.now() - 3 * ms)}`);
      assert.equal(data.length, 4);
      assert.equal(data.at(-1)!.at, at(Math.floor(api.clock.now() / ms) * ms));
      assert.equal(sum(data, 'events_accepted'), 1);
    }
  });

  test('answers at most 1,500 points, and chooses a step that fits', async () => {
    const since = at(api.clock.now() - 1_501 * MINUTE_MS);
    const { param } = await api.refuse('invalid_request', 'GET', `/v1/stats?step=1m&since=${since}`);
    assert.equal(param, 'step');
    assert.equal((await get(`/v1/stats?since=${since}`)).step, '5m');
    assert.equal((await get(`/v1/stats?since=${at(api.clock.now() - 90 * DAY_MS)}`)).step, '1d');
  });

  test('refuses what it cannot make sense of, and knows nothing of ids that are none', async () => {
    const both = await api.refuse('invalid_request', 'GET', '/v1/stats?destination_id=dst_1&event_type=a.b');
    assert.equal(both.param, 'event_type');
    assert.equal((await api.refuse('invalid_request', 'GET', '/v1/stats?step=2m')).param, 'step');
    assert.equal((await api.refuse('invalid_request', 'GET', '/v1/stats?since=then')).param, 'since');
    assert.equal(sum(await points('?destination_id=dst_1'), 'deliveries_scheduled'), 0);
    for (const type of ['', 'order', 'order.*', '**', 'others']) {
      const refused = await api.refuse('invalid_event_type', 'GET', `/v1/stats?event_type=${type}`);
      assert.equal(refused.param, 'event_type');
    }
    const key = await api.makeKey({ scopes: ['publish'] });
    await api.refuse('forbidden', 'GET', '/v1/stats', { key });
    await api.refuse('forbidden', 'GET', '/v1/stats/now', { key });
  });

  test('has minutes for 48 hours, and before that whole hours in the first of their steps', async () => {
    await postEvent(api);
    const then = api.clock.now();
    api.clock.advance(50 * 60 * MINUTE_MS);
    const range = `since=${at(then - 60 * MINUTE_MS)}&until=${at(then + 60 * MINUTE_MS)}`;
    const data = await points(`?step=5m&${range}`);
    const [found] = data.filter((point) => point.events_accepted === 1);
    assert.equal(sum(data, 'events_accepted'), 1);
    assert.equal(found!.at, at(Math.floor(then / (60 * MINUTE_MS)) * 60 * MINUTE_MS));
  });
});

describe('GET /v1/stats/now', () => {
  test('tells rates, what waits, and destinations by state', async () => {
    const [first] = [await addDestination(api), await addDestination(api, { eventType: null })];
    await postEvent(api);
    await api.expect(200, 'PATCH', `/v1/destinations/${first}`, { body: { status: 'paused' } });
    const now = await get('/v1/stats/now');
    assert.equal(now.events_per_second, 1 / 60);
    assert.deepEqual([now.pending, now.retrying, now.held, now.in_flight], [1, 0, 1, 0]);
    assert.equal(now.success_rate, null);
    assert.equal(now.dead_24h, 0);
    assert.deepEqual(now.destinations, { active: 1, paused: 1, failing: 0 });
    const [trouble] = now.troubles as Json[];
    assert.equal(trouble!.destination_id, first);
    assert.equal(trouble!.state, 'paused');
    assert.equal(trouble!.summary, 'paused by hand; 1 waits');
    assert.equal(trouble!.unfinished, 1);
  });

  test('has at most twenty troubles, failing ones first, then by how much waits', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 22; n++) ids.push(await addDestination(api, { eventType: `kind.n${n}` }));
    for (const [n, id] of ids.entries()) {
      for (let i = 0; i < (n === 3 ? 3 : 1); i++) await postEvent(api, { type: `kind.n${n}` });
      if (n > 0) await api.expect(200, 'PATCH', `/v1/destinations/${id}`, { body: { status: 'paused' } });
    }
    await fail(ids[0]!);
    const { troubles } = (await get('/v1/stats/now')) as { troubles: Json[] };
    assert.equal(troubles.length, 20);
    assert.deepEqual(
      troubles.slice(0, 2).map((one) => [one.destination_id, one.state, one.unfinished]),
      [
        [ids[0], 'failing', 1],
        [ids[3], 'paused', 3],
      ],
    );
  });

  test('finds what waits among very many that fail', async () => {
    const kinds = new Map([515, 516, 517, 518, 519].map((n, i) => [n, { type: `kind.n${n}`, count: i + 1 }]));
    const ids: DestinationId[] = [];
    for (let n = 0; n < 520; n++) {
      const { type = null, count = 0 } = kinds.get(n) ?? {};
      ids.push((await addDestination(api, { eventType: type })) as DestinationId);
      for (let i = 0; i < count; i++) await postEvent(api, { type: type! });
    }
    const now = api.clock.now();
    const health = ids.map((destinationId) => ({ destinationId, failingSince: now, failureCount: 3, heldUntil: null }));
    await api.store.recordResults({ results: [], health, now });
    const { destinations, troubles } = (await get('/v1/stats/now')) as { destinations: Json; troubles: Json[] };
    assert.equal(destinations['failing'], 520);
    assert.deepEqual(
      troubles.map((one) => [one.destination_id, one.unfinished]),
      [5, 4, 3, 2, 1].map((count) => [ids[514 + count], count]),
    );
  });
});

/** As recording three failed attempts of its first delivery leaves it. */
async function fail(id: string): Promise<void> {
  const destinationId = id as DestinationId;
  const { data } = (await get(`/v1/deliveries?destination_id=${id}`)) as { data: { id: DeliveryId }[] };
  await api.store.recordResults({
    results: [
      { ...result(data[0]!.id, 0, retryAt(api.clock.now() + 40_000)), attempt: attempt({ outcome: 'connect_failed' }) },
    ],
    health: [{ destinationId, failingSince: api.clock.now(), failureCount: 3, heldUntil: null }],
    now: api.clock.now(),
  });
}

describe('GET /v1/destinations/{id}/health', () => {
  test('of a new destination says that nothing was sent', async () => {
    const id = await addDestination(api);
    assert.deepEqual(await get(`/v1/destinations/${id}/health`), {
      state: 'idle',
      summary: 'nothing was sent in 24 hours',
      success_rate_1h: null,
      success_rate_24h: null,
      attempt_seconds: { p50: null, p95: null, p99: null },
      consecutive_failures: 0,
      failing_since: null,
      last_success_at: null,
      last_failure: null,
      unfinished: 0,
      oldest_due_at: null,
      in_flight: 0,
      in_flight_limit: 50,
      held_until: null,
      next_attempt_at: null,
    });
  });

  test('of one that fails says since when, what waits and when it is tried next', async () => {
    const id = await addDestination(api);
    await postEvent(api);
    await fail(id);
    const health = await get(`/v1/destinations/${id}/health`);
    assert.equal(health.state, 'failing');
    assert.equal(health.failing_since, at(api.clock.now()));
    assert.equal(health.consecutive_failures, 3);
    assert.equal(health.unfinished, 1);
    assert.equal(health.next_attempt_at, at(api.clock.now() + 40_000));
    assert.match(health.summary as string, /^fails since \d\d:\d\d UTC; 1 waits; next try in 40 s$/);
  });

  test('has nothing on the wire of a process that was killed, nor has the whole service', async () => {
    const id = await addDestination(api);
    const now = api.clock.now();
    const report = { destinationId: id as DestinationId, environment: ENVIRONMENTS.live, reportedAt: now };
    const never = { lastAttemptAt: null, lastSuccessAt: null, lastFailure: null };
    await api.store.writeActivity([{ ...report, ...never, inFlight: 5, inFlightLimit: 50 }]);
    const pulse = { events: 60, attempts: 0, succeeded: 0, inFlight: 5, oldestDueAt: now - 1_000 };
    const told = { kind: 'pulse', subject: '', at: now, writer: 7, counts: encodePulse(pulse) } as const;
    await api.store.writeCounts([{ span: 'minute', environment: ENVIRONMENTS.live, ...told }]);
    const { state, in_flight: onWire } = await get(`/v1/destinations/${id}/health`);
    assert.deepEqual([state, onWire], ['idle', 0]);
    const all = await get('/v1/stats/now');
    assert.deepEqual([all.events_per_second, all.in_flight, all.oldest_due_at], [1, 0, null]);
  });

  test('is not found where the destination is not', async () => {
    const id = await addDestination(api);
    await api.refuse('destination_not_found', 'GET', '/v1/destinations/dst_1/health');
    await api.refuse('destination_not_found', 'GET', `/v1/destinations/${id}/health`, {
      key: await api.makeKey({ mode: 'test' }),
    });
  });
});

describe('GET /v1/destinations?state=', () => {
  const list = async (query: string): Promise<Json> => get(`/v1/destinations?${query}`);
  const idsOf = (page: Json): unknown[] => (page.data as Json[]).map(({ id }) => id);

  test('has the destinations of that state, newest first', async () => {
    const [idle, paused, failing] = [await addDestination(api), await addDestination(api), await addDestination(api)];
    await postEvent(api);
    await fail(failing);
    await api.expect(200, 'PATCH', `/v1/destinations/${paused}`, { body: { status: 'paused' } });
    assert.deepEqual(idsOf(await list('state=idle')), [idle]);
    assert.deepEqual(idsOf(await list('state=paused')), [paused]);
    assert.deepEqual(idsOf(await list('state=failing')), [failing]);
    assert.deepEqual(idsOf(await list('state=healthy')), []);
    assert.deepEqual(idsOf(await list('state=failing&status=paused')), []);
    await api.refuse('invalid_request', 'GET', '/v1/destinations?state=broken');
  });

  test('goes on from page to page', async () => {
    const made: string[] = [];
    for (let n = 0; n < 7; n++) made.unshift(await addDestination(api, { eventType: null }));
    const seen: unknown[] = [];
    for (let cursor = ''; ;) {
      const page = await list(`state=idle&limit=3${cursor}`);
      seen.push(...idsOf(page));
      if (page.has_more === false) break;
      cursor = `&cursor=${String(page.next_cursor)}`;
      await api.refuse('invalid_cursor', 'GET', `/v1/destinations?state=failing${cursor}`);
    }
    assert.deepEqual(seen, made);
  });
});
