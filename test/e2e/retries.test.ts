// The retry schedule in real time, with delays of a second: when attempts go out, how a delivery dies of its last one,
// comes back from the DLQ, and what its history tells.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Api, type Attempt, type Delivery, type Page } from './api.ts';
import { startReceiver, type Received } from './receiver.ts';
import { Service } from './service.ts';

/** A due attempt goes out within a second. */
const LATE_MS_MAX = 1_000;
/** Clocks are read in whole milliseconds, on both sides. */
const ROUNDING_MS = 2;

describe('retries', { concurrency: true }, () => {
  const service = new Service();
  const api = new Api(service);
  before(() => service.start());
  after(() => service.end());

  test('fire within a second of due, counted from the end of the failed attempt', async (t) => {
    const receiver = await startReceiver(t, (request) => {
      // The time the receiver takes is not part of the delay.
      setTimeout(() => request.answer(500), 300);
    });
    await api.subscribed(receiver.url, 'schedule.fixed', { retry_policy: { schedule_seconds: [1, 2], jitter: 0 } });
    const id = await api.publishToOne('schedule.fixed');
    await receiver.arrived(3);
    const { retries } = await api.deliveryEnds(id);
    checkDelays(receiver.requests, retries, [1_000, 2_000], 0);
  });

  test('come later by the jitter, never sooner', async (t) => {
    const receiver = await startReceiver(t, (request) => request.answer(404));
    await api.subscribed(receiver.url, 'schedule.jitter', { retry_policy: { schedule_seconds: [1], jitter: 1 } });
    const ids = await Promise.all(Array.from({ length: 10 }, () => api.publishToOne('schedule.jitter')));
    await receiver.arrived(20);
    const delays = [];
    for (const id of ids) {
      const { retries } = await api.deliveryEnds(id);
      const arrivals = receiver.requests.filter(({ deliveryId }) => deliveryId === id);
      delays.push(...checkDelays(arrivals, retries, [1_000], 1));
    }
    assert.ok(Math.max(...delays) - Math.min(...delays) > 50, `${delays.join(', ')} ms are all alike`);
  });

  test('exhausted, a delivery is dead; replayed from the DLQ, it has a fresh schedule and its history', async (t) => {
    const receiver = await startReceiver(t, answerInTurn);
    const destination = await api.subscribed(receiver.url, 'schedule.exhausted', {
      retry_policy: { schedule_seconds: [1, 1], jitter: 0 },
    });
    const id = await api.publishToOne('schedule.exhausted');

    const waiting = await api.deliveryWhen(id, ({ attempt_count: count }) => count === 1);
    const second = await receiver.arrival(({ attempt }) => attempt === 2);
    assert.equal(waiting.status, 'retrying');
    const [first] = waiting.retries;
    assert.equal(
      Date.parse(waiting.next_attempt_at!),
      Date.parse(first!.started_at) + first!.duration_ms + 1_000,
      'the next attempt is announced',
    );

    second.answer(502, { body: Buffer.from([0xff, 0x00, 0xfe, 0x0a]) });

    const dead = await api.deliveryEnds(id);
    assert.deepEqual(stateOf(dead), ['dead', 'exhausted', null, 3, 2, [500, 502, 404]]);
    const listed = await api.expect<Page<Delivery>>(200, 'GET', `/v1/dlq?destination_id=${destination.id}`);
    const { retries, ...row } = dead;
    assert.deepEqual(listed.data, [row]);
    checkHistory(retries);

    const replayed = await api.replayDead(id);
    assert.deepEqual(stateOf(replayed), ['pending', null, replayed.next_attempt_at, 3, 2, [500, 502, 404]]);
    assert.ok(replayed.next_attempt_at !== null && replayed.completed_at === null);
    const delivered = await api.deliveryEnds(id);
    assert.deepEqual(stateOf(delivered), ['succeeded', null, null, 5, 4, [500, 502, 404, 500, 201]]);
    assert.deepEqual(
      receiver.requests.map(({ attempt }) => attempt),
      [1, 2, 3, 4, 5],
    );
    for (const request of receiver.requests) assert.ok(request.body.equals(receiver.requests[0]!.body));
    const last = delivered.retries.at(-1)!;
    assert.equal(last.response_body, 'y'.repeat(1_024), 'of a success 1 KiB is kept');
    assert.equal(last.response_body_truncated, true);
    const left = await api.expect<Page<Delivery>>(200, 'GET', `/v1/dlq?destination_id=${destination.id}`);
    assert.deepEqual(left.data, []);
    const again = await api.send('POST', `/v1/dlq/${id}/replay`);
    assert.deepEqual([again.status, again.body.error.code], [404, 'delivery_not_found']);
  });

  test('are none where the schedule is empty, nor after a success', async (t) => {
    const receiver = await startReceiver(t, (request) => request.answer(request.path === '/bad' ? 500 : 299));
    await api.subscribed(`${receiver.url}bad`, 'schedule.empty', { retry_policy: { schedule_seconds: [] } });
    await api.subscribed(`${receiver.url}good`, 'schedule.good', { retry_policy: { schedule_seconds: [1] } });
    const bad = await api.deliveryEnds(await api.publishToOne('schedule.empty'));
    const good = await api.deliveryEnds(await api.publishToOne('schedule.good'));
    assert.deepEqual(stateOf(bad), ['dead', 'exhausted', null, 1, 0, [500]]);
    assert.deepEqual(stateOf(good), ['succeeded', null, null, 1, 0, [299]]);
  });
});

