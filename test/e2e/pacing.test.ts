// How much a destination gets at once and how fast: its own limits, what it asks for by Retry-After, and what the
// service does about one that is gone or fails for long. Measured by the receiver.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Api, type Delivery, type Event } from './api.ts';
import { hold, ok, startReceiver, type Received } from './receiver.ts';
import { Service, startService } from './service.ts';

const IN_AN_HOUR = { retry_policy: { schedule_seconds: [3_600], jitter: 0 } };
const ROUNDING_MS = 2;

describe('a destination', { concurrency: true }, () => {
  const service = new Service();
  const api = new Api(service);
  before(() => service.start());
  after(() => service.end());

  test('gets exactly max_in_flight requests at once while there is more to send', async (t) => {
    const limit = 7;
    const count = 300;
    const open: Received[] = [];
    let openMost = 0;
    const receiver = await startReceiver(t, (request) => {
      openMost = Math.max(openMost, open.push(request));
    });
    await api.subscribed(receiver.url, 'pace.in-flight', { max_in_flight: limit });
    await api.subscribed((await startReceiver(t)).url, 'pace.fence');
    await publishBatch(api, 'pace.in-flight', count);
    for (let answered = 0; answered < count; answered++) {
      // Only when as many are open as may be is one of them answered: fewer would wait here for ever.
      await receiver.arrived(Math.min(answered + limit, count));
      // One too many would be here before a later event is where it belongs.
      if (answered % 50 === 0) await api.deliveryEnds(await api.publishToOne('pace.fence'));
      open.splice((answered * 5) % open.length, 1)[0]!.answer(200);
    }
    assert.equal(openMost, limit);
    assert.equal(receiver.requests.length, count);
  });

  test('gets no more than rate_per_second, but for a burst of a tenth of it', async (t) => {
    const rate = 150;
    const burst = rate / 10;
    const count = 300;
    const receiver = await startReceiver(t);
    const destination = await api.subscribed(receiver.url, 'pace.rate', { rate_per_second: rate });
    const begunAt = Date.now();
    await publishBatch(api, 'pace.rate', count);
    await receiver.arrived(count);
    // An arrival may be late but never early: since the beginning there cannot be more of them than allowed.
    for (const [index, { at }] of receiver.requests.entries()) {
      const allowed = burst + ((at - begunAt + ROUNDING_MS) * rate) / 1_000;
      assert.ok(index + 1 <= allowed, `${index + 1} requests within ${at - begunAt} ms, not ${allowed}`);
    }
    // And in every window of the history, which has the times of the starts.
    const rows = await api.eventually(
      () => api.all<Delivery>(`/v1/deliveries?destination_id=${destination.id}&status=succeeded`),
      ({ length }) => length === count,
    );
    const reads = await Promise.all(rows.map(({ id }) => api.delivery(id)));
    const startedAt = reads.map(({ retries }) => Date.parse(retries[0]!.started_at)).toSorted((a, b) => a - b);
    for (let first = 0; first < count; first++) {
      for (let last = first + burst; last < count; last++) {
        const windowMs = startedAt[last]! - startedAt[first]! + ROUNDING_MS;
        const allowed = burst + (windowMs * rate) / 1_000;
        assert.ok(last - first + 1 <= allowed + 1e-6, `${last - first + 1} starts in ${windowMs} ms, not ${allowed}`);
      }
    }
    const tookMs = startedAt.at(-1)! - startedAt[0]!;
    t.diagnostic(`${count} requests in ${tookMs} ms, of at least ${((count - burst) * 1_000) / rate}`);
  });

  test('that answers 429 with Retry-After is left alone until then, but for a manual retry', async (t) => {
    const receiver = await startReceiver(t, hold);
    await api.subscribed(receiver.url, 'pace.busy', {
      max_in_flight: 1,
      retry_policy: { schedule_seconds: [1], jitter: 0 },
    });
    const refused = await api.publishToOne('pace.busy');
    const [first] = await receiver.arrived(1);
    const held = [await api.publishToOne('pace.busy'), await api.publishToOne('pace.busy')];
    const forced = await api.publishToOne('pace.busy');
    receiver.respond = ok;
    first!.answer(429, { headers: { 'retry-after': '3' } });
    const notBefore = first!.answeredAt! + 3_000;
    const waiting = await api.deliveryWhen(refused, ({ attempt_count: count }) => count === 1);
    assert.ok(Date.parse(waiting.next_attempt_at!) >= notBefore - ROUNDING_MS);
    await api.retry(forced);
    const [, second] = await receiver.arrived(2);
    assert.equal(second!.deliveryId, forced, 'it did not wait');

    for (const id of [refused, ...held]) assert.equal((await api.deliveryEnds(id)).status, 'succeeded');
    for (const { deliveryId, at, attempt } of receiver.requests.slice(1)) {
      if (deliveryId === forced) continue;
      assert.ok(at >= notBefore - ROUNDING_MS, `came ${notBefore - at} ms too early`);
      assert.equal(attempt, deliveryId === refused ? 2 : 1);
    }
  });

  test('that answers 503 with Retry-After gets the other deliveries all the same', async (t) => {
    const receiver = await startReceiver(t, (request) => {
      const later = new Date(Date.now() + 2 * 3_600_000).toUTCString();
      if (receiver.requests.length === 1) request.answer(503, { headers: { 'retry-after': later } });
      else request.answer(200);
    });
    await api.subscribed(receiver.url, 'pace.later', { retry_policy: { schedule_seconds: [1], jitter: 0 } });
    const postponed = await api.publishToOne('pace.later');
    const waiting = await api.deliveryWhen(postponed, ({ attempt_count: count }) => count === 1);
    const patience = Date.parse(waiting.next_attempt_at!) - Date.now();
    assert.ok(patience > 7_100_000 && patience <= 7_200_000, `${patience} ms`);
    for (let n = 0; n < 3; n++)
      assert.equal((await api.deliveryEnds(await api.publishToOne('pace.later'))).status, 'succeeded');
  });

  test('that answers 410 is paused in the step that ends the delivery', async (t) => {
    const receiver = await startReceiver(t, hold);
    const destination = await api.subscribed(receiver.url, 'pace.gone', { ...IN_AN_HOUR, max_in_flight: 2 });
    const ids = await publishBatch(api, 'pace.gone', 5);
    const [gone, other] = await receiver.arrived(2);
    gone!.answer(410, { body: 'moved away' });
    const dead = await api.deliveryEnds(gone!.deliveryId);
    const paused = await api.readDestination(destination.id);
    assert.deepEqual([dead.status, dead.dead_reason, dead.response_codes], ['dead', 'gone', [410]]);
    assert.deepEqual([paused.status, paused.paused_reason], ['paused', 'gone']);
    other!.answer(200);
    assert.equal((await api.deliveryEnds(other!.deliveryId)).status, 'succeeded', 'what was on the wire may finish');
    const waiting = ids.filter((id) => id !== gone!.deliveryId && id !== other!.deliveryId);
    for (const id of waiting) {
      const { status, next_attempt_at: next, attempt_count: count } = await api.delivery(id);
      assert.deepEqual([status, next, count], ['pending', null, 0]);
    }
    receiver.respond = ok;
    await api.change(destination.id, { status: 'active' });
    for (const id of waiting) assert.equal((await api.deliveryEnds(id)).status, 'succeeded');
    assert.equal(receiver.requests.length, 5);
  });
});

