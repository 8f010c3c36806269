// Whether a store that has grown is as fast as a young one: accepting and delivering, and the pages of the list of
// deliveries, on stores of 10 thousand, one million and ten million. Their services run side by side and are measured
// in turn.
import { cpSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { Bench, Case } from '../bench.ts';
import { createGrowing, grow, grownSize, GROWN_SETTINGS } from '../grown-store.ts';
import type { Database } from '../postgres.ts';
import { aimed, type Figure, type Report } from '../report.ts';
import type { Service } from '../service.ts';
import { measureLists } from './list-pages.ts';
import {
  bodyOf,
  eventOf,
  EVENT_TYPE,
  figureOfRuns,
  inTurn,
  limitRunner,
  ratioOfRuns,
  runnerFor,
  storeCpu,
  type Run,
} from './throughput.ts';

const SIZES = [10_000, 1_000_000, 10_000_000];
const WARM_UP = 10_000;
const EVENTS = 15_000;
const REPEATS = 3;

export const growth: Case = {
  name: 'growth',
  about: 'deliver, and pages of the list of deliveries, on stores of 10 thousand to 10 million deliveries',
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const sizes = SIZES.map((size) => grownSize(bench, size));
  const { services, figures } = await makeStores(bench, sizes);
  const labels = sizes.map((size) => size.toLocaleString('en-US'));
  figures.push(...(await measureDelivering(bench, services, labels)));
  // What lies between a young store and the largest would say nothing that these two do not.
  for (const i of [0, services.length - 1]) figures.push(...(await measureLists(bench, services[i]!, labels[i]!)));
  return [{ case: 'growth', figures }];
}

/** One store grows, and leaves a copy behind at each size but the last. */
async function makeStores(bench: Bench, sizes: number[]): Promise<{ services: Service[]; figures: Figure[] }> {
  const grown = await createGrowing(bench);
  const services: Service[] = [];
  const startedAt = performance.now();
  for (const [i, size] of sizes.entries()) {
    await grow(grown, { from: sizes[i - 1] ?? 0, to: size, total: sizes.at(-1)! });
    if (i < sizes.length - 1) services.push(await startCopy(bench, grown));
  }
  const seconds = (performance.now() - startedAt) / 1000;
  await grown.start();
  services.push(grown);
  for (const service of services) await service.subscribe(`${bench.receiverUrl}/ok`, EVENT_TYPE);
  const gib = (await bench.storedMib(grown)) / 1024;
  return {
    services,
    figures: [
      { name: 'filling the stores', value: seconds, unit: 's' },
      { name: 'the largest on disk', value: gib, unit: 'GiB' },
      ...services.map((service, i) => {
        return { name: `start at ${sizes[i]!.toLocaleString('en-US')}`, value: service.startMs, unit: 'ms' };
      }),
    ],
  };
}

async function startCopy(bench: Bench, { dataDir, database, key }: Service): Promise<Service> {
  const service = await (database === null ? copyFile(bench, dataDir) : copyDatabase(bench, database));
  service.key = key;
  return service;
}

function copyFile(bench: Bench, dataDir: string): Promise<Service> {
  const copy = mkdtempSync(join(tmpdir(), 'postrider-bench-'));
  for (const name of ['postrider.db', 'master.key']) cpSync(join(dataDir, name), join(copy, name));
  return bench.service({ settings: GROWN_SETTINGS, dataDir: copy });
}

async function copyDatabase(bench: Bench, database: Database): Promise<Service> {
  return bench.service({ settings: GROWN_SETTINGS, database: await bench.postgres.createDatabase(database) });
}

async function measureDelivering(bench: Bench, services: Service[], labels: string[]): Promise<Figure[]> {
  const limit = limitRunner(bench, await bench.limit(['/ok']));
  const runners = Object.fromEntries(services.map((service, i) => [labels[i]!, runnerFor(bench, service)]));
  const of = (events: number) => ({ bodies: [eventOf(bodyOf())], requests: events, deliveries: events });
  for (const one of [limit, ...Object.values(runners)]) await one(of(bench.sized(WARM_UP)));
  const once = of(bench.sized(EVENTS));
  const runs = await inTurn(REPEATS, {
    limit: () => limit(once),
    ...Object.fromEntries(Object.entries(runners).map(([label, one]) => [label, () => one(once)])),
  });
  const delivered = (one: Run): number => one.delivered;
  const at = (label: string): Run[] => (runs as Record<string, Run[]>)[label]!;
  const [first, last] = [labels[0]!, labels.at(-1)!];
  return [
    figureOfRuns('the limit', 'events/s', runs.limit, delivered),
    ...labels.flatMap((label) => [
      figureOfRuns(`delivered at ${label}`, 'events/s', at(label), delivered),
      ratioOfRuns(`delivered at ${label}, of the limit`, { of: at(label), to: runs.limit }, delivered),
      storeCpu(` at ${label}`, bench, at(label)),
    ]),
    aimed(ratioOfRuns('delivered by the largest, of the smallest', { of: at(last), to: at(first) }, delivered), {
      atLeast: 0.9,
    }),
  ];
}
