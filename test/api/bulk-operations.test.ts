// Asking for many at once: what is checked, what is answered, and what an operation can be told. Nothing works on the
// operations here: the service is not started.
import assert from 'node:assert/strict';
import { after, before as beforeAll, beforeEach, describe, it } from 'node:test';
import type { DeliveryId } from '../../src/model/id.ts';
import { attempt, die, retryAt } from '../store/scene.ts';
import { DAY_MS, addDestination, postEvent, startApi, type Answer, type Api, type Json } from './harness.ts';

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
after(() => api.close());

const SINCE = '2020-01-01T00:00:00.000Z';

/** A delivery that has died, or waits for a retry. */
async function addDelivery(destination: string, how: 'dead' | 'retrying' = 'dead', event: Json = {}): Promise<string> {
  const { json } = await postEvent(api, event);
  const { id } = (json.deliveries as Json[]).find((one) => one.destination_id === destination)!;
  const now = api.clock.now();
  const decision = how === 'dead' ? die('exhausted', now) : retryAt(now + DAY_MS);
  const result = { id: id as DeliveryId, rev: 0, attempt: attempt(), decision };
  await api.store.recordResults({ results: [result], health: [], now });
  return id as string;
}

const ask = (path: string, body: Json = {}): Promise<Answer> => api.expect(202, 'POST', path, { body });
const count = async (path: string, body: Json = {}): Promise<Json> =>
  (await api.expect(200, 'POST', path, { body: { ...body, dry_run: true } })).json;

