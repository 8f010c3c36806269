import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addDestination, DAY_MS, postEvent, startApi, type Api, type Json } from './harness.ts';

let api: Api;
before(async () => {
  api = await startApi();
});
after(() => api.close());

const refuse = (code: string, body: Json | string) => api.refuse(code, 'POST', '/v1/events', { body });
const accept = (body: Json | string, status = 202) => api.expect(status, 'POST', '/v1/events', { body });

test('an event that matches nothing is accepted and kept', async () => {
  const { json } = await accept({ type: 'no.match', body: { a: 1 } });
  const now = new Date(api.clock.now()).toISOString();
  assert.deepEqual(json, {
    event_id: json.event_id,
    type: 'no.match',
    idempotency_key: null,
    occurred_at: now,
    created_at: now,
    deliveries: [],
  });
  const { json: reading } = await api.expect(200, 'GET', `/v1/events/${String(json.event_id)}`);
  assert.deepEqual(reading, { ...json, body: { a: 1 } });
});

test('there is one delivery for each matching subscription, handed on after the commit', async () => {
  const destination = await addDestination(api, { eventType: 'match.*' });
  const { json } = await accept({ type: 'match.one', body: {} });
  const [delivery, ...others] = json.deliveries as Json[];
  assert.deepEqual([delivery!.destination_id, delivery!.status, others], [destination, 'pending', []]);
  assert.ok(api.dispatched.some(({ id }) => id === delivery!.id));
});

test('the body is kept byte for byte', async () => {
  const bodies = [
    '{}',
    '{ "b": 1.0,\n\t"a": 12345678901234567890, "c": 1E400 }',
    '{"a":"\\u00e9\\/\\ud800","é":"😀","\\u0000":[]}',
    '{"__proto__":{"x":1},"constructor":2,"a":1,"a":2}',
    `{"deep":${'['.repeat(62)}${']'.repeat(62)}}`,
  ];
  for (const body of bodies) {
    const { json } = await accept(`{"type":"byte.exact", "body" : ${body} }`);
    const { text } = await api.expect(200, 'GET', `/v1/events/${String(json.event_id)}`);
    assert.ok(text.endsWith(`,"body":${body}}`), text);
  }
});

test('occurred_at is shown in UTC; null is the time of acceptance', async () => {
  const { json } = await accept({ type: 'a.b', body: {}, occurred_at: '2026-01-31T09:30+02:00' });
  assert.equal(json.occurred_at, '2026-01-31T07:30:00.000Z');
  const { json: now } = await accept({ type: 'a.b', body: {}, occurred_at: null, idempotency_key: null });
  assert.deepEqual([now.occurred_at, now.idempotency_key], [now.created_at, null]);
});

test('types of another form are invalid_event_type', async () => {
  const types = [
    '',
    'order',
    'order.',
    '.order',
    'order..paid',
    'order.*',
    '**',
    'order paid',
    'ördér.paid',
    'a.'.repeat(10) + 'a',
    `${'a'.repeat(65)}.b`,
    `${'a'.repeat(64)}.`.repeat(3) + 'a'.repeat(62),
    'a.b\n',
    'postrider.mine',
  ];
  for (const type of types) assert.equal((await refuse('invalid_event_type', { type, body: {} })).param, '/type', type);
  await accept({ type: 'a.'.repeat(9) + 'a', body: {} });
  await accept({ type: `${'a'.repeat(64)}.`.repeat(3) + 'a'.repeat(61), body: {} });
});