test('a destination that only fails for as long as FAILING_AFTER is paused, with a warning', async (t) => {
  const service = await startService(t, { FAILING_AFTER: '2s' });
  const api = new Api(service);
  const receiver = await startReceiver(t, (request) => request.answer(404));
  const schedule = Array.from({ length: 50 }, () => 1);
  const destination = await api.subscribed(receiver.url, 'pace.failing', {
    retry_policy: { schedule_seconds: schedule, jitter: 0 },
  });
  const ids = await publishBatch(api, 'pace.failing', 5);
  const paused = await api.eventually(
    () => api.readDestination(destination.id),
    ({ status }) => status === 'paused',
  );
  assert.equal(paused.paused_reason, 'failing');
  const failures = receiver.requests.length;
  const [first] = receiver.requests;
  assert.ok(failures >= 10, `after ${failures} failures`);
  assert.ok(receiver.requests.at(-1)!.answeredAt! - first!.answeredAt! >= 2_000 - 50, 'not before its time');
  for (const id of ids) {
    const { status, next_attempt_at: next } = await api.deliveryWhen(id, ({ next_attempt_at: at }) => at === null);
    assert.deepEqual([status, next], ['retrying', null]);
  }

  // It has a clean slate when it is active again: one more failure pauses nothing.
  await api.change(destination.id, { status: 'active' });
  await receiver.arrived(failures + ids.length);
  assert.equal((await api.readDestination(destination.id)).status, 'active');
  receiver.respond = ok;
  for (const id of ids) assert.equal((await api.deliveryEnds(id)).status, 'succeeded');
  await service.stop();
  const warnings = service.logEntries().filter(({ level }) => level === 'warn');
  assert.deepEqual(
    warnings.map(({ destination: id, reason }) => [id, reason]),
    [[destination.id, 'failing']],
  );
});

/** Accepts so many events at once, each wanted by one destination. */
async function publishBatch(api: Api, type: string, count: number): Promise<string[]> {
  const events = Array.from({ length: count }, (_, n) => ({ type, body: { n } }));
  const { data } = await api.expect<{ data: { event: Event }[] }>(200, 'POST', '/v1/events/batch', { events });
  return data.map(({ event }) => event.deliveries[0]!.id);
}
