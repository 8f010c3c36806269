// Whatever a caller writes into a request of the endpoints for seeing and for operating in bulk, the answer is one that
// the OpenAPI document has, and never that something is wrong here.
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { requestStream, textOf, type OpenStream } from '../support/stream-reader.ts';
import { DAY_MS, addDestination, startApi, type Api, type Json } from './harness.ts';

const TIMES = [
  '',
  '0',
  '-1',
  '1e400',
  'now',
  '0000-01-01',
  '0001-01-01T00:00:00Z',
  '1969-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59.999Z',
  '+275760-09-13T00:00:00Z',
  '+275760-09-13T00:00:00.001Z',
  '2026-02-30',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:00:00+99:99',
];
const TEXTS = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  'other',
  '**',
  'a'.repeat(5_000),
  '__proto__',
  'dst_',
  'dst_0000',
  'a,b,,',
  '✓',
];
const VALUES = [...TIMES, ...TEXTS, null, true, 0, -1, 1.5, 1e308, 2 ** 53, [], {}, [null], ['dst_1', 'dst_1']];

let api: Api;
let id: string;
before(async () => {
  api = await startApi();
  id = await addDestination(api);
});
after(() => api.close());

async function holds(method: string, url: string, body?: Json): Promise<number> {
  // The answer is held against the document by the call itself.
  const { status, text } = await api.call(method, url, body === undefined ? {} : { body });
  assert.ok(status < 500, `${method} ${url} ${JSON.stringify(body)}: ${text}`);
  return status;
}

const QUERIES = {
  '/v1/stats': ['since', 'until', 'step', 'destination_id', 'event_type'],
  '/v1/destinations': ['state', 'status', 'cursor', 'limit'],
  '/v1/operations': ['cursor', 'limit'],
};

test('odd values in a query', async () => {
  for (const [path, names] of Object.entries(QUERIES)) {
    for (const name of names) {
      for (const value of [...TIMES, ...TEXTS]) {
        // Half of a surrogate pair cannot be written in an address.
        const text = encodeURIComponent(value.toWellFormed());
        await holds('GET', `${path}?${name}=${text}`);
      }
      await holds('GET', `${path}?${name}=%ff&${name}=1`);
    }
  }
});

test('odd values in the query of a stream, and for where it goes on', async () => {
  await api.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = api.app.server.address() as AddressInfo;
  const stream = { baseUrl: `http://127.0.0.1:${port}`, key: await api.makeKey() };
  const tried: OpenStream[] = [...TIMES, ...TEXTS].flatMap((value) => {
    const text = encodeURIComponent(value.toWellFormed());
    const names = ['kinds', 'destination_id', 'event_type', 'status', 'bodies'];
    // What a header may have at all.
    const lastId = value.replaceAll(/[^\x20-\x7e]/gu, '?');
    return [...names.map((name) => ({ ...stream, query: `${name}=${text}` })), { ...stream, lastId }];
  });
  tried.push({ ...stream, query: 'kinds=event&kinds=attempt' }, { ...stream, query: 'kinds=%ff' });
  const statuses = new Set<number>();
  for (const options of tried) {
    const response = await requestStream(options);
    statuses.add(response.statusCode!);
    if (response.statusCode === 200) response.destroy();
    else {
      await textOf(response);
      await holds('GET', `/v1/stream?${options.query}`);
    }
  }
  assert.deepEqual(statuses, new Set([200, 400]));
});

test('ranges without measure, at every step', async () => {
  for (const since of TIMES) {
    for (const until of TIMES) {
      for (const step of ['1m', '1d']) {
        const query = new URLSearchParams({ since, until, step });
        await holds('GET', `/v1/stats?${query.toString()}`);
      }
    }
  }
  const now = api.clock.now();
  const since = new Date(now - 90 * DAY_MS).toISOString();
  const statuses: number[] = [];
  for (const step of ['1m', '5m', '1h', '1d'])
    statuses.push(await holds('GET', `/v1/stats?since=${since}&step=${step}`));
  assert.deepEqual(statuses, [400, 400, 400, 200]);
  assert.equal(await holds('GET', `/v1/stats?since=${since}`), 200, 'with the step that fits');
});

test('odd values in a body', async () => {
  const bodies: Record<string, Record<string, Json>> = {
    '/v1/dlq/replay': { destination_id: {}, event_type: {}, dead_reason: {}, since: {}, until: {}, per_second: {} },
    [`/v1/destinations/${id}/recover`]: { since: {}, until: {}, per_second: {}, dry_run: {} },
    '/v1/events/replay': {
      event_type: {},
      since: {},
      until: {},
      destination_ids: {},
      missing_only: {},
      per_second: {},
    },
    '/v1/explain': { type: {}, body: {}, event_id: {} },
  };
  for (const [path, members] of Object.entries(bodies)) {
    for (const name of Object.keys(members)) {
      for (const value of VALUES) {
        const usual = path === '/v1/explain' ? { type: 'a.b', body: {} } : { since: '2020-01-01', dry_run: true };
        await holds('POST', path, { ...usual, [name]: value });
      }
    }
  }
});

test('odd ids in a path', async () => {
  const texts = TEXTS.map((text) => encodeURIComponent(text.toWellFormed()));
  for (const text of [...texts, `${id}0`, id.toUpperCase(), '%00']) {
    await holds('GET', `/v1/destinations/${text}/health`);
    await holds('POST', `/v1/destinations/${text}/test`, {});
    await holds('POST', `/v1/destinations/${text}/recover`, { since: '2020-01-01' });
    await holds('GET', `/v1/operations/${text}`);
    for (const action of ['cancel', 'pause', 'resume']) await holds('POST', `/v1/operations/${text}/${action}`);
  }
});
