// Pausing, changing and deleting a destination while its deliveries wait, are on the wire, or are to be retried.
import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import { Api, type Delivery, type Destination, type Event } from './api.ts';
import { hold, ok, startReceiver } from './receiver.ts';
import { Service } from './service.ts';

const IN_AN_HOUR = { retry_policy: { schedule_seconds: [3_600], jitter: 0 } };

describe('a destination', { concurrency: true }, () => {
  const service = new Service();
  const api = new Api(service);
  before(() => service.start());
  after(() => service.end());

  test('that is paused holds its deliveries, and sends them when it is active again', async (t) => {
    const receiver = await startReceiver(t, hold);
    const destination = await api.subscribed(receiver.url, 'pause.hold', {
      retry_policy: { schedule_seconds: [1, 1], jitter: 0 },
    });
    const tried = await api.publishToOne('pause.hold');
    const [request] = await receiver.arrived(1);
    const paused = await api.change(destination.id, { status: 'paused' });
    assert.deepEqual([paused.status, paused.paused_reason], ['paused', 'manual']);
    request!.answer(404);
    await api.deliveryWhen(tried, ({ attempt_count: count }) => count === 1);
    const fresh = await Promise.all([1, 2, 3].map(() => api.publishToOne('pause.hold')));
    for (const id of fresh) assert.deepEqual(heldState(await api.delivery(id)), ['pending', 0, null]);
    assert.deepEqual(heldState(await api.delivery(tried)), ['retrying', 1, null]);
    // Two retries of another delivery that began later: by then this one's first retry would have come.
    await outlast(t, 2);
    assert.deepEqual(heldState(await api.delivery(tried)), ['retrying', 1, null]);
    assert.equal(receiver.requests.length, 1);

    receiver.respond = ok;
    const active = await api.change(destination.id, { status: 'active' });
    assert.deepEqual([active.status, active.paused_reason], ['active', null]);
    for (const id of [tried, ...fresh]) assert.equal((await api.deliveryEnds(id)).status, 'succeeded');
    assert.deepEqual(
      receiver.requests.map(({ attempt }) => attempt).toSorted((a, b) => a - b),
      [1, 1, 1, 1, 2],
      'no attempt was spent',
    );
  });

  test('that is paused lets finish what is on the wire', async (t) => {
    const receiver = await startReceiver(t, hold);
    const destination = await api.subscribed(receiver.url, 'pause.on-wire');
    const id = await api.publishToOne('pause.on-wire');
    const [request] = await receiver.arrived(1);
    await api.change(destination.id, { status: 'paused' });
    request!.answer(200);
    assert.equal((await api.deliveryEnds(id)).status, 'succeeded');
  });

  test('that moves gets the next attempts at its new URL, with its new headers', async (t) => {
    const old = await startReceiver(t, hold);
    const moved = await startReceiver(t);
    const destination = await api.subscribed(old.url, 'move.all', {
      retry_policy: { schedule_seconds: [1], jitter: 0 },
      headers: { 'X-Tenant': 'acme', 'X-Region': 'eu' },
    });
    const ids = await Promise.all(Array.from({ length: 10 }, () => api.publishToOne('move.all')));
    await old.arrived(10);
    const headers = { 'X-Tenant': '***', 'X-Zone': 'b' };
    const changed = await api.change(destination.id, { url: `${moved.url}hooks?v=2`, headers });
    assert.deepEqual(changed.headers, { 'X-Tenant': '***', 'X-Zone': '***' });
    for (const request of old.requests) request.answer(404);
    for (const id of ids) assert.equal((await api.deliveryEnds(id)).status, 'succeeded');
    assert.equal(old.requests.length, 10);
    for (const request of old.requests) {
      assert.deepEqual([request.headers['x-tenant'], request.headers['x-region']], ['acme', 'eu']);
    }
    for (const { attempt, path, headers: sent } of moved.requests) {
      assert.deepEqual([attempt, path], [2, '/hooks?v=2']);
      assert.deepEqual([sent['x-tenant'], sent['x-zone'], sent['x-region']], ['acme', 'b', undefined]);
    }
  });

  test('gets as many requests at once as its new limit says', async (t) => {
    const receiver = await startReceiver(t, hold);
    const destination = await api.subscribed(receiver.url, 'change.limit', { max_in_flight: 2 });
    const ids = await Promise.all(Array.from({ length: 12 }, () => api.publishToOne('change.limit')));
    await receiver.arrived(2);
    await api.change(destination.id, { max_in_flight: 5 });
    await receiver.arrived(5);
    await api.change(destination.id, { max_in_flight: 1 });
    // Four more than are allowed now: the next goes out only when the last of the five has been answered.
    for (const [index, request] of receiver.requests.slice(0, 5).entries()) {
      assert.equal(receiver.requests.length, 5, `${5 - index} are on the wire`);
      request.answer(200);
      await api.deliveryEnds(request.deliveryId);
    }
    for (let n = 5; n < 12; n++) (await receiver.arrived(n + 1))[n]!.answer(200);
    for (const id of ids) assert.equal((await api.deliveryEnds(id)).attempt_count, 1);
  });

  test('waits as long for an answer as its new timeout says', async (t) => {
    const receiver = await startReceiver(t, hold);
    const destination = await api.subscribed(receiver.url, 'change.timeout', {
      retry_policy: { schedule_seconds: [1, 1, 1], jitter: 0 },
    });
    const id = await api.publishToOne('change.timeout');
    const [request] = await receiver.arrived(1);
    await api.change(destination.id, { retry_policy: { schedule_seconds: [1], timeout_seconds: 1 } });
    request!.answer(404);
    const { status, dead_reason: reason, retries } = await api.deliveryEnds(id);
    assert.deepEqual([status, reason], ['dead', 'exhausted'], 'the attempt that was made counts');
    assert.deepEqual([retries[1]!.outcome, retries[1]!.response_code], ['timed_out', null]);
    assert.ok(retries[1]!.duration_ms >= 999 && retries[1]!.duration_ms < 5_000);
    await receiver.requests[1]!.closed;
    assert.ok(receiver.requests[1]!.isGivenUp);
  });

  test('that is deleted gets nothing more; what was on the wire is aborted and recorded', async (t) => {
    const receiver = await startReceiver(t, hold);
    const destination = await api.subscribed(receiver.url, 'delete.on-wire', { ...IN_AN_HOUR, max_in_flight: 3 });
    const ids = await Promise.all(Array.from({ length: 8 }, () => api.publishToOne('delete.on-wire')));
    const requests = await receiver.arrived(3);
    const { status } = await api.send('DELETE', `/v1/destinations/${destination.id}`);
    assert.equal(status, 204);
    await Promise.all(requests.map(({ closed }) => closed));
    for (const request of requests) assert.ok(request.isGivenUp);

    const onWire = requests.map(({ deliveryId }) => deliveryId);
    for (const id of onWire) {
      const delivery = await api.deliveryWhen(id, ({ attempt_count: count }) => count === 1);
      assert.deepEqual(
        delivery.retries.map(({ outcome, response_code: code }) => [outcome, code]),
        [['cancelled', null]],
      );
    }
    for (const id of ids) {
      const delivery = await api.delivery(id);
      assert.deepEqual([delivery.status, delivery.dead_reason], ['dead', 'destination_deleted']);
      assert.equal(delivery.next_attempt_at, null);
      assert.ok(delivery.completed_at !== null);
      assert.equal(delivery.attempt_count, onWire.includes(id) ? 1 : 0);
    }
    await checkDeleted(destination, ids, await api.delivery(ids[0]!));
    assert.equal(receiver.requests.length, 3);
  });

  test('that is deleted as it answers: each delivery ends one way, and nothing is sent after', async (t) => {
    const receiver = await startReceiver(t, hold);
    const destination = await api.subscribed(receiver.url, 'delete.race', { ...IN_AN_HOUR, max_in_flight: 20 });
    const ids = await Promise.all(Array.from({ length: 30 }, () => api.publishToOne('delete.race')));
    const requests = await receiver.arrived(20);
    receiver.respond = ok;
    const deleting = api.send('DELETE', `/v1/destinations/${destination.id}`);
    for (const request of requests) {
      request.answer(200);
      await new Promise(setImmediate);
    }
    assert.equal((await deleting).status, 204);
    const arrived = receiver.requests.length;
    const ends = new Map<string, number>();
    for (const id of ids) {
      const { status, dead_reason: reason, retries } = await api.delivery(id);
      const [attempt] = retries;
      const end = [status, reason, attempt?.outcome ?? 'not sent'].join(' ');
      assert.ok(ENDS_OF_DELETED.includes(end), end);
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
    t.diagnostic(JSON.stringify(Object.fromEntries(ends)));
    await outlast(t, 1);
    const late = receiver.requests.slice(arrived).filter(({ isGivenUp }) => !isGivenUp);
    assert.equal(late.length, 0, 'no attempt began after the 204');
  });

  /** What else is to be said of a deleted destination and its deliveries. */
  async function checkDeleted(destination: Destination, ids: string[], delivery: Delivery): Promise<void> {
    const gone = await api.send('GET', `/v1/destinations/${destination.id}`);
    assert.deepEqual([gone.status, gone.body.error.code], [404, 'destination_not_found']);
    assert.equal((await api.send('DELETE', `/v1/destinations/${destination.id}`)).status, 404);
    const listed = await api.all<Delivery>(`/v1/deliveries?destination_id=${destination.id}`);
    assert.deepEqual(
      listed.map(({ id, status }) => `${id} ${status}`).toSorted(),
      ids.map((id) => `${id} dead`).toSorted(),
    );
    const dlq = await api.all<Delivery>(`/v1/dlq?destination_id=${destination.id}`);
    assert.deepEqual(dlq, await api.all<Delivery>(`/v1/deliveries?destination_id=${destination.id}&status=dead`));
    assert.equal(dlq.length, ids.length);
    assert.deepEqual(await api.all(`/v1/subscriptions?destination_id=${destination.id}`), []);
    for (const path of [`/v1/deliveries/${delivery.id}/retry`, `/v1/dlq/${delivery.id}/replay`]) {
      const answer = await api.send('POST', path);
      assert.deepEqual([answer.status, answer.body.error.code], [404, 'destination_not_found'], path);
    }
    const event = await api.expect<Event>(200, 'GET', `/v1/events/${delivery.event_id}`);
    assert.deepEqual(
      event.deliveries.map(({ status }) => status),
      ['dead'],
    );
    const replay = await api.send('POST', `/v1/events/${delivery.event_id}/replay`, {
      destination_ids: [destination.id],
    });
    assert.deepEqual([replay.status, replay.body.error.code], [422, 'destination_not_subscribed']);
    assert.deepEqual((await api.publish(delivery.event_type)).deliveries, []);
  }

  /** Returns when a destination of its own has had so many retries, a second apart, all of them since the call. */
  async function outlast(t: TestContext, retries: number): Promise<void> {
    const receiver = await startReceiver(t, (request) => request.answer(404));
    const type = `outlast.${new URL(receiver.url).port}`;
    const schedule = Array.from({ length: retries }, () => 1);
    await api.subscribed(receiver.url, type, { retry_policy: { schedule_seconds: schedule, jitter: 0 } });
    await api.deliveryEnds(await api.publishToOne(type));
  }
});

/** Answered before the deletion was stored; answered too late to change anything; cut off; never begun. */
const ENDS_OF_DELETED = [
  'succeeded  succeeded',
  'dead destination_deleted succeeded',
  'dead destination_deleted cancelled',
  'dead destination_deleted not sent',
];

function heldState(delivery: Delivery): unknown[] {
  return [delivery.status, delivery.attempt_count, delivery.next_attempt_at];
}
