// GET /v1/stream over sockets, on a clock that stands still: what comes, what filters let through, where a stream goes
// on, and what becomes of one that nobody reads.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { RING_BYTES_MAX } from '../../src/stream/ring.ts';
import { openStream, requestStream, textOf, type OpenStream, type StreamReader } from '../support/stream-reader.ts';
import { addDestination, postEvent, startApi, type Api, type Json } from './harness.ts';

/** Of one process, as docs/guides/follow-live.md has it. */
const STREAMS_MAX = 200;

type Served = { api: Api; key: string; open: (query?: string, more?: Partial<OpenStream>) => Promise<StreamReader> } & {
  baseUrl: string;
};

async function serve(t: TestContext): Promise<Served> {
  const api = await startApi();
  t.after(() => api.close());
  await api.app.listen({ host: '127.0.0.1', port: 0 });
  const baseUrl = `http://127.0.0.1:${(api.app.server.address() as AddressInfo).port}`;
  const key = await api.makeKey();
  const open: Served['open'] = async (query = '', more = {}) => {
    const reader = await openStream({ baseUrl, key, query, ...more });
    t.after(() => reader.close());
    return reader;
  };
  return { api, key, open, baseUrl };
}

const kindsOf = ({ messages }: StreamReader): string[] => messages.map(({ event }) => event);

/** The server has noticed the end of every connection. */
async function whenNobodyIsConnected({ app }: Api): Promise<void> {
  const count = promisify(app.server.getConnections.bind(app.server));
  while ((await count()) > 0) await new Promise((resolve) => setImmediate(resolve));
}