describe('POST /v1/dlq/replay', () => {
  let destination: string;
  beforeEach(async () => {
    destination = await addDestination(api, { eventType: 'order.**' });
  });

  it('answers 202 with the operation, and where to follow it', async () => {
    await addDelivery(destination);
    const { json, headers } = await ask('/v1/dlq/replay', { destination_id: destination, since: '2020-01-01' });
    const { id, created_at: at, ...operation } = json;
    assert.match(id as string, /^op_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
    assert.equal(headers.location, `/v1/operations/${id as string}`);
    assert.deepEqual(operation, {
      kind: 'dlq_replay',
      status: 'running',
      request: { destination_id: destination, since: SINCE, per_second: 100 },
      total: 1,
      done: 0,
      failed: 0,
      skipped: 0,
      updated_at: at,
      finished_at: null,
      created_by: operation.created_by,
    });
    assert.match(operation.created_by as string, /^key_/);
    assert.deepEqual((await api.expect(200, 'GET', `/v1/operations/${id as string}`)).json, json);
  });

  it('counts in a dry run what it would be about, and changes nothing', async () => {
    const before = api.clock.now();
    await addDelivery(destination);
    api.clock.advance(60_000);
    await addDelivery(destination, 'dead', { type: 'order.sent' });
    await addDelivery(destination, 'retrying');
    const [oldest, newest] = [new Date(before).toISOString(), new Date(api.clock.now()).toISOString()];
    const all = { destination_id: destination };
    assert.deepEqual(await count('/v1/dlq/replay', all), { count: 2, oldest, newest });
    const filters: [Json, number][] = [
      [{ event_type: 'order.sent' }, 1],
      [{ event_type: 'order.*' }, 2],
      [{ event_type: 'user.**' }, 0],
      [{ dead_reason: 'exhausted' }, 2],
      [{ dead_reason: 'gone' }, 0],
      [{ since: newest }, 1],
      [{ until: newest }, 1],
      [{ since: newest, until: newest }, 0],
    ];
    for (const [filter, expected] of filters) {
      assert.equal((await count('/v1/dlq/replay', { ...all, ...filter })).count, expected, JSON.stringify(filter));
    }
    const none = await count('/v1/dlq/replay', { ...all, dead_reason: 'gone' });
    assert.deepEqual(none, { count: 0, oldest: null, newest: null });
    const { json } = await api.expect(200, 'GET', `/v1/dlq?destination_id=${destination}`);
    assert.equal((json.data as Json[]).length, 2);
  });

  it('refuses what it does not know', async () => {
    const cases: [Json, string, string][] = [
      [{ event_type: 'order' }, 'invalid_event_type_pattern', '/event_type'],
      [{ destination_id: 'dst_x' }, 'destination_not_found', '/destination_id'],
      [{ dead_reason: 'bored' }, 'invalid_request', '/dead_reason'],
      [{ since: 'yesterday' }, 'invalid_request', '/since'],
      [{ until: '2026-02-30' }, 'invalid_request', '/until'],
      [{ per_second: 0 }, 'invalid_request', '/per_second'],
      [{ per_second: 10_001 }, 'invalid_request', '/per_second'],
      [{ dry_run: 'yes' }, 'invalid_request', '/dry_run'],
      [{ all: true }, 'invalid_request', '/all'],
    ];
    for (const [body, code, param] of cases) {
      const error = await api.refuse(code, 'POST', '/v1/dlq/replay', { body });
      assert.equal(error.param, param, JSON.stringify(body));
    }
    const key = await api.makeKey({ scopes: ['publish', 'read', 'manage', 'admin'] });
    await api.refuse('forbidden', 'POST', '/v1/dlq/replay', { key, body: {} });
  });
});

describe('POST /v1/destinations/{id}/recover', () => {
  it('is about those that are dead and those that wait for a retry', async () => {
    const destination = await addDestination(api, { eventType: 'order.**' });
    await addDelivery(destination);
    await addDelivery(destination, 'retrying');
    await postEvent(api);
    const path = `/v1/destinations/${destination}/recover`;
    assert.equal((await count(path, { since: SINCE })).count, 2);
    const { json } = await ask(path, { since: SINCE, until: '2099-01-01', per_second: 7 });
    assert.equal(json.kind, 'destination_recovery');
    assert.equal(json.total, 2);
    assert.deepEqual(json.request, {
      destination_id: destination,
      since: SINCE,
      until: '2099-01-01T00:00:00.000Z',
      per_second: 7,
    });
  });

  it('needs a beginning, and a destination that is there', async () => {
    const destination = await addDestination(api, { eventType: null });
    const error = await api.refuse('invalid_request', 'POST', `/v1/destinations/${destination}/recover`, { body: {} });
    assert.equal(error.param, '/since');
    await api.expect(204, 'DELETE', `/v1/destinations/${destination}`);
    for (const id of [destination, 'dst_x']) {
      await api.refuse('destination_not_found', 'POST', `/v1/destinations/${id}/recover`, { body: { since: SINCE } });
    }
  });
});

describe('POST /v1/events/replay', () => {
  it('is about the deliveries that old events would make now', async () => {
    const [first, second] = [
      await addDestination(api, { eventType: 'replayed.**' }),
      await addDestination(api, { eventType: 'replayed.twice' }),
    ];
    await postEvent(api, { type: 'replayed.once' });
    await postEvent(api, { type: 'replayed.twice' });
    const path = '/v1/events/replay';
    const all = { since: SINCE, event_type: 'replayed.**' };
    assert.equal((await count(path, all)).count, 3);
    assert.equal((await count(path, { ...all, destination_ids: [second] })).count, 1);
    assert.equal((await count(path, { ...all, event_type: 'replayed.once' })).count, 1);
    assert.equal((await count(path, { ...all, until: SINCE })).count, 0);
    const { json } = await ask(path, { ...all, destination_ids: [first, second], missing_only: true });
    assert.deepEqual([json.kind, json.total], ['event_replay', 3]);
    const request = { ...all, destination_ids: [first, second], missing_only: true, per_second: 100 };
    assert.deepEqual(json.request, request);
  });

  it('with missing_only leaves out whom the event has reached', async () => {
    const destination = await addDestination(api, { eventType: 'missed.*' });
    const reached = await postEvent(api, { type: 'missed.one' });
    await postEvent(api, { type: 'missed.one' });
    const [{ id }] = reached.json.deliveries as [Json];
    const now = api.clock.now();
    const decision = { ...die(), status: 'succeeded' as const, deadReason: null, completedAt: now };
    const result = { id: id as DeliveryId, rev: 0, attempt: attempt(), decision };
    await api.store.recordResults({ results: [result], health: [], now });
    const body = { since: SINCE, event_type: 'missed.*', destination_ids: [destination] };
    assert.equal((await count('/v1/events/replay', body)).count, 2);
    assert.equal((await count('/v1/events/replay', { ...body, missing_only: true })).count, 1);
    // A forced attempt of what has succeeded takes nothing back.
    await api.expect(202, 'POST', `/v1/deliveries/${id as string}/retry`);
    assert.equal((await count('/v1/events/replay', { ...body, missing_only: true })).count, 1);
  });

  it('refuses what it does not know', async () => {
    const destination = await addDestination(api, { eventType: null });
    const cases: [Json, string, string][] = [
      [{}, 'invalid_request', '/since'],
      [{ since: SINCE, event_type: '*' }, 'invalid_event_type_pattern', '/event_type'],
      [{ since: SINCE, destination_ids: [] }, 'invalid_request', '/destination_ids'],
      [{ since: SINCE, destination_ids: null }, 'invalid_request', '/destination_ids'],
      [{ since: SINCE, destination_ids: [destination, 'x'] }, 'destination_not_subscribed', '/destination_ids/1'],
    ];
    for (const [body, code, param] of cases) {
      assert.equal((await api.refuse(code, 'POST', '/v1/events/replay', { body })).param, param, JSON.stringify(body));
    }
  });
});

describe('an operation', () => {
  const path = async (): Promise<string> =>
    `/v1/destinations/${await addDestination(api, { eventType: null })}/recover`;
  const begin = async (): Promise<string> => (await ask(await path(), { since: SINCE })).json.id as string;
  const tell = async (id: string, action: string): Promise<unknown> =>
    (await api.expect(200, 'POST', `/v1/operations/${id}/${action}`)).json.status;

  it('stands in the way of an equal one, however fast that would be, until it has ended', async () => {
    const recover = await path();
    const { json } = await ask(recover, { since: SINCE });
    const id = json.id as string;
    const equal = { since: '2020-01-01T01:00:00+01:00', per_second: 5 };
    const error = await api.refuse('operation_in_progress', 'POST', recover, { body: equal });
    assert.equal((error as Json).operation_id, id);
    await tell(id, 'pause');
    await api.refuse('operation_in_progress', 'POST', recover, { body: equal });
    await ask(recover, { since: '2021-01-01' });
    await api.expect(200, 'POST', recover, { body: { ...equal, dry_run: true } });
    await tell(id, 'cancel');
    await ask(recover, equal);
  });

  it('asked for twice at one time is one', async () => {
    const recover = await path();
    const answers = await Promise.all([1, 2, 3].map(() => api.call('POST', recover, { body: { since: SINCE } })));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [202, 409, 409],
    );
  });

  it('is paused, resumed and cancelled, each as often as one likes', async () => {
    const id = await begin();
    assert.deepEqual([await tell(id, 'pause'), await tell(id, 'pause')], ['paused', 'paused']);
    assert.deepEqual([await tell(id, 'resume'), await tell(id, 'resume')], ['running', 'running']);
    assert.deepEqual([await tell(id, 'cancel'), await tell(id, 'cancel')], ['cancelled', 'cancelled']);
    const { json } = await api.expect(200, 'GET', `/v1/operations/${id}`);
    assert.equal(json.finished_at, json.updated_at);
    for (const action of ['pause', 'resume']) {
      await api.refuse('operation_ended', 'POST', `/v1/operations/${id}/${action}`);
    }
  });

  it('is seen by its environment alone, newest first', async () => {
    const [first, second] = [await begin(), await begin()];
    const page = await api.expect(200, 'GET', '/v1/operations?limit=1');
    assert.deepEqual(
      (page.json.data as Json[]).map(({ id }) => id),
      [second],
    );
    const next = await api.expect(200, 'GET', `/v1/operations?limit=1&cursor=${page.json.next_cursor as string}`);
    assert.deepEqual(
      (next.json.data as Json[]).map(({ id }) => id),
      [first],
    );
    const key = await api.makeKey({ mode: 'test' });
    assert.deepEqual((await api.expect(200, 'GET', '/v1/operations', { key })).json.data, []);
    await api.refuse('not_found', 'GET', `/v1/operations/${first}`, { key });
    await api.refuse('not_found', 'POST', `/v1/operations/${first}/cancel`, { key });
    await api.refuse('not_found', 'GET', '/v1/operations/op_x');
  });

  it('is counted beside fifty others at most', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const countDeliveries = api.store.countDeliveries.bind(api.store);
    api.store.countDeliveries = async (request) => {
      await released;
      return countDeliveries(request);
    };
    const body = { dry_run: true };
    const calls = Array.from({ length: 51 }, () => api.call('POST', '/v1/dlq/replay', { body }));
    const { status, headers } = await Promise.race(calls);
    assert.deepEqual([status, headers['retry-after']], [429, '1']);
    api.store.countDeliveries = countDeliveries;
    release();
    const statuses = (await Promise.all(calls)).map((answer) => answer.status);
    assert.equal(statuses.filter((one) => one === 200).length, 50);
    await api.expect(200, 'POST', '/v1/dlq/replay', { body });
  });

  it('is one of a hundred at most that have not ended', async () => {
    const key = await api.makeKey({ mode: 'test' });
    const recover = `/v1/destinations/${await addDestination(api, { key, eventType: null })}/recover`;
    for (let day = 0; day < 100; day++) {
      const since = new Date(Date.UTC(2020, 0, 1 + day)).toISOString();
      await api.expect(202, 'POST', recover, { key, body: { since } });
    }
    await api.refuse('over_operation_limit', 'POST', recover, { key, body: { since: '2019-01-01' } });
  });
});
