// An event that the database refuses, though nothing here found fault with it: its caller is told that something went
// wrong, and nobody else hears of it, though they share one transaction.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { NewEvent, Store } from '../../src/store/store.ts';
import { storeOptions } from './postgres/databases.ts';
import type { PostgresServer } from './postgres/server.ts';
import { sharedPostgres } from './postgres/shared.ts';
import { addDestination, startApi, type Api, type Json } from '../api/harness.ts';

type Result = { status: number; event?: Json; error?: { code: string; message: string; param: string } };

let server: PostgresServer;
let api: Api;
/** What each call of the store was given. */
let batches: NewEvent[][] = [];

before(async () => {
  server = await sharedPostgres();
  await server.create('refusing');
  const store = await openPostgresStore(storeOptions(server.urlOf('refusing')));
  api = await startApi({ store: noting(store) });
  await addDestination(api, { eventType: '**' });
  // No request that the service lets through is refused by its own schema: this stands for what nobody has thought of.
  const refusals = `
    ALTER TABLE events ADD CHECK (type <> 'refused.type');
    ALTER TABLE event_bodies ADD CHECK (position('refused'::bytea IN body) = 0);
    ALTER TABLE idempotency ADD CHECK (key <> 'refused');`;
  await server.query(refusals, 'refusing');
});
after(async () => {
  await api.close();
  await server.stop();
});

function noting(store: Store): Store {
  return {
    ...store,
    acceptEvents(events) {
      batches.push(events);
      return store.acceptEvents(events);
    },
  };
}

const good = (n: number) => ({ type: 'order.paid', body: { n } });
const REFUSED: readonly Json[] = [
  { type: 'refused.type', body: {} },
  { type: 'order.paid', body: { text: 'refused' } },
  { type: 'order.paid', body: {}, idempotency_key: 'refused' },
];

/** Each event that is stored, with the number of its deliveries. */
async function readStored(): Promise<Map<string, number>> {
  const rows = await server.query(
    `SELECT e.id, b.body, (SELECT count(*)::int4 FROM open_deliveries d WHERE d.event_id = e.id) AS deliveries
     FROM events e JOIN event_bodies b ON b.event_id = e.id`,
    'refusing',
  );
  const bodies = rows.map((row) => [String(row['body']), Number(row['deliveries'])] as const);
  assert.equal(new Set(bodies.map(([body]) => body)).size, bodies.length, 'nothing is stored twice');
  return new Map(bodies);
}

async function forget(): Promise<void> {
  await server.query('DELETE FROM open_deliveries; DELETE FROM event_bodies; DELETE FROM events', 'refusing');
  await server.query('DELETE FROM idempotency', 'refusing');
  api.dispatched.length = 0;
  api.logged.length = 0;
  batches = [];
}

test('a POST of it is answered with internal_error, and those written with it are accepted', async () => {
  await forget();
  const calls = [good(1), REFUSED[0]!, good(2), REFUSED[1]!, good(3), REFUSED[2]!, good(4)];
  const answers = await Promise.all(calls.map((body) => api.call('POST', '/v1/events', { body })));
  assert.ok(
    batches.some((batch) => batch.length > REFUSED.length),
    'they came together',
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    [202, 500, 202, 500, 202, 500, 202],
  );
  for (const { json } of answers.filter(({ status }) => status === 500)) {
    assert.equal((json.error as Json).code, 'internal_error');
    assert.ok(!String((json.error as Json).message).includes('constraint'), 'the database’s words are for the log');
  }
  const failures = api.logged.filter(({ message }) => message === 'a request failed');
  assert.equal(failures.length, REFUSED.length, 'the operator is told of each');
  const stored = [1, 2, 3, 4].map((n) => [`{"n":${n}}`, 1] as const);
  assert.deepEqual(await readStored(), new Map(stored));
  assert.equal(api.dispatched.length, 4, 'what was refused is not sent');
});

test('in a batch it is a result among others', async () => {
  await forget();
  const events = [good(1), ...REFUSED, good(2)];
  const { json } = await api.expect(200, 'POST', '/v1/events/batch', { body: { events } });
  const results = json.data as Result[];
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [events.length],
    'they are written together',
  );
  assert.deepEqual(
    results.map(({ status, error }) => [status, error?.code, error?.param]),
    [
      [202, undefined, undefined],
      [500, 'internal_error', '/events/1'],
      [500, 'internal_error', '/events/2'],
      [500, 'internal_error', '/events/3'],
      [202, undefined, undefined],
    ],
  );
  assert.deepEqual([...(await readStored()).values()], [1, 1]);
  for (const { event } of [results[0]!, results.at(-1)!]) {
    await api.expect(200, 'GET', `/v1/events/${String(event!.event_id)}`);
  }
});

test('its idempotency key stays free', async () => {
  await forget();
  const [, refused] = REFUSED;
  const key = { idempotency_key: 'free' };
  await api.refuse('internal_error', 'POST', '/v1/events', { body: { ...refused, ...key } });
  const together = {
    body: {
      events: [
        { ...refused, ...key },
        { ...good(1), ...key },
        { ...good(1), ...key },
      ],
    },
  };
  const { json } = await api.expect(200, 'POST', '/v1/events/batch', together);
  assert.deepEqual(
    (json.data as Result[]).map(({ status }) => status),
    [500, 202, 200],
  );
  const again = await api.expect(200, 'POST', '/v1/events', { body: { ...good(1), ...key } });
  assert.equal(again.json.event_id, (json.data as Result[])[1]!.event!.event_id);
  assert.deepEqual(await readStored(), new Map([['{"n":1}', 1]]));
});
