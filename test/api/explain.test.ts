// POST /v1/explain: which subscriptions want an event, and why others do not.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addDestination, DAY_MS, postEvent, startApi, type Api, type Json } from './harness.ts';

let api: Api;
before(async () => {
  api = await startApi();
});
after(() => api.close());

async function subscribe(eventType: string, filter: Json | null = null): Promise<{ id: string; destination: string }> {
  const destination = await addDestination(api, { eventType: null });
  const body = { destination_id: destination, event_type: eventType, filter };
  const { json } = await api.expect(201, 'POST', '/v1/subscriptions', { body });
  return { id: json.id as string, destination };
}

async function explain(body: Json | string): Promise<Json[]> {
  const { json } = await api.expect(200, 'POST', '/v1/explain', { body });
  return json.subscriptions as Json[];
}

test('names what matches, what its filter refuses and what is one segment off, in this order', async () => {
  const off = await subscribe('bill.sent.late');
  const refused = await subscribe('bill.*', { '$.total': { $gte: 100 }, '$.currency': 'EUR' });
  const wanted = await subscribe('bill.**', { '$.total': { $lt: 100 } });
  await subscribe('bill.paid');
  const explained = await explain({ type: 'bill.sent', body: { total: 99.5, currency: 'EUR' } });
  const conditionOf = (path: string, operator: string, expected: unknown, found: unknown, holds: boolean) => {
    return { path, operator, expected, found, holds };
  };
  assert.deepEqual(explained, [
    {
      subscription_id: wanted.id,
      destination_id: wanted.destination,
      matches: true,
      pattern_matches: true,
      filter: [conditionOf('$.total', '$lt', 100, 99.5, true)],
    },
    {
      subscription_id: refused.id,
      destination_id: refused.destination,
      matches: false,
      pattern_matches: true,
      filter: [conditionOf('$.total', '$gte', 100, 99.5, false), conditionOf('$.currency', '$eq', 'EUR', 'EUR', true)],
    },
    { subscription_id: off.id, destination_id: off.destination, matches: false, pattern_matches: false, filter: [] },
  ]);
});

test('goes by the subscriptions as they are now', async () => {
  const subscription = await subscribe('now.here');
  assert.equal((await explain({ type: 'now.here', body: {} })).length, 1);
  await api.expect(204, 'DELETE', `/v1/subscriptions/${subscription.id}`);
  assert.deepEqual(await explain({ type: 'now.here', body: {} }), []);
});

test('explains an event that was accepted, and stores and sends nothing', async () => {
  const { id } = await subscribe('old.event', { '$.n': 7 });
  const { json: event } = await postEvent(api, { type: 'old.event', body: { n: 7 } });
  const dispatched = api.dispatched.length;
  const [explained] = await explain({ event_id: event.event_id as string });
  assert.deepEqual([explained!.subscription_id, explained!.matches], [id, true]);
  assert.equal(api.dispatched.length, dispatched);
  const { json: page } = await api.expect(200, 'GET', '/v1/events?type=old.event');
  assert.equal((page.data as Json[]).length, 1);
  const fromElsewhere = { key: await api.makeKey({ mode: 'test' }), body: { event_id: event.event_id as string } };
  const { param } = await api.refuse('event_not_found', 'POST', '/v1/explain', fromElsewhere);
  assert.equal(param, '/event_id');
  api.clock.advance(31 * DAY_MS);
  await api.refuse('event_too_old', 'POST', '/v1/explain', { body: { event_id: event.event_id as string } });
});

test('a request is one or the other, and complete', async () => {
  const refuse = (code: string, body: Json | string) => api.refuse(code, 'POST', '/v1/explain', { body });
  assert.equal((await refuse('invalid_request', {})).param, '/type');
  assert.equal((await refuse('invalid_request', { type: 'a.b' })).param, '/body');
  assert.equal((await refuse('invalid_request', { event_id: 'evt_1', type: 'a.b' })).param, '/type');
  assert.equal((await refuse('invalid_request', { event_id: 'evt_1', body: {} })).param, '/body');
  assert.equal((await refuse('invalid_request', { type: 'a.b', body: [] })).param, '/body');
  assert.equal((await refuse('invalid_request', { type: 'a.b', body: {}, more: 1 })).param, '/more');
  assert.equal((await refuse('invalid_event_type', { type: 'a', body: {} })).param, '/type');
  assert.equal((await refuse('event_not_found', { event_id: 'nonsense' })).param, '/event_id');
  await refuse('body_too_large', `{"type":"a.b","body":{"a":"${'x'.repeat(262_144)}"}}`);
  const key = await api.makeKey({ scopes: ['publish', 'manage', 'operate', 'admin'] });
  await api.refuse('forbidden', 'POST', '/v1/explain', { key, body: { type: 'a.b', body: {} } });
});

test('what a double cannot hold, and what JSON alone can say, is found as it was posted', async () => {
  await subscribe('odd.json', { '$.wide': { $exists: true }, '$.text': { $exists: true } });
  const { text } = await api.expect(200, 'POST', '/v1/explain', {
    body: '{"type":"odd.json","body":{"wide":9007199254740993,"text":"\\ud800 \\u0000"}}',
  });
  assert.match(text, /"found":9007199254740993,/);
  assert.match(text, /"found":"\\ud800 \\u0000"/);
});

test('nobody posts an event of the service’s own, but what it would do can be asked', async () => {
  const all = await subscribe('**');
  const own = await subscribe('postrider.**');
  const event = { type: 'postrider.delivery.dead', body: {} };
  const { param } = await api.refuse('invalid_event_type', 'POST', '/v1/events', { body: event });
  assert.equal(param, '/type');
  const explained = await explain(event);
  assert.deepEqual(
    explained.map((one) => [one.subscription_id, one.matches]),
    [[own.id, true]],
  );
  assert.ok((await explain({ type: 'any.type', body: {} })).some((one) => one.subscription_id === all.id));
});