test('a field that is missing, unknown or of the wrong type is named', async () => {
  const invalid: [event: Json, param: string][] = [
    [{ type: undefined }, '/type'],
    [{ type: 5 }, '/type'],
    [{ type: null }, '/type'],
    [{ body: undefined }, '/body'],
    [{ body: null }, '/body'],
    [{ body: [] }, '/body'],
    [{ body: '{}' }, '/body'],
    [{ body: 5 }, '/body'],
    [{ id: 'x' }, '/id'],
    [{ idempotency_key: 5 }, '/idempotency_key'],
    [{ idempotency_key: '' }, '/idempotency_key'],
    [{ idempotency_key: 'x'.repeat(256) }, '/idempotency_key'],
    [{ idempotency_key: 'é' }, '/idempotency_key'],
    [{ idempotency_key: 'a\n' }, '/idempotency_key'],
    [{ occurred_at: 5 }, '/occurred_at'],
    [{ occurred_at: '' }, '/occurred_at'],
    [{ occurred_at: '2026-01-31T09:30:00' }, '/occurred_at'],
    [{ occurred_at: '2026-02-30' }, '/occurred_at'],
  ];
  for (const [fields, param] of invalid) {
    const error = await refuse('invalid_request', { type: 'a.b', body: {}, ...fields });
    assert.equal(error.param, param, JSON.stringify(fields));
  }
});

const bodyOf = (length: number): string => `{"a":"${'x'.repeat(length - 8)}"}`;

test('a body has at most 262,144 bytes, a request 16 KiB more', async () => {
  const body = bodyOf(262_144);
  assert.equal(body.length, 262_144);
  await accept(`{"type":"a.b","body":${body}}`);
  assert.equal((await refuse('body_too_large', `{"type":"a.b","body":${bodyOf(262_145)}}`)).param, '/body');
  const request = `{"type":"a.b","body":${body}}`;
  await accept(request.padEnd(262_144 + 16_384));
  await refuse('body_too_large', request.padEnd(262_144 + 16_385));
  // Bytes count, not characters.
  await refuse('body_too_large', `{"type":"a.b","body":{"a":"${'é'.repeat(131_069)}"}}`);
});

test('the same request under the same key gets the stored event', async () => {
  await addDestination(api, { eventType: 'idem.*' });
  const event = { type: 'idem.potent', body: { a: 1, b: [2] }, idempotency_key: ' ~key~ '.repeat(36).slice(0, 255) };
  const first = await accept(event);
  const deliveries = api.dispatched.length;
  api.clock.advance(DAY_MS - 60_000);
  const again = await accept(event, 200);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.equal(first.headers['idempotent-replayed'], undefined);
  assert.deepEqual(again.json, first.json);
  const reordered = `{"idempotency_key":"${event.idempotency_key}","body":{ "b":[ 2], "a":1},"type":"idem.potent"}`;
  assert.deepEqual((await accept(reordered, 200)).json, first.json);
  assert.equal(api.dispatched.length, deliveries);
  api.clock.advance(60_000);
  assert.notEqual((await accept(event)).json.event_id, first.json.event_id);
});

test('the key may come as the header Idempotency-Key', async () => {
  const event = { type: 'a.b', body: { a: 1 } };
  const post = (status: number, key: string, more: Json = {}) =>
    api.expect(status, 'POST', '/v1/events', { body: { ...event, ...more }, headers: { 'idempotency-key': key } });
  const { json: first } = await post(202, 'as a header');
  assert.equal(first.idempotency_key, 'as a header');
  assert.deepEqual((await post(200, 'as a header')).json, first);
  assert.deepEqual((await accept({ ...event, idempotency_key: 'as a header' }, 200)).json, first);
  assert.deepEqual((await post(200, 'as a header', { idempotency_key: 'as a header' })).json, first);
  await post(409, 'as a header', { body: {} });
  const refuseKey = (key: string, more: Json = {}) =>
    api.refuse('invalid_request', 'POST', '/v1/events', {
      body: { ...event, ...more },
      headers: { 'idempotency-key': key },
    });
  assert.equal((await refuseKey('as a header', { idempotency_key: 'another' })).param, '/idempotency_key');
  for (const key of ['', 'x'.repeat(256), 'é', 'a\tb']) assert.match((await refuseKey(key)).message, /Idempotency-Key/);
});

