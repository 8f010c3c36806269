// Every method of the client, on a real service.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  DeliveryNotFoundError,
  DestinationNotFoundError,
  ForbiddenError,
  JsonText,
  OperationEndedError,
  OperationInProgressError,
  Postrider,
  RotationInProgressError,
  SubscriptionNotFoundError,
  webhooks,
  type DeliveryWithRetries,
} from '../../sdk/typescript/src/postrider.ts';
import { ERRORS } from '../../src/model/error.ts';
import * as exported from '../../sdk/typescript/src/postrider.ts';
import { ok, Receiver } from '../e2e/receiver.ts';
import { runCommand, Service } from '../e2e/service.ts';

const service = new Service();
const receiver = new Receiver(ok);
let client: Postrider;
before(async () => {
  await Promise.all([service.start(), receiver.listen()]);
  client = new Postrider({ apiKey: service.key, baseUrl: service.url });
});
after(() => Promise.all([receiver.close(), service.end()]));

const NO_RETRIES = { schedule_seconds: [], jitter: 0 };

async function subscribed(eventType: string) {
  const destination = await client.destinations.create({ url: receiver.url, retry_policy: NO_RETRIES });
  const subscription = await client.subscriptions.create({ destination_id: destination.id, event_type: eventType });
  return { destination, subscription };
}

async function deliveryWhen(id: string, holds: (delivery: DeliveryWithRetries) => boolean) {
  for (;;) {
    const changed = service.activity();
    const delivery = await client.deliveries.get(id);
    if (holds(delivery)) return delivery;
    await changed;
  }
}

test('from a destination to a delivery', async () => {
  const { destination, subscription } = await subscribed('order.*');
  const again = await client.subscriptions.create({ destination_id: destination.id, event_type: 'order.*' });
  assert.deepEqual(again, subscription);
  assert.deepEqual(await client.subscriptions.get(subscription.id), subscription);

  const event = await client.events.publish({ type: 'order.paid', body: { total: 120 } });
  const [scheduled] = event.deliveries;
  const delivery = await deliveryWhen(scheduled!.id, ({ status }) => status === 'succeeded');
  assert.deepEqual(await client.deliveries.attempts(delivery.id), delivery.retries);
  assert.deepEqual((await client.events.get(event.event_id)).body, { total: 120 });
  const request = await receiver.arrival(({ deliveryId }) => deliveryId === delivery.id);
  const verified = await webhooks.verify(request, destination.signing_secret);
  assert.deepEqual(verified, {
    id: event.event_id,
    type: 'order.paid',
    timestamp: event.occurred_at,
    data: { total: 120 },
  });

  const [replayed] = await client.events.replay(event.event_id, { destination_ids: [destination.id] });
  assert.equal(replayed!.origin, 'replay');
  assert.equal((await client.deliveries.retry(delivery.id)).status, 'retrying');
  await deliveryWhen(delivery.id, ({ attempt_count: count }) => count === 2);
  await client.subscriptions.delete(subscription.id);
  await assert.rejects(client.subscriptions.get(subscription.id), SubscriptionNotFoundError);
});

test('a destination is changed, tested, rotated and deleted', async () => {
  const { id } = await client.destinations.create({ url: receiver.url, name: 'Orders' });
  const changed = await client.destinations.update(id, { name: 'Bills', metadata: { team: 'x' } });
  assert.deepEqual(await client.destinations.get(id), changed);
  assert.equal((await client.destinations.health(id)).state, 'idle');
  const attempt = await client.destinations.test(id, { type: 'order.tried', body: { a: 1 } });
  assert.equal(attempt.outcome, 'succeeded');

  const rotated = await client.destinations.rotate(id, { overlap_seconds: 60 });
  assert.match(rotated.signing_secret, /^whsec_/);
  await assert.rejects(client.destinations.rotate(id), (error: RotationInProgressError) => {
    assert.ok(error instanceof RotationInProgressError && error.retryAfterSeconds! > 0);
    return true;
  });
  const keys = await Array.fromAsync(client.destinations.signingKeys.list(id));
  assert.deepEqual([keys.length, keys[0]!.id], [2, rotated.id]);
  await client.destinations.signingKeys.delete(id, keys[1]!.id);
  assert.equal((await client.destinations.signingKeys.list(id).page()).data.length, 1);
  await client.destinations.delete(id);
  await assert.rejects(client.destinations.get(id), DestinationNotFoundError);
});

test('lists are walked, or read a page at a time', async () => {
  for (const name of ['a', 'b', 'c']) await client.destinations.create({ url: receiver.url, name });
  const list = client.destinations.list({ status: 'active', limit: 2 });
  const walked = await Array.fromAsync(list);
  const pages = await Array.fromAsync(list.pages());
  assert.deepEqual(
    pages.flatMap(({ data }) => data),
    walked,
  );
  const first = await list.page();
  assert.deepEqual([first.data.length, first.has_more], [2, true]);
  const second = await client.destinations.list({ status: 'active', limit: 2, cursor: first.next_cursor }).page();
  assert.deepEqual(second.data, walked.slice(2, 4));
  // A walk may stop in the middle.
  for await (const { name } of list) if (name === 'c') break;
});