function stateOf(delivery: Delivery): unknown[] {
  const {
    status,
    dead_reason: reason,
    next_attempt_at: next,
    attempt_count: attempts,
    retry_count: retries,
  } = delivery;
  return [status, reason, next, attempts, retries, delivery.response_codes];
}

/** Holds arrivals and history against the schedule; returns the delays as the history has them. */
function checkDelays(arrivals: Received[], retries: Attempt[], delaysMs: number[], jitter: number): number[] {
  assert.equal(arrivals.length, delaysMs.length + 1);
  assert.equal(retries.length, delaysMs.length + 1);
  return delaysMs.map((delayMs, index) => {
    const seen = arrivals[index + 1]!.at - arrivals[index]!.answeredAt!;
    assert.ok(seen >= delayMs - ROUNDING_MS, `attempt ${index + 2} came ${seen} ms after the answer to the last`);
    const previous = retries[index]!;
    const delay = Date.parse(retries[index + 1]!.started_at) - Date.parse(previous.started_at) - previous.duration_ms;
    const latest = delayMs * (1 + jitter) + LATE_MS_MAX;
    assert.ok(delay <= latest, `attempt ${index + 2} came ${delay} ms after, later than ${latest}`);
    return delay;
  });
}

const LONG = 'x'.repeat(16_383);

/** 500 with text, nothing until the test does, 404 with a long text; after the replay 500, then 201. */
function answerInTurn(request: Received): void {
  const headers = { 'set-cookie': ['a=1', 'b=2'], 'x-trace': 'é' };
  if (request.attempt === 1) request.answer(500, { headers, body: 'naïve 😀\u0000' });
  else if (request.attempt === 3) request.answer(404, { body: `${LONG}é${LONG}` });
  else if (request.attempt === 4) request.answer(500);
  else if (request.attempt === 5) request.answer(201, { body: 'y'.repeat(2_000) });
}

function checkHistory(retries: Attempt[]): void {
  const [text, bytes, long] = retries as [Attempt, Attempt, Attempt];
  for (const [index, attempt] of retries.entries()) {
    assert.equal(attempt.attempt, index + 1);
    assert.equal(attempt.trigger, 'schedule');
    assert.equal(attempt.outcome, 'bad_status');
    assert.ok(attempt.duration_ms >= 0 && attempt.error !== null && attempt.error.length <= 500);
  }
  assert.deepEqual(bodyOf(text), ['naïve 😀\u0000', 'utf8', false]);
  assert.deepEqual(text.response_headers!['set-cookie'], ['a=1', 'b=2']);
  assert.deepEqual(text.response_headers!['x-trace'], ['é']);
  assert.deepEqual(bodyOf(bytes), ['/wD+Cg==', 'base64', false]);
  // Cut in the middle of the é, which is dropped: it is still text.
  assert.deepEqual(bodyOf(long), [LONG, 'utf8', true]);
}

function bodyOf(attempt: Attempt): unknown[] {
  return [attempt.response_body, attempt.response_body_encoding, attempt.response_body_truncated];
}
