// GET /v1/deliveries with every filter: its first page and its 400th, or its last where it ends sooner.
import type { Bench } from '../bench.ts';
import { aimed, type Figure } from '../report.ts';
import type { Service } from '../service.ts';
import { loadOf } from './throughput.ts';

const ROWS_PER_PAGE = 25;
const FAR_PAGE = 400;
/** The walk there takes longer steps; a cursor does not mind. */
const ROWS_PER_STEP = 100;
const REQUESTS = 150;
const P99_MAX_MS = 10;

type Page = {
  data: { event_id: string; destination_id: string; created_at: string }[];
  has_more: boolean;
  next_cursor: string | null;
};
type Timed = { filter: string; p99: number };

/** `label` says how large the store is. */
export async function measureLists(bench: Bench, service: Service, label: string): Promise<Figure[]> {
  const first: Timed[] = [];
  const far: Timed[] = [];
  for (const filter of await listFilters(service)) {
    first.push({ filter, p99: await timePage(bench, service, filter) });
    const cursor = await walkTo(service, filter, (FAR_PAGE - 1) * ROWS_PER_PAGE);
    far.push({ filter, p99: cursor === null ? 0 : await timePage(bench, service, `${filter}&cursor=${cursor}`) });
  }
  return [...present(`${label}: first page`, first), ...present(`${label}: page ${FAR_PAGE}`, far)];
}

/** Every filter there is, and pairs, as query strings; ids and times are from the middle of what the list has. */
async function listFilters(service: Service): Promise<string[]> {
  const newest = await readPage(service, '');
  const cursor = await walkTo(service, 'status=succeeded', (FAR_PAGE / 2) * ROWS_PER_PAGE);
  const middle = await readPage(service, `status=succeeded${cursor === null ? '' : `&cursor=${cursor}`}`);
  const { event_id: event, destination_id: destination, created_at: since } = middle.data[0]!;
  const of = { event: `event_id=${event}`, destination: `destination_id=${destination}` };
  const range = `since=${since}&until=${newest.data[0]!.created_at}`;
  const statuses = ['pending', 'retrying', 'succeeded', 'dead'].map((status) => `status=${status}`);
  return [
    '',
    of.event,
    of.destination,
    ...statuses,
    range,
    `${of.event}&${of.destination}`,
    ...statuses.map((status) => `${of.event}&${status}`),
    `${of.event}&${range}`,
    ...statuses.map((status) => `${of.destination}&${status}`),
    `${of.destination}&${range}`,
    ...statuses.map((status) => `${status}&${range}`),
  ];
}

function readPage(service: Service, query: string): Promise<Page> {
  return service.call('GET', `/v1/deliveries?${query}`);
}

/** The cursor behind so many rows, or the last there is; null: one page holds all. */
async function walkTo(service: Service, filter: string, rows: number): Promise<string | null> {
  let cursor: string | null = null;
  for (let left = rows; left > 0;) {
    const limit = Math.min(left, ROWS_PER_STEP);
    const page = await readPage(service, `${filter}&limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`);
    if (page.next_cursor === null) return cursor;
    cursor = page.next_cursor;
    // A short page has looked at more rows than it shows.
    left -= Math.max(1, page.data.length === 0 ? limit : page.data.length);
  }
  return cursor;
}

async function timePage(bench: Bench, service: Service, query: string): Promise<number> {
  const load = { ...loadOf(service, []), bodies: [null], path: `/v1/deliveries?${query}`, connections: 1 };
  const { latencies, statuses } = await bench.closed({ load, requests: bench.sized(REQUESTS) });
  if (Object.keys(statuses).join() !== '200') throw new Error(`${query}: ${JSON.stringify(statuses)}`);
  return latencies.p99;
}

/** The slowest, with what it was, and every one that is too slow. */
function present(name: string, timed: Timed[]): Figure[] {
  const sorted = [...timed].sort((a, b) => b.p99 - a.p99);
  const shown = sorted.filter(({ p99 }, i) => i === 0 || p99 > P99_MAX_MS);
  return shown.map(({ filter, p99 }) => {
    const what = filter.replace(/=(?:evt|dst)_\w+/g, '').replace(/since=.*until=[^&]*/, 'since&until');
    return aimed({ name: `${name}, p99 with ${what || 'no filter'}`, value: p99, unit: 'ms' }, { atMost: P99_MAX_MS });
  });
}