test('times are Dates or text, bodies are objects or JSON', async () => {
  const at = new Date('2026-01-02T03:04:05.678Z');
  const text = '{"amount":12345678901234567890,"price":1.0}';
  const { destination } = await subscribed('exact.bytes');
  const event = await client.events.publish({ type: 'exact.bytes', body: new JsonText(text), occurred_at: at });
  assert.equal(event.occurred_at, at.toISOString());
  const request = await receiver.arrival(({ eventId }) => eventId === event.event_id);
  assert.ok(request.body.toString().endsWith(`"data":${text}}`));
  assert.equal((await client.events.body(event.event_id))?.text, text);
  assert.throws(() => new JsonText('{"a":'), SyntaxError);
  const since = new Date(Date.parse(event.created_at));
  const listed = await Array.fromAsync(client.events.list({ type: 'exact.*', since }));
  assert.deepEqual(
    listed.map(({ event_id: id }) => id),
    [event.event_id],
  );
  await client.destinations.delete(destination.id);
});

test('the dead are replayed, one and all', async () => {
  const { destination } = await subscribed('dead.*');
  receiver.respond = (request) => request.answer(500);
  const results = await client.events.publishBatch([
    { type: 'dead.one', body: {} },
    { type: 'dead.two', body: {} },
    { type: 'dead', body: {} },
  ]);
  const [, , refused] = results;
  assert.deepEqual([refused!.error?.code, refused!.error?.param], ['invalid_event_type', '/events/2/type']);
  const ids = results.flatMap(({ event }) => event?.deliveries.map(({ id }) => id) ?? []);
  for (const id of ids) await deliveryWhen(id, ({ status }) => status === 'dead');
  receiver.respond = ok;

  const listed = await Array.fromAsync(client.dlq.list({ destination_id: destination.id }));
  assert.deepEqual(listed.map(({ id }) => id).sort(), ids.toSorted());
  assert.equal((await client.dlq.replay(ids[0]!)).status, 'pending');
  await deliveryWhen(ids[0]!, ({ status }) => status === 'succeeded');
  await assert.rejects(client.dlq.replay(ids[0]!), DeliveryNotFoundError);

  const filter = { destination_id: destination.id };
  assert.equal((await client.dlq.replayAll({ ...filter, dry_run: true })).count, 1);
  const looks: string[] = [];
  const operation = await client.dlq.replayAll(filter);
  const ended = await client.operations.wait(operation.id, { pollMs: 20, onProgress: ({ id }) => looks.push(id) });
  assert.deepEqual([ended.status, ended.done, looks[0]], ['done', 1, operation.id]);
  await deliveryWhen(ids[1]!, ({ status }) => status === 'succeeded');

  const since = new Date(0);
  const recovery = await client.destinations.recover(destination.id, { since, dry_run: true });
  assert.equal(recovery.count, 0);
  assert.equal((await client.events.replayAll({ event_type: 'dead.**', since, dry_run: true })).count, 2);
});

test('operations are paused, resumed, cancelled and listed', async () => {
  const { destination } = await subscribed('many.*');
  const events = Array.from({ length: 30 }, () => ({ type: 'many.ones', body: {} }));
  await client.events.publishBatch(events);
  const request = { event_type: 'many.*', since: new Date(0), destination_ids: [destination.id], per_second: 1 };
  const operation = await client.events.replayAll(request);
  const paused = await client.operations.pause(operation.id);
  assert.equal(paused.status, 'paused');
  await assert.rejects(client.events.replayAll(request), (error: OperationInProgressError) => {
    assert.ok(error instanceof OperationInProgressError);
    assert.equal(error.operationId, operation.id);
    return true;
  });
  assert.equal((await client.operations.resume(operation.id)).status, 'running');
  assert.equal((await client.operations.cancel(operation.id)).status, 'cancelled');
  await assert.rejects(client.operations.resume(operation.id), OperationEndedError);
  assert.equal((await client.operations.get(operation.id)).status, 'cancelled');
  const listed = await Array.fromAsync(client.operations.list());
  assert.ok(listed.some(({ id }) => id === operation.id));
  await client.destinations.delete(destination.id);
});

test('stats and explanations', async () => {
  const { destination, subscription } = await subscribed('explained.*');
  const hour = 3_600_000;
  const series = await client.stats.get({ since: new Date(Date.now() - hour), step: '5m' });
  assert.ok(series.step === '5m' && series.data.length >= 12);
  assert.ok((await client.stats.now()).destinations.active > 0);
  const explanation = await client.explain({ type: 'explained.well', body: new JsonText('{"a":1}') });
  assert.deepEqual(
    explanation.subscriptions.map(({ subscription_id: id, matches }) => [id, matches]),
    [[subscription.id, true]],
  );
  const event = await client.events.publish({ type: 'explained.well', body: {} });
  assert.equal((await client.explain({ event_id: event.event_id })).subscriptions.length, 1);
  await client.destinations.delete(destination.id);
});

test('API keys and the cluster need the scope admin', async () => {
  await assert.rejects(client.keys.list().page(), ForbiddenError);
  const made = await runCommand(
    ['keys', 'create', '--mode', 'test', '--scopes', 'admin', '--json'],
    service.environment(),
  );
  const { secret } = JSON.parse(made.stdout) as { secret: string };
  const admin = new Postrider({ apiKey: secret, baseUrl: service.url });
  const key = await admin.keys.create({ name: 'reader', scopes: ['read'], expires_at: new Date(Date.now() + 60_000) });
  const reader = new Postrider({ apiKey: key.secret, baseUrl: service.url });
  await reader.stats.now();
  await assert.rejects(reader.events.publish({ type: 'a.b', body: {} }), ForbiddenError);
  assert.ok((await Array.fromAsync(admin.keys.list())).some(({ id }) => id === key.id));
  await admin.keys.revoke(key.id);
  assert.equal((await admin.cluster()).data.length, 1);
});

test('every code of the service has a class of its name', () => {
  for (const code of Object.keys(ERRORS)) {
    const name = `${code.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Error`;
    assert.equal(typeof (exported as Record<string, unknown>)[name], 'function', name);
  }
});
