// What it costs to find the subscriptions of an event among many. The matcher is measured in this process, as accept/
// calls it: the body's bytes are parsed where a filter wants to see them. Then once with the whole service around it.
import type { Bench, Case } from '../bench.ts';
import { fillSubscriptions } from '../fill-subscriptions.ts';
import { readRss } from '../measure.ts';
import { aimed, type Figure, type Report } from '../report.ts';
import type { Service } from '../service.ts';
import { measureMatcher } from './match-in-process.ts';
import { bodyOf, eventOf, EVENT_TYPE, figureOfRuns, inTurn, ratioOfRuns, runnerFor, type Run } from './throughput.ts';

const SIZES = [10, 1_000, 100_000];
const REPEATS = 3;
const EVENTS = 20_000;
const WARM_UP = 10_000;
const DESTINATIONS = 100;
/** Distinct events, so that the same few subscriptions are not found again and again. */
const BODIES = 1_000;

export const match: Case = {
  name: 'match',
  about: 'µs an event among 10 to 100,000 subscriptions, by itself and in the service',
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const sizes = SIZES.map((size) => Math.max(10, bench.sized(size)));
  return [
    { case: 'match', figures: measureMatcher(sizes) },
    { case: 'match: in the service', figures: await measureService(bench, sizes.at(-1)!) },
  ];
}

async function measureService(bench: Bench, size: number): Promise<Figure[]> {
  const few = await serviceWith(bench, SIZES[0]!);
  const many = await serviceWith(bench, size);
  const [runFew, runMany] = [runnerFor(bench, few), runnerFor(bench, many)];
  const of = (subscriptions: number, events: number) => {
    return { bodies: bodiesFor(subscriptions), requests: events, deliveries: events };
  };
  await runFew(of(SIZES[0]!, bench.sized(WARM_UP)));
  await runMany(of(size, bench.sized(WARM_UP)));
  const events = bench.sized(EVENTS);
  const runs = await inTurn(REPEATS, {
    few: () => runFew(of(SIZES[0]!, events)),
    many: () => runMany(of(size, events)),
  });
  const label = size.toLocaleString('en-US');
  const delivered = (one: Run): number => one.delivered;
  const cpu = (one: Run): number => one.cpu['main']!;
  return [
    figureOfRuns('delivered: 10 subscriptions', 'events/s', runs.few, delivered),
    figureOfRuns(`delivered: ${label}`, 'events/s', runs.many, delivered),
    ratioOfRuns(`${label} of 10`, { of: runs.many, to: runs.few }, delivered),
    figureOfRuns('CPU: main, 10 subscriptions', 'µs/event', runs.few, cpu),
    figureOfRuns(`CPU: main, ${label}`, 'µs/event', runs.many, cpu),
    { name: `start with ${label}`, value: many.startMs, unit: 'ms' },
    { name: `RSS with ${label}`, value: readRss(many.pid), unit: 'MiB' },
    aimed({ name: 'main thread: growth', value: growth(runs, cpu), unit: '×' }, { atMost: 3 }),
  ];
}

function growth(runs: Record<'few' | 'many', Run[]>, read: (run: Run) => number): number {
  return ratioOfRuns('', { of: runs.many, to: runs.few }, read).value;
}

/** One subscription for each customer: an event goes to one of them. */
async function serviceWith(bench: Bench, subscriptions: number): Promise<Service> {
  const service = await bench.service({ settings: { REACHABILITY_CHECK: 'off' } });
  for (let i = 0; i < Math.min(DESTINATIONS, subscriptions); i++)
    await service.call('POST', '/v1/destinations', { url: `${bench.receiverUrl}/ok/${i}` });
  await service.signal('SIGTERM');
  await fillSubscriptions(service, {
    count: subscriptions,
    eventType: EVENT_TYPE,
    filterOf: (index) => JSON.stringify({ '$.customer': customerOf(index) }),
  });
  await service.start();
  return service;
}

function bodiesFor(subscriptions: number): string[] {
  const count = Math.min(BODIES, subscriptions);
  const step = Math.floor(subscriptions / count);
  return Array.from({ length: count }, (_, i) => eventOf(bodyOf({ customer: customerOf(i * step) })));
}

function customerOf(index: number): string {
  return `cus_${String(index).padStart(8, '0')}`;
}
