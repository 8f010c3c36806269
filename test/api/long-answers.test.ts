// Answers that list very many deliveries: the same JSON as any other, made only as far as the caller takes it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import Fastify from 'fastify';
import { pieceDelivery } from '../../src/api/output/delivery-answer.ts';
import { piecePage, sendPieces, type Piece } from '../../src/api/output/pieces.ts';
import type { DeliveryWithAttempts } from '../../src/model/delivery.ts';
import { StoreError } from '../../src/store/store.ts';
import { addDestination, startApi, type Api, type Json } from './harness.ts';

const SUBSCRIPTIONS = 1_001;
const EVENT = { type: 'many.one', body: { n: 1 }, idempotency_key: 'many' };

let api: Api;
before(async () => {
  api = await startApi();
  for (let made = 0; made < SUBSCRIPTIONS;) {
    const destination_id = await addDestination(api, { eventType: null });
    for (let n = 0; n < 1_000 && made < SUBSCRIPTIONS; n++, made++) {
      const filter = { [`$.absent${n}`]: { $exists: false } };
      await api.expect(201, 'POST', '/v1/subscriptions', { body: { destination_id, event_type: 'many.*', filter } });
    }
  }
});
after(() => api.close());

const idsOf = (rows: unknown): string[] => (rows as Json[]).map(({ id }) => id as string);

test('an event for very many destinations is answered, repeated, read and replayed in full', async () => {
  const first = await api.expect(202, 'POST', '/v1/events', { body: EVENT });
  const ids = idsOf(first.json.deliveries);
  assert.equal(new Set(ids).size, SUBSCRIPTIONS);
  const again = await api.expect(200, 'POST', '/v1/events', { body: EVENT });
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.deepEqual(again.json, first.json);
  const url = `/v1/events/${String(first.json.event_id)}`;
  assert.deepEqual((await api.expect(200, 'GET', url)).json, { ...first.json, body: EVENT.body });
  const replayed = await api.expect(202, 'POST', `${url}/replay`, { body: {} });
  const rows = replayed.json.data as Json[];
  assert.equal(rows.length, SUBSCRIPTIONS);
  assert.deepEqual(idsOf((await api.expect(200, 'GET', url)).json.deliveries), [...ids, ...idsOf(rows)]);
});

test('a batch lists what each of its events got, repeats too', async () => {
  const body = { events: [EVENT, { ...EVENT, body: {} }, { ...EVENT, idempotency_key: 'other' }] };
  const { json } = await api.expect(200, 'POST', '/v1/events/batch', { body });
  const results = json.data as { status: number; event?: Json }[];
  assert.deepEqual(
    results.map(({ status, event }) => [status, event === undefined ? null : idsOf(event.deliveries).length]),
    [
      [200, SUBSCRIPTIONS],
      [409, null],
      [202, SUBSCRIPTIONS],
    ],
  );
});

test('a page that cannot be read at once does not spoil the rest of the answer', async () => {
  const { store } = api.services;
  let failures = 2;
  api.services.store = {
    ...store,
    readScheduledDeliveries: (request) => {
      if (request.after === null || failures === 0) return store.readScheduledDeliveries(request);
      failures--;
      setImmediate(() => api.clock.advance(1_000));
      return Promise.reject(new StoreError('unavailable', 'away for a moment'));
    },
  };
  const { json } = await api.expect(200, 'POST', '/v1/events', { body: EVENT });
  api.services.store = store;
  assert.deepEqual([idsOf(json.deliveries).length, failures], [SUBSCRIPTIONS, 0]);
});

test('an answer is made only as far as it is taken, and no further when the connection ends', async (t) => {
  const app = Fastify();
  t.after(() => app.close());
  const ended = Promise.withResolvers<number>();
  async function* endless(): AsyncGenerator<Piece> {
    let made = 0;
    try {
      for (; ; made += 1_000) yield 'x'.repeat(1_000);
    } finally {
      ended.resolve(made);
    }
  }
  app.get('/', async (_request, reply) => sendPieces(reply, endless(), { status: 200 }));
  await app.listen({ port: 0, host: '127.0.0.1' });
  const request = get({ host: '127.0.0.1', port: (app.server.address() as AddressInfo).port });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let taken = 0;
  for await (const chunk of response) {
    taken += (chunk as Buffer).length;
    if (taken > 1_000_000) break;
  }
  const made = await ended.promise;
  // What the sockets' buffers hold besides is the system's.
  assert.ok(made < 64 * 1024 * 1024, `${made} bytes were made for ${taken} taken`);
});

test('the attempts of a delivery are written one by one, and others have their turn between them', async () => {
  const attempts = [1, 2, 3].map((attempt) => ({ attempt, responseHeaders: '[["a","1"]]', responseBody: null }));
  const reply = { serializeInput: JSON.stringify } as never;
  let breaks = 0;
  const piecesOf = (some: readonly object[]) =>
    pieceDelivery(
      api.services,
      reply,
      { id: 'd', attemptCount: some.length, attempts: some } as unknown as DeliveryWithAttempts,
      async () => void breaks++,
    );
  let text = '';
  for await (const piece of piecesOf(attempts)) {
    text += String(piece);
    assert.ok(breaks <= 1 + (text.match(/"attempt"/g)?.length ?? 0));
  }
  assert.equal(breaks, 3);
  const { retries } = JSON.parse(text) as { retries: Json[] };
  assert.deepEqual(
    retries.map(({ attempt, response_headers }) => [attempt, response_headers]),
    [1, 2, 3].map((n) => [n, { a: ['1'] }]),
  );
  assert.equal((await Array.fromAsync(piecesOf([]))).join(''), '{"id":"d","attempt_count":0,"retries":[]}');
});

test('the rows of a page are written one by one, and others have their turn between them', async () => {
  let breaks = 0;
  const pageOf = async (data: number[], next_cursor: string | null) => {
    const page = { data, has_more: next_cursor !== null, next_cursor };
    const write = (row: number): string => JSON.stringify({ row, breaks });
    const pieces = piecePage(page, write, async () => void breaks++);
    return JSON.parse((await Array.fromAsync(pieces)).join('')) as Json;
  };
  const rows = [7, 8, 9].map((row, i) => ({ row, breaks: i + 1 }));
  assert.deepEqual(await pageOf([7, 8, 9], 'abc'), { data: rows, has_more: true, next_cursor: 'abc' });
  assert.deepEqual(await pageOf([], null), { data: [], has_more: false, next_cursor: null });
});
