// A walk over a list never shows a row twice and shows every row that matched throughout, whatever is inserted or
// removed meanwhile and however the limit changes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as fc from 'fast-check';
import { addDestination, postEvent, startApi, type Api, type Json } from './harness.ts';

let api: Api;
before(async () => {
  api = await startApi();
});
after(() => api.close());

type Page = { data: Json[]; has_more: boolean; next_cursor: string | null };

async function page(url: string, query: Record<string, string>, key?: string): Promise<Page> {
  const call = key === undefined ? {} : { key };
  const { json } = await api.expect(200, 'GET', `${url}?${new URLSearchParams(query).toString()}`, call);
  const read = json as Page;
  assert.equal(read.has_more, read.next_cursor !== null);
  return read;
}

type List = {
  url: string;
  id: string;
  insert: (n: number) => Promise<string>;
  /** How to make a row leave the list; absent: rows stay. */
  remove?: (id: string) => Promise<unknown>;
  query?: Record<string, string>;
};

const LISTS: List[] = [
  {
    url: '/v1/destinations',
    id: 'id',
    insert: () => addDestination(api, { eventType: null }),
    remove: (id) => api.expect(204, 'DELETE', `/v1/destinations/${id}`),
  },
  {
    url: '/v1/destinations',
    id: 'id',
    query: { status: 'active' },
    insert: () => addDestination(api, { eventType: null }),
    remove: (id) => api.expect(200, 'PATCH', `/v1/destinations/${id}`, { body: { status: 'paused' } }),
  },
  {
    url: '/v1/events',
    id: 'event_id',
    query: { type: 'walk.**', since: '2020-01-01' },
    insert: async (n) => {
      await postEvent(api, { type: 'other.type' });
      return String((await postEvent(api, { type: `walk.n${n}` })).json.event_id);
    },
  },
  {
    url: '/v1/api-keys',
    id: 'id',
    insert: async () => String((await api.expect(201, 'POST', '/v1/api-keys')).json.id),
    remove: (id) => api.expect(204, 'DELETE', `/v1/api-keys/${id}`),
  },
];

for (const { url, id, insert, remove, query = {} } of LISTS) {
  test(`a walk over ${url} ${JSON.stringify(query)} is whole`, async () => {
    const step = fc.record({ limit: fc.integer({ min: 1, max: 4 }), inserts: fc.nat(2), removes: fc.boolean() });
    const steps = fc.array(step, { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 6 }), steps, async (initial, plan) => {
        const throughout = new Set<string>();
        for (let n = 0; n < initial; n++) throughout.add(await insert(n));
        const seen: string[] = [];
        let cursor: string | null = null;
        for (let n = 0; ; n++) {
          // The plan ends before the rows of earlier runs do.
          const { limit, inserts, removes } = plan[n] ?? { limit: 100, inserts: 0, removes: false };
          const read: Page = await page(url, {
            ...query,
            limit: String(limit),
            ...(cursor === null ? {} : { cursor }),
          });
          assert.ok(read.data.length <= limit);
          seen.push(...read.data.map((row) => String(row[id])));
          cursor = read.next_cursor;
          if (cursor === null) break;
          for (let i = 0; i < inserts; i++) await insert(n);
          const [victim] = throughout;
          if (removes && remove !== undefined && victim !== undefined) {
            await remove(victim);
            throughout.delete(victim);
          }
        }
        assert.equal(new Set(seen).size, seen.length, 'a row was shown twice');
        for (const row of throughout) assert.ok(seen.includes(row), `${row} was left out`);
        assert.deepEqual(seen, seen.toSorted().reverse(), 'not newest first');
      }),
      { numRuns: 15 },
    );
  });
}

test('a cursor fits only the list, the filters and the environment that made it', async () => {
  const destination = await addDestination(api);
  await postEvent(api);
  await postEvent(api);
  const testKey = await api.makeKey({ mode: 'test' });
  for (let n = 0; n < 2; n++) await addDestination(api, { key: testKey, eventType: null });
  const deliveries = (await page('/v1/deliveries', { limit: '1', destination_id: destination })).next_cursor!;
  const same = { cursor: deliveries, destination_id: destination };
  assert.equal((await page('/v1/deliveries', { ...same, limit: '50' })).data.length, 1);
  const strangers: [url: string, query: Record<string, string>, key?: string][] = [
    ['/v1/deliveries', { cursor: deliveries }],
    ['/v1/deliveries', { ...same, status: 'pending' }],
    ['/v1/deliveries', { ...same, since: '2020-01-01' }],
    ['/v1/deliveries', same, testKey],
    ['/v1/dlq', same],
    ['/v1/destinations', { cursor: (await page('/v1/destinations', { limit: '1' }, testKey)).next_cursor! }],
  ];
  for (const [url, query, key] of strangers) {
    const call = key === undefined ? {} : { key };
    await api.refuse('invalid_cursor', 'GET', `${url}?${new URLSearchParams(query).toString()}`, call);
  }
});
