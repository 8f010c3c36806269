// The dashboard on a store of ten million deliveries, with a month of counts: what its pages ask the service for, in a
// real browser, and how soon they show something.
import { performance } from 'node:perf_hooks';
import type { Page, Request } from 'playwright-core';
import { Counts, encodeCounts, outcomeIndex } from '../../src/stats/counts.ts';
import { openBrowser, openPage, signIn } from '../../test/dashboard/browser.ts';
import type { Bench, Case } from '../bench.ts';
import { createGrowing, grow, grownSize } from '../grown-store.ts';
import { median } from '../measure.ts';
import { aimed, type Figure, type Report } from '../report.ts';
import type { Service } from '../service.ts';
import { ENVIRONMENT, fillStoreFile } from '../store-file.ts';

const DELIVERIES = 10_000_000;
const VISITS = 5;
/** The one that is no GET. */
const EXPLAIN = '/v1/explain';
/** After a page's first paint: charts and names come by then. */
const SETTLE_MS = 2_000;
const REQUEST_MS_MAX = 100;
const PAINT_MS_MAX = 1_000;

export const pages: Case = {
  name: 'pages',
  about: 'the dashboard’s pages on a store of ten million deliveries: their slowest requests, and the first paint',
  store: 'sqlite',
  isLong: true,
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const service = await createGrowing(bench);
  const total = grownSize(bench, DELIVERIES);
  await grow(service, { from: 0, to: total, total });
  fillStoreFile(service.dataDir, (db) => {
    const insert = db.prepare(INSERT_COUNTS);
    const now = Date.now();
    for (const { span, ms, count } of SPANS) insert.run(span, ms, Math.floor(now / ms) * ms, count, busyCounts());
  });
  await service.start();
  const browser = await openBrowser({ after: (cleanup) => bench.atEnd(cleanup) });
  if (typeof browser === 'string') return [{ case: 'pages', figures: [], notes: [browser] }];
  const { page } = await openPage(browser, service.url);
  await signIn(page, service.key);
  const figures: Figure[] = [];
  const notes: string[] = [];
  for (const [name, path] of Object.entries(await pathsOf(service))) {
    const visits: Visit[] = [];
    for (let i = 0; i < VISITS; i++) visits.push(await visit(page, path));
    const slowest = visits.flatMap(({ requests }) => requests).reduce((a, b) => (a.ms > b.ms ? a : b));
    notes.push(`${name}: slowest was ${slowest.url}`);
    const alone = await timeAlone(service, visits);
    figures.push(
      { name: `${name}: slowest request, among all of the page`, value: slowest.ms, unit: 'ms' },
      aimed({ name: `${name}: slowest request, by itself`, value: alone, unit: 'ms' }, { atMost: REQUEST_MS_MAX }),
      aimed(
        { name: `${name}: largest paint`, value: median(visits.map(({ paintMs }) => paintMs)), unit: 'ms' },
        { atMost: PAINT_MS_MAX },
      ),
    );
  }
  return [{ case: 'pages', figures, notes }];
}

/** Minutes of two days and hours of a month, as long as they are kept. */
const SPANS = [
  { span: 0, ms: 60_000, count: 2 * 24 * 60 },
  { span: 1, ms: 3_600_000, count: 30 * 24 },
];

// ?1 to ?5: the span's number and ms, the beginning of its last one, how many there are, and what each of them counted.
const INSERT_COUNTS = `
  WITH RECURSIVE
    steps (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM steps WHERE n + 1 < ?4),
    subjects (kind, subject) AS (
      SELECT 0, x'' UNION ALL
      SELECT 1, id FROM destinations WHERE environment = ${ENVIRONMENT} UNION ALL
      SELECT 2, CAST(type AS BLOB) FROM (SELECT DISTINCT type FROM events LIMIT 20))
  INSERT INTO stats (span, environment, kind, subject, at, writer, counts)
  SELECT ?1, ${ENVIRONMENT}, kind, subject, ?3 - n * ?2, 1, ?5 FROM subjects, steps
  ORDER BY kind, subject, ?3 - n * ?2`;

/** Two attempts in three at once, the others over every duration; one in ten fails. */
function busyCounts(): Uint8Array {
  const counts = new Counts();
  counts.eventsAccepted = 100;
  counts.deliveriesScheduled = 100;
  counts.deliveriesSucceeded = 90;
  counts.attempts[outcomeIndex('succeeded')] = 90;
  counts.attempts[outcomeIndex('bad_status')] = 10;
  for (let bucket = 20; bucket < 120; bucket++) {
    counts.attempt.add(bucket, 1);
    counts.firstAttempt.add(bucket, 1);
  }
  return encodeCounts(counts);
}

/** One page of each kind; ids are from the middle of what there is. */
async function pathsOf(service: Service): Promise<Record<string, string>> {
  type Rows = { data: { id: string; event_id: string; destination_id: string }[] };
  const { data } = await service.call<Rows>('GET', '/v1/deliveries?status=dead&limit=1');
  const { id, event_id: event, destination_id: destination } = data[0]!;
  return {
    overview: '/test',
    'overview of 24 hours': '/test?range=24h',
    'overview of 30 days': '/test?range=30d',
    deliveries: '/test/deliveries',
    'deliveries, dead': '/test/deliveries?status=dead',
    'deliveries of a destination': `/test/deliveries?destination_id=${destination}`,
    delivery: `/test/deliveries/${id}`,
    events: '/test/events',
    event: `/test/events/${event}`,
    send: `/test/send?from=${event}`,
    destinations: '/test/destinations',
    destination: `/test/destinations/${destination}`,
    'dead letters': '/test/dlq',
    operations: '/test/operations',
    keys: '/test/keys',
  };
}

type Visit = { requests: { url: string; ms: number }[]; paintMs: number };

/** Of what a page reads, what takes longest when nothing else is asked for: the median of three. */
async function timeAlone(service: Service, visits: readonly Visit[]): Promise<number> {
  const urls = new Set(visits.flatMap(({ requests }) => requests.map(({ url }) => url)));
  const times: number[] = [];
  for (const url of urls) {
    if (url === EXPLAIN) continue;
    const runs: number[] = [];
    for (let i = 0; i < 3; i++) {
      const startedAt = performance.now();
      await (await fetch(`${service.url}${url}`, { headers: { authorization: `Bearer ${service.key}` } })).text();
      runs.push(performance.now() - startedAt);
    }
    times.push(median(runs));
  }
  return Math.max(...times);
}

/** Loads it anew, as a link from elsewhere would. */
async function visit(page: Page, path: string): Promise<Visit> {
  const requests: Visit['requests'] = [];
  const note = (request: Request): void => {
    const { pathname, search } = new URL(request.url());
    if (!pathname.startsWith('/v1/') || pathname === '/v1/stream') return;
    const { responseStart, responseEnd } = request.timing();
    requests.push({ url: pathname + search, ms: Math.max(responseStart, responseEnd) });
  };
  page.on('requestfinished', note);
  await page.goto(path);
  await page.waitForTimeout(SETTLE_MS);
  page.off('requestfinished', note);
  return { requests, paintMs: await page.evaluate<number>(LARGEST_PAINT) };
}

/** When the largest thing was shown that the page has so far, ms from its beginning. */
const LARGEST_PAINT = `new Promise((resolve) => {
  const observer = new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime));
  observer.observe({ type: 'largest-contentful-paint', buffered: true });
})`;
