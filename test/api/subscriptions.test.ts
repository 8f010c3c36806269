import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addDestination, postEvent, startApi, type Api, type Json } from './harness.ts';

let api: Api;
let destination: string;
before(async () => {
  api = await startApi();
  destination = await addDestination(api, { eventType: null });
});
after(() => api.close());

const create = (body: Json, status = 201) =>
  api.expect(status, 'POST', '/v1/subscriptions', { body: { destination_id: destination, ...body } });
const refuse = (code: string, body: Json) =>
  api.refuse(code, 'POST', '/v1/subscriptions', { body: { destination_id: destination, ...body } });

test('a subscription is made, read and deleted', async () => {
  const filter = { '$.total': { $gte: 100 }, '$.tags[*]': 'new' };
  const { json, headers } = await create({ event_type: 'order.*', filter });
  assert.deepEqual(json, {
    id: json.id,
    destination_id: destination,
    event_type: 'order.*',
    filter,
    created_at: new Date(api.clock.now()).toISOString(),
  });
  const url = `/v1/subscriptions/${String(json.id)}`;
  assert.equal(headers.location, url);
  assert.deepEqual((await api.expect(200, 'GET', url)).json, json);
  await api.expect(204, 'DELETE', url);
  for (const method of ['GET', 'DELETE']) await api.refuse('subscription_not_found', method, url);
});

test('an identical subscription is not made twice', async () => {
  const filter = { '$.a': 1, '$.b': { $in: ['x', 'y'] } };
  const { json } = await create({ event_type: 'same.**', filter });
  const again = await create({ event_type: 'same.**', filter: { '$.b': { $in: ['x', 'y'] }, '$.a': 1 } }, 200);
  assert.deepEqual(again.json, json);
  await create({ event_type: 'same.**', filter: { ...filter, '$.a': 2 } });
  await create({ event_type: 'same.*', filter });
  await create({ event_type: 'same.**', filter: null });
  await create({ event_type: 'same.**' }, 200);
});

test('every pattern that there is', async () => {
  for (const event_type of [
    'a.b',
    'a.*',
    'a.**',
    'a.b.c.*',
    '**',
    'A-1_.x',
    Array(10).fill('s'.repeat(24)).join('.'),
  ]) {
    await create({ event_type });
  }
});

test('other patterns are invalid_event_type_pattern', async () => {
  for (const event_type of ['', ' ', 'a', '*', '*.a', 'a.*.b', 'a*', 'a.b*', '***', 'a..b', 'a.***', 'a.b ', 'ä.b']) {
    assert.equal((await refuse('invalid_event_type_pattern', { event_type })).param, '/event_type', event_type);
  }
});

test('a filter that is none points at its fault', async () => {
  const filters: [filter: Json, param: string][] = [
    [{}, '/filter'],
    [{ a: 1 }, '/filter/a'],
    [{ '$.a': { $regex: 'x' } }, '/filter/$.a/$regex'],
    [{ '$.a': [] }, '/filter/$.a'],
    [{ $and: [{ '$.a': 1 }, {}] }, '/filter/$and/1'],
  ];
  for (const [filter, param] of filters) {
    assert.equal((await refuse('invalid_filter', { event_type: 'a.b', filter })).param, param);
  }
});

test('a number that a double cannot hold is judged as it was written', async () => {
  const filter = '{"$.id": 9007199254740993}';
  const body = `{"destination_id":"${destination}","event_type":"a.b","filter":${filter}}`;
  const error = await api.refuse('invalid_filter', 'POST', '/v1/subscriptions', { body });
  assert.equal(error.param, '/filter/$.id');
});

test('a filter is at most 4,096 bytes as it was sent', async () => {
  const send = (length: number, status: number) => {
    const filter = `{"$.a":"${'x'.repeat(length - 10)}"}`;
    assert.equal(filter.length, length);
    const body = `{"destination_id":"${destination}","event_type":"len.gth","filter": ${filter} }`;
    return api.expect(status, 'POST', '/v1/subscriptions', { body });
  };
  await send(4_096, 201);
  await send(4_097, 400);
});

