// POST /v1/deliveries/{id}/retry: one attempt now, whatever the delivery's status and whether or not its destination
// is paused, and never two at a time.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Api, type Delivery, type DeliveryWithRetries, type Page } from './api.ts';
import { hold, ok, startReceiver } from './receiver.ts';
import { Service } from './service.ts';

const ONCE = { retry_policy: { schedule_seconds: [] } };
const IN_AN_HOUR = { retry_policy: { schedule_seconds: [3_600, 3_600], jitter: 0 } };

describe('a manual retry', { concurrency: true }, () => {
  const service = new Service();
  const api = new Api(service);
  before(() => service.start());
  after(() => service.end());

  test('goes out while its destination is paused, which stays paused and holds the rest', async (t) => {
    const receiver = await startReceiver(t);
    const destination = await api.subscribed(receiver.url, 'retry.paused', IN_AN_HOUR);
    await api.change(destination.id, { status: 'paused' });
    const id = await api.publishToOne('retry.paused');
    const other = await api.publishToOne('retry.paused');

    assert.equal((await api.retry(id)).status, 'retrying');
    const delivered = await api.deliveryEnds(id);
    assert.deepEqual(summaryOf(delivered), ['succeeded', null, ['manual 200']]);
    assert.equal(receiver.requests[0]!.attempt, 1);
    assert.equal((await api.readDestination(destination.id)).status, 'paused');

    receiver.respond = (request) => request.answer(500);
    await api.retry(other);
    const failed = await api.deliveryWhen(other, ({ attempt_count: count }) => count === 1);
    assert.deepEqual([failed.status, failed.next_attempt_at], ['retrying', null], 'held again');

    // The failed forced attempt used up no delay: the schedule begins when the destination is active again.
    await api.change(destination.id, { status: 'active' });
    const scheduled = await api.deliveryWhen(other, ({ attempt_count: count }) => count === 2);
    assert.deepEqual(summaryOf(scheduled), ['retrying', null, ['manual 500', 'schedule 500']]);
    assert.equal(receiver.requests.length, 3);
  });

  test('of a delivery that is on the wire adds nothing', async (t) => {
    const receiver = await startReceiver(t, hold);
    await api.subscribed(receiver.url, 'retry.on-wire', IN_AN_HOUR);
    const [succeeding, failing] = [await api.publishToOne('retry.on-wire'), await api.publishToOne('retry.on-wire')];
    await receiver.arrived(2);
    const answers = await Promise.all([succeeding, failing, failing, succeeding].map((id) => api.retry(id)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['retrying', 'retrying', 'retrying', 'retrying'],
    );

    const [first, second] = receiver.requests;
    for (const request of [first!, second!]) request.answer(request.deliveryId === failing ? 500 : 200);
    assert.deepEqual(summaryOf(await api.deliveryEnds(succeeding)), ['succeeded', null, ['schedule 200']]);
    const failed = await api.deliveryWhen(failing, ({ attempt_count: count }) => count === 1);
    assert.deepEqual(summaryOf(failed), ['retrying', null, ['schedule 500']]);
    assert.ok(Date.parse(failed.next_attempt_at!) > Date.now() + 3_000_000, 'the schedule goes on');
    await fence(receiver, 'retry.on-wire');
    assert.equal(receiver.requests.length, 3);
  });

  test('of a succeeded delivery ends succeeded, whether it fails or not', async (t) => {
    const receiver = await startReceiver(t);
    await api.subscribed(receiver.url, 'retry.succeeded', IN_AN_HOUR);
    const first = await api.deliveryEnds(await api.publishToOne('retry.succeeded'));
    receiver.respond = (request) => request.answer(500);
    assert.deepEqual(summaryOf(await api.retry(first.id)), ['retrying', null]);
    const failed = await api.deliveryWhen(first.id, ({ attempt_count: count }) => count === 2);
    assert.deepEqual(summaryOf(failed), ['succeeded', null, ['schedule 200', 'manual 500']]);
    assert.equal(failed.completed_at, first.completed_at);
    assert.equal(failed.next_attempt_at, null);
    receiver.respond = ok;
    await api.retry(first.id);
    const again = await api.deliveryWhen(first.id, ({ attempt_count: count }) => count === 3);
    assert.deepEqual(summaryOf(again), ['succeeded', null, ['schedule 200', 'manual 500', 'manual 200']]);
    assert.deepEqual(
      receiver.requests.map(({ attempt }) => attempt),
      [1, 2, 3],
    );
    assert.equal(new Set(receiver.requests.map(({ eventId }) => eventId)).size, 1);
  });

  test('of a dead delivery revives it by success, and leaves it dead for the same reason by failure', async (t) => {
    const receiver = await startReceiver(t, (request) => request.answer(request.attempt < 3 ? 500 : 200));
    const destination = await api.subscribed(receiver.url, 'retry.dead', ONCE);
    const { id } = await api.deliveryEnds(await api.publishToOne('retry.dead'));
    assert.deepEqual(summaryOf(await api.retry(id)), ['retrying', null]);
    const stillDead = await api.deliveryWhen(id, ({ attempt_count: count }) => count === 2);
    assert.deepEqual(summaryOf(stillDead), ['dead', 'exhausted', ['schedule 500', 'manual 500']]);
    await api.retry(id);
    const alive = await api.deliveryWhen(id, ({ attempt_count: count }) => count === 3);
    assert.deepEqual(summaryOf(alive), ['succeeded', null, ['schedule 500', 'manual 500', 'manual 200']]);
    const dlq = await api.expect<Page<Delivery>>(200, 'GET', `/v1/dlq?destination_id=${destination.id}`);
    assert.deepEqual(dlq.data, []);
  });

  test('between scheduled attempts leaves the schedule as it was', async (t) => {
    const receiver = await startReceiver(t, (request) => request.answer(500));
    await api.subscribed(receiver.url, 'retry.between', IN_AN_HOUR);
    const id = await api.publishToOne('retry.between');
    const first = await api.deliveryWhen(id, ({ attempt_count: count }) => count === 1);
    await api.retry(id);
    const failed = await api.deliveryWhen(id, ({ attempt_count: count }) => count === 2);
    assert.deepEqual(summaryOf(failed), ['retrying', null, ['schedule 500', 'manual 500']]);
    assert.equal(failed.next_attempt_at, first.next_attempt_at);
  });

  test('asked for many times at once is made once', async (t) => {
    const receiver = await startReceiver(t);
    await api.subscribed(receiver.url, 'retry.twice', ONCE);
    const { id } = await api.deliveryEnds(await api.publishToOne('retry.twice'));
    receiver.respond = hold;
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.retry(id)));
    for (const { status } of answers) assert.equal(status, 'retrying');
    const [, second] = await receiver.arrived(2);
    receiver.respond = ok;
    await fence(receiver, 'retry.twice');
    second!.answer(204);
    const delivered = await api.deliveryEnds(id);
    assert.deepEqual(summaryOf(delivered), ['succeeded', null, ['schedule 200', 'manual 204']]);
    assert.equal(receiver.requests.filter(({ deliveryId }) => deliveryId === id).length, 2);
  });

  test('keeps to max_in_flight, and goes ahead of all that waits', async (t) => {
    const receiver = await startReceiver(t, hold);
    await api.subscribed(receiver.url, 'retry.queue', { ...ONCE, max_in_flight: 1 });
    const ids = [];
    for (let n = 0; n < 5; n++) ids.push(await api.publishToOne('retry.queue'));
    await receiver.arrived(1);
    await api.retry(ids[3]!);
    await fence(await startReceiver(t), 'retry.fence');
    assert.equal(receiver.requests.length, 1, 'there is no room');
    for (let n = 0; n < 5; n++) (await receiver.arrived(n + 1))[n]!.answer(200);
    assert.equal(receiver.requests[1]!.deliveryId, ids[3]);
    assert.deepEqual(receiver.requests.map(({ deliveryId }) => deliveryId).toSorted(), ids.toSorted());
  });

  test('of what is not there is a 404', async () => {
    for (const id of ['dlv_01h455vb4pex5vsknk084sn02q', 'evt_01h455vb4pex5vsknk084sn02q', 'nothing']) {
      const answer = await api.send('POST', `/v1/deliveries/${id}/retry`);
      assert.deepEqual([answer.status, answer.body.error.code], [404, 'delivery_not_found']);
    }
  });

  /** A later event has been delivered to this receiver: whatever was to come first it has come. */
  async function fence(receiver: Awaited<ReturnType<typeof startReceiver>>, type: string): Promise<void> {
    if (type === 'retry.fence') await api.subscribed(receiver.url, type);
    receiver.respond = ok;
    const id = await api.publishToOne(type);
    await receiver.arrival(({ deliveryId }) => deliveryId === id, 'the fence');
  }
});

function summaryOf(delivery: Delivery | DeliveryWithRetries): unknown[] {
  const summary: unknown[] = [delivery.status, delivery.dead_reason];
  if (!('retries' in delivery)) return summary;
  return [...summary, delivery.retries.map(({ trigger, response_code: code }) => `${trigger} ${code}`)];
}