describe('GET /v1/stream', () => {
  it('sends an accepted event and its deliveries, as the lists show them', async (t) => {
    const { api, open } = await serve(t);
    await addDestination(api);
    const stream = await open();
    assert.equal(stream.headers['content-type'], 'text/event-stream');
    const posted = await postEvent(api, { idempotency_key: 'a' });
    const [event, delivery] = await stream.first(2);
    const [listedEvent] = (await api.call('GET', '/v1/events')).json.data as Json[];
    const [listedDelivery] = (await api.call('GET', '/v1/deliveries')).json.data as Json[];
    assert.deepEqual([event!.event, event!.data], ['event', listedEvent]);
    assert.deepEqual([delivery!.event, delivery!.data], ['delivery', listedDelivery]);
    assert.equal(event!.data['event_id'], posted.json.event_id);
    assert.ok(event!.id < delivery!.id);
  });

  it('sends destinations that change, without what is secret, and those that are deleted', async (t) => {
    const { api, open } = await serve(t);
    const stream = await open('kinds=destination');
    const id = await addDestination(api, { eventType: null, headers: { authorization: 'Bearer secret' } });
    const [created] = await stream.first(1);
    assert.deepEqual(created!.data, (await api.call('GET', `/v1/destinations/${id}`)).json);
    await api.expect(200, 'PATCH', `/v1/destinations/${id}`, { body: { status: 'paused' } });
    await api.expect(204, 'DELETE', `/v1/destinations/${id}`);
    const [, paused, deleted] = await stream.first(3);
    assert.equal(paused!.data['status'], 'paused');
    assert.deepEqual(deleted!.data, { id, deleted: true });
  });

  it('sends replays and deliveries that are sent again', async (t) => {
    const { api, open } = await serve(t);
    await addDestination(api);
    const posted = await postEvent(api);
    const stream = await open();
    const eventId = posted.json.event_id as string;
    const replayed = await api.expect(202, 'POST', `/v1/events/${eventId}/replay`, { body: {} });
    const [delivery] = await stream.first(1);
    assert.deepEqual([delivery!.event, delivery!.data], ['delivery', (replayed.json.data as Json[])[0]]);
    const retried = await api.expect(202, 'POST', `/v1/deliveries/${delivery!.data['id'] as string}/retry`);
    const [, again] = await stream.first(2);
    assert.deepEqual([again!.event, again!.data], ['delivery', retried.json]);
  });

  it('keeps environments apart', async (t) => {
    const { api, open } = await serve(t);
    const testKey = await api.makeKey({ mode: 'test' });
    const live = await open();
    const inTest = await open('', { key: testKey });
    const posted = await postEvent(api, {}, testKey);
    await inTest.first(1);
    const own = await postEvent(api);
    const [first] = await live.first(1);
    assert.equal(first!.data['event_id'], own.json.event_id);
    assert.deepEqual(
      inTest.messages.map(({ data }) => data['event_id']),
      [posted.json.event_id],
    );
  });

  it('has the bodies of events for those who ask for them', async (t) => {
    const { api, open } = await serve(t);
    const [withBodies, without] = [await open('bodies=true'), await open()];
    const long = { text: 'x'.repeat(65_536) };
    await api.expect(202, 'POST', '/v1/events', {
      body: '{"type":"a.b","body":{\r\n "n": 1.0,\n"big":12345678901234567890}}',
    });
    await postEvent(api, { body: long });
    const [short, tooLong] = await withBodies.first(2);
    assert.deepEqual(short!.data['body'], JSON.parse('{"n":1.0,"big":12345678901234567890}'));
    assert.ok(!('body_bytes' in short!.data));
    assert.deepEqual([tooLong!.data['body'], tooLong!.data['body_bytes']], [null, JSON.stringify(long).length]);
    const [plain] = await without.first(1);
    assert.ok(!('body' in plain!.data));
  });

  it('answers HEAD with the headers alone, and opens nothing', async (t) => {
    const { api, key, baseUrl } = await serve(t);
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${baseUrl}/v1/stream`, { method: 'HEAD', headers });
    const answered = ['content-type', 'content-length'].map((name) => response.headers.get(name));
    assert.deepEqual([response.status, ...answered], [200, 'text/event-stream', null]);
    await whenNobodyIsConnected(api);
  });

  it('has a comment every 15 seconds', async (t) => {
    const { api, open } = await serve(t);
    const stream = await open();
    await stream.until(() => stream.comments === 1);
    api.clock.advance(14_000);
    api.clock.advance(1_000);
    await stream.until(() => stream.comments === 2);
    api.clock.advance(15_000);
    await stream.until(() => stream.comments === 3);
    assert.deepEqual(stream.messages, []);
  });

  it('ends when the caller ends its side', async (t) => {
    const { api, key } = await serve(t);
    const { port } = api.app.server.address() as AddressInfo;
    const accepted = once(api.app.server, 'connection') as Promise<[Socket]>;
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    t.after(() => void socket.destroy());
    socket.write(`GET /v1/stream HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n\r\n`);
    const [[serverEnd]] = await Promise.all([accepted, once(socket, 'data')]);
    socket.end();
    await once(serverEnd, 'close');
  });

  it('ends when its key is revoked', async (t) => {
    const { api, open } = await serve(t);
    const key = await api.makeKey();
    const [stream, other] = [await open('', { key }), await open()];
    const listed = (await api.call('GET', '/v1/api-keys')).json.data as { id: string }[];
    await api.expect(204, 'DELETE', `/v1/api-keys/${listed[0]!.id}`);
    api.clock.advance(1_000);
    await stream.ended();
    assert.equal(other.isOver, false);
  });

  it('goes on in a session of the dashboard, and ends with it', async (t) => {
    const { api, baseUrl, open } = await serve(t);
    const key = await api.makeKey({ mode: 'test' });
    const own = { host: new URL(baseUrl).host, origin: baseUrl };
    const { headers } = await api.call('POST', '/session', { key: null, body: { key }, headers: own });
    const cookie = String(headers['set-cookie']).split(';')[0]!;
    const stream = await open('', { cookie });
    for (let count = 1; count <= 3; count++) {
      api.clock.advance(1_000);
      await postEvent(api, {}, key);
      await stream.first(count);
    }
    await api.expect(204, 'DELETE', '/session/test', { key: null, headers: { ...own, cookie } });
    api.clock.advance(1_000);
    await stream.ended();
  });

  it('ends at once when the server closes', async (t) => {
    const { api, open } = await serve(t);
    const stream = await open();
    await Promise.all([stream.ended(), api.app.close()]);
  });

  it(`is refused beyond ${STREAMS_MAX}, until one ends`, async (t) => {
    const { baseUrl, key, open } = await serve(t);
    const streams = await Promise.all(Array.from({ length: STREAMS_MAX }, () => open()));
    const refused = await requestStream({ baseUrl, key });
    assert.equal(refused.statusCode, 429);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    assert.match(await textOf(refused), /"rate_limited"/);
    streams[0]!.close();
    for (;;) {
      const next = await requestStream({ baseUrl, key });
      t.after(() => next.destroy());
      if (next.statusCode === 200) break;
      await textOf(next);
    }
  });
});

describe('the filters of a stream', () => {
  it('kinds, destination_id, event_type and status', async (t) => {
    const { api, open } = await serve(t);
    const orders = await addDestination(api, { eventType: 'order.**' });
    const all = await addDestination(api);
    const streams = {
      kinds: await open('kinds=delivery,destination'),
      destination: await open(`destination_id=${orders}`),
      type: await open('event_type=order.*'),
      status: await open('status=pending'),
      other: await open('status=dead'),
      nothing: await open('destination_id=nonsense'),
      everything: await open(),
    };
    await postEvent(api, { type: 'order.paid' });
    await postEvent(api, { type: 'order.paid.late' });
    await postEvent(api, { type: 'user.created' });
    await api.expect(200, 'PATCH', `/v1/destinations/${all}`, { body: { name: 'all' } });
    await api.expect(200, 'PATCH', `/v1/destinations/${orders}`, { body: { name: 'orders' } });
    await streams.everything.first(10);
    await streams.kinds.first(7);
    assert.deepEqual(kindsOf(streams.kinds).toSorted(), [...Array(5).fill('delivery'), 'destination', 'destination']);
    await streams.destination.first(5);
    assert.deepEqual(kindsOf(streams.destination), ['event', 'delivery', 'event', 'delivery', 'destination']);
    await streams.type.first(3);
    assert.deepEqual(kindsOf(streams.type), ['event', 'delivery', 'delivery']);
    await streams.status.first(5);
    assert.deepEqual(new Set(kindsOf(streams.status)), new Set(['delivery']));
    for (const { messages } of [streams.other, streams.nothing]) assert.deepEqual(messages, []);
  });

  it('are refused when they are wrong', async (t) => {
    const { api } = await serve(t);
    for (const [query, code, param] of [
      ['kinds=event,nonsense', 'invalid_request', 'kinds'],
      ['kinds=', 'invalid_request', 'kinds'],
      ['status=lost', 'invalid_request', 'status'],
      ['bodies=yes', 'invalid_request', 'bodies'],
      ['event_type=a.*.b', 'invalid_event_type_pattern', 'event_type'],
      ['limit=3', 'invalid_request', 'limit'],
    ] as const) {
      assert.equal((await api.refuse(code, 'GET', `/v1/stream?${query}`)).param, param);
    }
    await api.refuse('unauthorized', 'GET', '/v1/stream', { key: null });
    await api.refuse('forbidden', 'GET', '/v1/stream', { key: await api.makeKey({ scopes: ['publish'] }) });
  });
});

describe('a stream that is resumed', () => {
  const numberOf = ({ data }: { data: Json }): unknown => (data['body'] as Json)['n'];

  it('goes on after the message that it names, for a minute after it ended', async (t) => {
    const { api, open } = await serve(t);
    const before = await open('bodies=true');
    for (const n of [1, 2]) await postEvent(api, { body: { n } });
    const [first, second] = await before.first(2);
    before.close();
    await before.ended();
    api.clock.advance(50_000);
    await postEvent(api, { body: { n: 3 } });
    const after = await open('bodies=true', { lastId: first!.id });
    assert.deepEqual((await after.first(2)).map(numberOf), [2, 3]);
    assert.equal(after.messages[0]!.id, second!.id);
  });

  it('begins with a gap when the message is not there any more, and not twice', async (t) => {
    const { api, open } = await serve(t);
    const before = await open();
    await postEvent(api);
    const [message] = await before.first(1);
    before.close();
    await before.ended();
    await whenNobodyIsConnected(api);
    // The last of them may have been seen to end, and its stream not yet.
    for (let turns = 0; turns < 10; turns++) {
      api.clock.advance(61_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const after = await open('', { lastId: message!.id });
    await postEvent(api);
    const [gap, next] = await after.first(2);
    assert.deepEqual([gap!.event, gap!.data, next!.event], ['gap', { missed: null }, 'event']);
    const again = await open('', { lastId: gap!.id });
    assert.deepEqual((await again.first(1))[0], next);
    const unknown = await open('', { lastId: 'nonsense' });
    assert.deepEqual((await unknown.first(1))[0]!.event, 'gap');
  });
});

describe('a stream that is not read', () => {
  it('loses messages, is told how many of those it wanted, and holds nothing up', async (t) => {
    const { api, open } = await serve(t);
    const [slow, quick] = [await open('event_type=order.**&bodies=true'), await open('kinds=event')];
    slow.stopReading();
    const post = async (type: string): Promise<void> => {
      // What the operating system keeps for a socket is some megabytes as well.
      const events = Array.from({ length: 1_000 }, () => ({ type, body: { text: 'x'.repeat(4_096) } }));
      await api.expect(200, 'POST', '/v1/events/batch', { body: { events } });
    };
    const batches = 2 * Math.ceil(RING_BYTES_MAX / (4_096 * 1_000));
    for (let i = 0; i < batches; i++) {
      await post(i % 2 === 0 ? 'order.paid' : 'user.created');
      await quick.until(() => quick.messages.length === 1_000 * (i + 1));
    }
    slow.readOn();
    const seen = (): number => slow.messages.filter(({ event }) => event === 'event').length;
    const missed = (): number =>
      slow.messages
        .filter(({ event }) => event === 'gap')
        .reduce((sum, { data }) => sum + (data['missed'] as number), 0);
    await slow.until(() => seen() + missed() >= (batches / 2) * 1_000);
    assert.equal(seen() + missed(), (batches / 2) * 1_000);
    assert.ok(missed() > 0 && seen() > 0);
    assert.ok(!kindsOf(quick).includes('gap'));
  });
});
