// One key, one event: whoever posts it, however often, at once or one after the other, alone or in a batch.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Api, type Answer, type ErrorBody, type Event } from './api.ts';
import { startReceiver } from './receiver.ts';
import { runCommand, Service } from './service.ts';

type BatchResult = { status: number; event?: Event; error?: ErrorBody['error'] };

describe('an idempotency key', { concurrency: true }, () => {
  const service = new Service();
  const api = new Api(service);
  before(() => service.start());
  after(() => service.end());

  const post = (event: object | string) => api.send<Event & ErrorBody>('POST', '/v1/events', event);

  test('posted a hundred times at once makes one event, and everyone gets the same answer', async (t) => {
    const receiver = await startReceiver(t);
    await api.subscribed(receiver.url, 'key.burst');
    const event = { type: 'key.burst', body: { n: 1 }, idempotency_key: 'burst' };
    const answers = await Promise.all(Array.from({ length: 100 }, () => post(event)));
    const [first, ...others] = answers.toSorted((a, b) => b.status - a.status);
    assert.equal(first!.status, 202);
    assert.equal(first!.headers.get('idempotent-replayed'), null);
    for (const answer of others) checkRepeat(answer, first!.body);
    await receiver.arrived(1);

    const later = await post(event);
    assert.equal(later.status, 200);
    await api.deliveryEnds(first!.body.deliveries[0]!.id);
    const last = await post(event);
    assert.deepEqual(
      last.body.deliveries.map(({ status }) => status),
      ['succeeded'],
      'with the status of now',
    );
    await fence(t, 'key.burst');
    assert.equal(receiver.requests.filter(({ eventId }) => eventId === first!.body.event_id).length, 1);
  });

  test('posted at once with two bodies makes one event; the other body is a conflict', async () => {
    const bodies = [{ n: 1 }, { n: 2 }];
    const requests = Array.from({ length: 60 }, (_, index) => ({
      type: 'key.race',
      body: bodies[index % 2]!,
      idempotency_key: 'race',
    }));
    const answers = await Promise.all(requests.map((request) => post(request)));
    const accepted = answers.findIndex(({ status }) => status === 202);
    for (const [index, answer] of answers.entries()) {
      if (index === accepted) continue;
      if (index % 2 === accepted % 2) checkRepeat(answer, answers[accepted]!.body);
      else checkConflict(answer);
    }
  });

  test('is the same request if type, occurred_at and body mean the same, and a conflict otherwise', async () => {
    const body = '{"total": 1.50, "items": [1, {"a": null, "b": "é"}], "id": 9007199254740993}';
    const original = envelope({ type: 'key.same', key: 'same', occurredAt: '2024-05-01T12:00:00Z', body });
    const first = await post(original);
    assert.equal(first.status, 202);
    const same = '{ "id":9007199254740993 ,"items":[1,{"b":"\\u00e9","a":null}],\n"total":1.50}';
    checkRepeat(
      await post(envelope({ type: 'key.same', key: 'same', occurredAt: '2024-05-01T12:00:00Z', body: same })),
      first.body,
    );

    const occurredAt = '2024-05-01T12:00:00Z';
    const others = {
      'another number': body.replace('1.50', '1.5'),
      'a number that is the same double': body.replace('993', '992'),
      'another order of items': body.replace('[1, {"a": null, "b": "é"}]', '[{"a": null, "b": "é"}, 1]'),
      'one member less': body.replace('"a": null, ', ''),
      'another string': body.replace('é', 'e'),
    };
    for (const [what, other] of Object.entries(others)) {
      checkConflict(await post(envelope({ type: 'key.same', key: 'same', occurredAt, body: other })), what);
    }
    checkConflict(await post(envelope({ type: 'key.other', key: 'same', occurredAt, body })), 'another type');
    checkConflict(await post(envelope({ type: 'key.same', key: 'same', occurredAt: '2024-05-01T12:00:01Z', body })));
    checkConflict(await post(envelope({ type: 'key.same', key: 'same', occurredAt: null, body })), 'no occurred_at');
    const conflict = await post(envelope({ type: 'key.other', key: 'same', occurredAt, body }));
    assert.equal(conflict.body.error.param, '/idempotency_key');
  });

  test('means nothing in the other environment', async () => {
    const created = await runCommand(['keys', 'create', '--mode', 'live', '--json'], service.environment());
    const { secret } = JSON.parse(created.stdout) as { secret: string };
    const live = new Api(service, secret);
    const event = { type: 'key.modes', body: {}, idempotency_key: 'modes' };
    const inTest = await post(event);
    const inLive = await live.send<Event>('POST', '/v1/events', event);
    assert.deepEqual([inTest.status, inLive.status], [202, 202]);
    assert.notEqual(inTest.body.event_id, inLive.body.event_id);
  });

  test('in a batch counts for itself: the first of equal keys wins, and bad neighbours do no harm', async (t) => {
    const receiver = await startReceiver(t);
    await api.subscribed(receiver.url, 'key.batch');
    await api.publish('key.batch', { n: 0 }, { idempotency_key: 'batch-0' });
    const { data } = await api.expect<{ data: BatchResult[] }>(200, 'POST', '/v1/events/batch', {
      events: [
        { type: 'key.batch', body: { n: 0 }, idempotency_key: 'batch-0' },
        { type: 'key.batch', body: { n: 1 }, idempotency_key: 'batch-1' },
        { type: 'key.batch', body: { n: 1 }, idempotency_key: 'batch-1' },
        { type: 'key.batch', body: { n: 2 }, idempotency_key: 'batch-1' },
        { type: 'nodots', body: {} },
        { type: 'key.batch', body: [] },
        { type: 'key.batch', body: {}, extra: 1 },
        'nothing',
        { type: 'key.batch', body: { n: 3 } },
      ],
    });
    assert.deepEqual(
      data.map(({ status, error }) => [status, error?.code, error?.param]),
      [
        [200, undefined, undefined],
        [202, undefined, undefined],
        [200, undefined, undefined],
        [409, 'idempotency_key_conflict', '/events/3/idempotency_key'],
        [400, 'invalid_event_type', '/events/4/type'],
        [400, 'invalid_request', '/events/5/body'],
        [400, 'invalid_request', '/events/6/extra'],
        [400, 'invalid_request', '/events/7'],
        [202, undefined, undefined],
      ],
    );
    assert.equal(data[1]!.event!.event_id, data[2]!.event!.event_id);
    await receiver.arrived(3);
    await fence(t, 'key.batch');
    const bodies = receiver.requests.map(({ data: body }) => JSON.stringify(body)).toSorted();
    assert.deepEqual(bodies, ['{"n":0}', '{"n":1}', '{"n":3}', '{}'], 'and that of the fence');
  });

  test('posted at once alone and in batches of a thousand makes one event', async (t) => {
    const receiver = await startReceiver(t);
    await api.subscribed(receiver.url, 'key.many');
    const events = Array.from({ length: 1_000 }, (_, n) => ({
      type: 'key.many',
      body: { n: n % 500 },
      idempotency_key: `many-${n % 500}`,
    }));
    const batch = () => api.expect<{ data: BatchResult[] }>(200, 'POST', '/v1/events/batch', { events });
    const [singles, ...batches] = await Promise.all([
      Promise.all(events.slice(0, 100).map((event) => post(event))),
      batch(),
      batch(),
    ]);
    const ids = new Map<number, Set<string>>();
    const accepted = new Map<number, number>();
    const note = (n: number, status: number, event: Event): void => {
      assert.ok(status === 200 || status === 202, `event ${n}: ${status}`);
      ids.set(n, (ids.get(n) ?? new Set()).add(event.event_id));
      if (status === 202) accepted.set(n, (accepted.get(n) ?? 0) + 1);
    };
    for (const [n, answer] of singles.entries()) note(n, answer.status, answer.body);
    for (const { data } of batches)
      for (const [n, result] of data.entries()) note(n % 500, result.status, result.event!);
    assert.equal(ids.size, 500);
    for (const [n, set] of ids) assert.deepEqual([set.size, accepted.get(n)], [1, 1], `event ${n}`);
    await receiver.arrived(500);
    await fence(t, 'key.many');
    assert.equal(receiver.requests.length, 501);

    const tooMany = await api.send('POST', '/v1/events/batch', { events: [...events, events[0]] });
    assert.deepEqual(
      [tooMany.status, tooMany.body.error.code, tooMany.body.error.param],
      [400, 'invalid_request', '/events'],
    );
  });

  /** A later event of this type has arrived everywhere: what was to come before it has come. */
  async function fence(t: Parameters<typeof startReceiver>[0], type: string): Promise<void> {
    const receiver = await startReceiver(t);
    await api.subscribed(receiver.url, type);
    const { deliveries } = await api.publish(type);
    for (const { id } of deliveries) await api.deliveryEnds(id);
  }
});

function envelope(parts: { type: string; key: string; occurredAt: string | null; body: string }): string {
  const { type, key, occurredAt, body } = parts;
  const at = occurredAt === null ? '' : `"occurred_at":"${occurredAt}",`;
  return `{"type":"${type}","idempotency_key":"${key}",${at}"body":${body}}`;
}

function checkRepeat(answer: Answer<Event>, first: Event): void {
  assert.deepEqual([answer.status, answer.headers.get('idempotent-replayed')], [200, 'true'], answer.text);
  // The same but for the statuses, which are those of now.
  assert.deepEqual(withoutStatus(answer.body), withoutStatus(first));
}

function withoutStatus(event: Event): object {
  return { ...event, deliveries: event.deliveries.map(({ status: _, ...delivery }) => delivery) };
}

function checkConflict(answer: Answer<ErrorBody>, what = 'the request'): void {
  assert.deepEqual(
    [answer.status, answer.body.error?.code],
    [409, 'idempotency_key_conflict'],
    `${what}: ${answer.text}`,
  );
}
