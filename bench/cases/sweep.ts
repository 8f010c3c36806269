// How long a node takes to find every destination that has work: the sweep at its start, when it takes shards over, and
// every 30 s. Measured in this process, by the store's own method; the rows are written by SQL.
import type { Bench } from '../bench.ts';
import { fillWaiting } from '../fill-waiting.ts';
import { figureOf, type Figure } from '../report.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';

const DESTINATIONS = 100_000;
const REPEATS = 5;
/** As the service asks. */
const PAGE = 1_000;

export async function measureSweep(bench: Bench): Promise<Figure[]> {
  const database = await bench.postgres.createDatabase();
  const { masterKey } = bench.postgres;
  const store = await openPostgresStore({ url: database.url, masterKey, clock: systemClock, random: systemRandom });
  try {
    const destinations = bench.sized(DESTINATIONS);
    await fillWaiting(database.url, destinations);
    const cpuBefore = bench.postgres.readCpu();
    const times: number[] = [];
    for (let i = 0; i < REPEATS; i++) times.push(await timeSweep(store, destinations));
    const cpuMs = (bench.postgres.readCpu() - cpuBefore) / REPEATS / 1000;
    const of = (ms: number): number => (ms * DESTINATIONS) / destinations;
    return [
      { name: 'destinations with a delivery each', value: destinations, unit: '' },
      figureOf('sweep of 100,000 destinations', 'ms', times.map(of)),
      { name: 'of it, CPU of PostgreSQL', value: of(cpuMs), unit: 'ms' },
    ];
  } finally {
    await store.close();
  }
}

/** In ms, over all pages. */
async function timeSweep(store: Store, expected: number): Promise<number> {
  const startedAt = performance.now();
  let [found, after] = [0, null as string | null];
  do {
    const page = await store.sweep({ after, limit: PAGE });
    found += page.destinations.length;
    after = page.next;
  } while (after !== null);
  if (found !== expected) throw new Error(`the sweep found ${found} of ${expected} destinations`);
  return performance.now() - startedAt;
}