test('a field that is missing, unknown or of the wrong type is named', async () => {
  const invalid: [body: Json, param: string][] = [
    [{}, '/event_type'],
    [{ event_type: 5 }, '/event_type'],
    [{ event_type: null }, '/event_type'],
    [{ event_type: 'a.b', destination_id: 5 }, '/destination_id'],
    [{ event_type: 'a.b', destination_id: null }, '/destination_id'],
    [{ event_type: 'a.b', filter: 'x' }, '/filter'],
    [{ event_type: 'a.b', filter: [] }, '/filter'],
    [{ event_type: 'a.b', filter: true }, '/filter'],
    [{ event_type: 'a.b', filters: {} }, '/filters'],
  ];
  for (const [body, param] of invalid) assert.equal((await refuse('invalid_request', body)).param, param);
  const error = await api.refuse('invalid_request', 'POST', '/v1/subscriptions', { body: { event_type: 'a.b' } });
  assert.equal(error.param, '/destination_id');
});

test('half of a surrogate pair in a filter is invalid_request', async () => {
  const body = `{"destination_id":"${destination}","event_type":"a.b","filter":{"$.a":"\\ud800"}}`;
  assert.equal((await api.refuse('invalid_request', 'POST', '/v1/subscriptions', { body })).param, '/filter');
});

test('a destination that is unknown, foreign, deleted or no id is destination_not_found', async () => {
  const key = await api.makeKey({ mode: 'test' });
  const foreign = await addDestination(api, { key, eventType: null });
  const deleted = await addDestination(api, { eventType: null });
  await api.expect(204, 'DELETE', `/v1/destinations/${deleted}`);
  for (const destination_id of [
    'dst_00000000000000000000000000',
    foreign,
    deleted,
    'x',
    '',
    destination.toUpperCase(),
  ]) {
    const error = await refuse('destination_not_found', { event_type: 'a.b', destination_id });
    assert.equal(error.param, '/destination_id');
  }
});

test('ids of another kind, mode or form are subscription_not_found', async () => {
  const { json } = await create({ event_type: 'mode.test' });
  const key = await api.makeKey({ mode: 'test' });
  for (const method of ['GET', 'DELETE']) {
    await api.refuse('subscription_not_found', method, `/v1/subscriptions/${String(json.id)}`, { key });
    for (const id of [destination, 'x', 'sub_00000000000000000000000000', '%00', '%zz', 'a%2Fb']) {
      await api.refuse('subscription_not_found', method, `/v1/subscriptions/${id}`);
    }
  }
});

test('the list is filtered by destination; an id of nothing gives an empty page', async () => {
  const other = await addDestination(api);
  const { json } = await api.expect(200, 'GET', `/v1/subscriptions?destination_id=${other}`);
  assert.deepEqual(
    (json.data as Json[]).map((row) => row.destination_id),
    [other],
  );
  for (const id of ['x', '', other.replace('dst', 'sub'), 'dst_00000000000000000000000000']) {
    const { json: empty } = await api.expect(200, 'GET', `/v1/subscriptions?destination_id=${id}`);
    assert.deepEqual(empty, { data: [], has_more: false, next_cursor: null });
  }
});

test('a destination has at most 1,000 subscriptions', async () => {
  const full = await addDestination(api, { eventType: null });
  const subscribe = (n: number, status: number) =>
    api.expect(status, 'POST', '/v1/subscriptions', { body: { destination_id: full, event_type: `a.b${n}` } });
  for (let n = 0; n < 1_000; n++) await subscribe(n, 201);
  const { json } = await subscribe(1_000, 422);
  assert.equal((json.error as Json).code, 'over_subscription_limit');
  assert.match(String((json.error as Json).message), /the destination has 1000 subscriptions already.*: delete some/);
  await subscribe(7, 200);
});

test('an environment has at most MAX_SUBSCRIPTIONS', async () => {
  const other = await startApi();
  other.services.limits.maxSubscriptions = 1;
  const id = await addDestination(other);
  const body = { destination_id: id, event_type: 'a.b' };
  const { message } = await other.refuse('over_subscription_limit', 'POST', '/v1/subscriptions', { body });
  assert.match(message, /the environment has 1 subscriptions already: delete some .* raise MAX_SUBSCRIPTIONS/);
  await other.close();
});

test('a subscription counts for every event after its 201 and for none after its 204', async () => {
  const { json } = await create({ event_type: 'routing.begins' });
  const subscription = String(json.id);
  const post = async () => (await postEvent(api, { type: 'routing.begins' })).json.deliveries as Json[];
  assert.ok((await post()).some((delivery) => delivery.subscription_id === subscription));
  await api.expect(204, 'DELETE', `/v1/subscriptions/${subscription}`);
  assert.ok((await post()).every((delivery) => delivery.subscription_id !== subscription));
});