test('another request under the same key is a conflict', async () => {
  const event = { type: 'a.b', body: { a: 1 }, idempotency_key: 'conflict', occurred_at: '2026-01-31' };
  await accept(event);
  const others: Json[] = [
    { type: 'a.c' },
    { body: { a: 2 } },
    { body: {} },
    { occurred_at: null },
    { occurred_at: '2026-01-31T00:00:00Z' },
  ];
  for (const other of others) {
    assert.equal((await refuse('idempotency_key_conflict', { ...event, ...other })).param, '/idempotency_key');
  }
  await refuse(
    'idempotency_key_conflict',
    '{"type":"a.b","body":{"a":1.0},"idempotency_key":"conflict","occurred_at":"2026-01-31"}',
  );
  await api.expect(202, 'POST', '/v1/events', { body: event, key: await api.makeKey({ mode: 'test' }) });
});

test('of concurrent requests under one key one is accepted and the rest get its answer', async () => {
  const event = { type: 'a.b', body: { n: 1 }, idempotency_key: 'concurrent' };
  const answers = await Promise.all(Array.from({ length: 50 }, () => api.call('POST', '/v1/events', { body: event })));
  const accepted = answers.filter(({ status }) => status === 202);
  const repeats = answers.filter(({ status }) => status === 200);
  assert.deepEqual([accepted.length, repeats.length], [1, 49]);
  assert.equal(new Set(answers.map(({ json }) => json.event_id)).size, 1);
});

test('the list is filtered by type, exactly or by pattern, and by time', async () => {
  api.clock.advance(DAY_MS);
  const begin = new Date(api.clock.now()).toISOString();
  const key = await api.makeKey({ mode: 'test' });
  const list = async (query: string) => {
    const { json } = await api.expect(200, 'GET', `/v1/events?since=${begin}&${query}`, { key });
    return (json.data as Json[]).map(({ type }) => type);
  };
  for (const type of ['x.y', 'x.y.z', 'x.yy', 'z.x']) {
    await postEvent(api, { type }, key);
    api.clock.advance(60_000);
  }
  assert.deepEqual(await list(''), ['z.x', 'x.yy', 'x.y.z', 'x.y']);
  assert.deepEqual(await list('type=x.y'), ['x.y']);
  assert.deepEqual(await list('type=x.*'), ['x.yy', 'x.y']);
  assert.deepEqual(await list('type=x.**'), ['x.yy', 'x.y.z', 'x.y']);
  assert.deepEqual(await list('type=x.y.**'), ['x.y.z']);
  assert.deepEqual(await list('type=**&limit=2'), ['z.x', 'x.yy']);
  const [, , third] = ((await api.expect(200, 'GET', '/v1/events', { key })).json.data as Json[]).map(
    ({ created_at }) => String(created_at),
  );
  assert.deepEqual(await list(`until=${third}`), ['x.y']);
  const inBerlin = third!.replace('Z', '+00:00');
  assert.deepEqual(await list(`until=${inBerlin}`), ['x.y']);
  assert.deepEqual(await list(`until=${encodeURIComponent(inBerlin)}`), ['x.y']);
});

test('rows of the list have no body and no deliveries', async () => {
  await postEvent(api);
  const { json } = await api.expect(200, 'GET', '/v1/events?limit=1');
  const [row] = json.data as Json[];
  assert.deepEqual(Object.keys(row!), ['event_id', 'type', 'idempotency_key', 'occurred_at', 'created_at']);
});

test('a filter that cannot be is refused', async () => {
  assert.equal((await api.refuse('invalid_event_type_pattern', 'GET', '/v1/events?type=*.x')).param, 'type');
  for (const query of ['since=yesterday', 'until=', 'since=2026-01-31T00:00']) {
    const error = await api.refuse('invalid_request', 'GET', `/v1/events?${query}`);
    assert.equal(error.param, query.split('=')[0]);
  }
});

test('an erased event reads with a body of null', async () => {
  const key = await api.makeKey({ mode: 'test' });
  const { json } = await postEvent(api, {}, key);
  const url = `/v1/events/${String(json.event_id)}`;
  api.clock.advance(30 * DAY_MS);
  assert.deepEqual((await api.expect(200, 'GET', url, { key })).json.body, { n: 1 });
  api.clock.advance(1);
  assert.equal((await api.expect(200, 'GET', url, { key })).json.body, null);
  await api.refuse('event_too_old', 'POST', `${url}/replay`, { key });
});

test('a replay makes new deliveries for what matches now', async () => {
  const key = await api.makeKey({ mode: 'test' });
  const { json: event } = await postEvent(api, { type: 're.play' }, key);
  const [one, two] = [await addDestination(api, { key }), await addDestination(api, { key })];
  const url = `/v1/events/${String(event.event_id)}/replay`;
  const { json } = await api.expect(202, 'POST', url, { key });
  const rows = json.data as Json[];
  assert.deepEqual(new Set(rows.map((row) => row.destination_id)), new Set([one, two]));
  assert.deepEqual([rows[0]!.origin, rows[0]!.status, rows[0]!.event_id], ['replay', 'pending', event.event_id]);
  const some = await api.expect(202, 'POST', url, { key, body: { destination_ids: [two] } });
  assert.deepEqual(
    (some.json.data as Json[]).map((row) => row.destination_id),
    [two],
  );
  const { json: list } = await api.expect(200, 'GET', `/v1/deliveries?event_id=${String(event.event_id)}`, { key });
  assert.equal((list.data as Json[]).length, 3);
});

test('a replay to a destination that does not match schedules nothing', async () => {
  const key = await api.makeKey({ mode: 'test' });
  const { json: event } = await postEvent(api, { type: 'not.subscribed' }, key);
  const matching = await addDestination(api, { key, eventType: 'not.*' });
  const other = await addDestination(api, { key, eventType: 'something.else' });
  const url = `/v1/events/${String(event.event_id)}/replay`;
  for (const id of [other, 'dst_00000000000000000000000000', 'x', '', matching.toUpperCase()]) {
    const body = { destination_ids: [matching, id] };
    const error = await api.refuse('destination_not_subscribed', 'POST', url, { key, body });
    assert.equal(error.param, '/destination_ids/1');
  }
  const { json: list } = await api.expect(200, 'GET', `/v1/deliveries?event_id=${String(event.event_id)}`, { key });
  assert.ok((list.data as Json[]).every((row) => row.origin === 'event'));
});

test('the destinations of a replay are 1-1,000 distinct ids', async () => {
  const { json } = await postEvent(api);
  const url = `/v1/events/${String(json.event_id)}/replay`;
  const many = Array.from({ length: 1_001 }, (_, n) => `dst_${n}`);
  for (const destination_ids of [[], null, 'x', [5], ['a', 'a'], many, [null]]) {
    const error = await api.refuse('invalid_request', 'POST', url, { body: { destination_ids } });
    assert.match(error.param!, /^\/destination_ids/);
  }
  await api.refuse('destination_not_subscribed', 'POST', url, { body: { destination_ids: many.slice(1) } });
});

test('an event that is unknown, foreign or no id is event_not_found', async () => {
  const { json } = await postEvent(api);
  const key = await api.makeKey({ mode: 'test' });
  await api.refuse('event_not_found', 'GET', `/v1/events/${String(json.event_id)}`, { key });
  await api.refuse('event_not_found', 'POST', `/v1/events/${String(json.event_id)}/replay`, { key });
  for (const id of ['evt_00000000000000000000000000', 'x', 'dlv_00000000000000000000000000']) {
    await api.refuse('event_not_found', 'GET', `/v1/events/${id}`);
    await api.refuse('event_not_found', 'POST', `/v1/events/${id}/replay`);
  }
});
