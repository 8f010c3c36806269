// A million deliveries that wait for one paused destination, and what comes of them: memory while they pile up, the
// others meanwhile, how fast they drain. Then the destination refuses for a minute, with most of them still waiting.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Case } from '../bench.ts';
import { watchRss } from '../measure.ts';
import { aimed, figureOf, type Figure, type Report } from '../report.ts';
import type { Service } from '../service.ts';
import {
  batchOf,
  bodyOf,
  eventOf,
  EVENT_TYPE,
  figureOfRuns,
  inTurn,
  loadOf,
  medianOf,
  runnerFor,
  type Run,
} from './throughput.ts';

const WAITING = 1_000_000;
const EVENTS_PER_BATCH = 100;
const FILL_CONNECTIONS = 8;
export const FILL_TYPE = 'fill.up';
const FILLED = 'ok-backlog';
export const OTHER_TYPE = 'other.event';
export const OTHER = 'ok-other';
const OTHER_PER_SECOND = 400;
const OTHER_WINDOWS = 3;
const OTHER_SECONDS = 3;
const DRAIN_SECONDS = 10;
const REFUSING_SECONDS = 60;
const RSS_MIB_MAX = 350;
const WARM_UP = 10_000;
const EVENTS = 15_000;

export const backlog: Case = {
  name: 'backlog',
  about: 'a million deliveries waiting for a paused destination, then active; then it refuses for a minute',
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const service = await bench.service({ settings: { REACHABILITY_CHECK: 'off' } });
  await service.subscribe(`${bench.receiverUrl}/ok`, EVENT_TYPE);
  await service.subscribe(`${bench.receiverUrl}/${OTHER}`, OTHER_TYPE);
  const destination = await service.subscribe(`${bench.receiverUrl}/${FILLED}`, FILL_TYPE);
  await service.call('PATCH', `/v1/destinations/${destination}`, { status: 'paused' });
  const deliver = await measureDeliver(bench, service);
  const alone = await loadOther(bench, service);
  const busy = await loadOtherBesideDeliver(bench, service);
  const peaks: Figure[] = [];
  const watched = async <T>(phase: string, work: () => Promise<T>): Promise<T> => {
    const stop = watchRss(service.pid);
    const result = await work();
    peaks.push(aimed({ name: `peak RSS while ${phase}`, value: stop(), unit: 'MiB' }, { atMost: RSS_MIB_MAX }));
    return result;
  };
  const filled = await watched('it piles up', () => fill(bench, service, WAITING));
  const waiting = await loadOther(bench, service);
  await service.call('PATCH', `/v1/destinations/${destination}`, { status: 'active' });
  const drained = await watched('it drains', () => measureDrain(bench));
  const draining = await loadOther(bench, service);
  const refusing = await watched('it refuses', () => refuseAndReturn(bench, service));
  const delivered = medianOf(deliver, (one) => one.delivered);
  const figures: Figure[] = [
    figureOfRuns('deliver', 'events/s', deliver, (one) => one.delivered),
    { name: 'accepted while paused', value: filled.perSecond, unit: 'events/s' },
    { name: 'drained when active', value: drained, unit: 'deliveries/s' },
    aimed({ name: 'drained, of deliver', value: drained / delivered, unit: '' }, { atLeast: 0.8 }),
    ...compareOthers('nothing waiting', alone, `${filled.label} waiting`, waiting),
    ...compareOthers('beside deliver', busy, 'while they drain', draining),
    ...peaks,
    { name: 'longest event-loop delay', value: await service.takeEventLoopDelay(), unit: 'ms' },
  ];
  return [
    { case: 'backlog', figures },
    { case: 'backlog: refusing for a minute', figures: refusing },
  ];
}

async function measureDeliver(bench: Bench, service: Service): Promise<Run[]> {
  const runService = runnerFor(bench, service);
  const of = (events: number) => ({ bodies: [eventOf(bodyOf())], requests: events, deliveries: events });
  await runService(of(bench.sized(WARM_UP)));
  const { runs } = await inTurn(3, { runs: () => runService(of(bench.sized(EVENTS))) });
  return runs;
}

/** The p99 of another destination's arrivals, at a low and even rate: one for each window. */
export async function loadOther(bench: Bench, service: Service): Promise<number[]> {
  const load = loadOf(service, [eventOf(bodyOf({ stamped: true }), OTHER_TYPE)], { connections: 8 });
  const windows: number[] = [];
  for (let i = 0; i < OTHER_WINDOWS; i++) {
    await bench.resetReceiver();
    const { requests } = await bench.open({ load, perSecond: OTHER_PER_SECOND, seconds: bench.sized(OTHER_SECONDS) });
    const { latencies } = await bench.arrivals(requests, OTHER);
    windows.push(latencies[OTHER]!.p99);
  }
  return windows;
}

/** What is to be compared with draining: a service that delivers as much as it can, and has no backlog. */
async function loadOtherBesideDeliver(bench: Bench, service: Service): Promise<number[]> {
  let isOver = false;
  const deliverOn = async (): Promise<void> => {
    while (!isOver) await bench.closed({ load: loadOf(service, [eventOf(bodyOf())]), requests: 1_000 });
  };
  const other = loadOther(bench, service).finally(() => (isOver = true));
  const [windows] = await Promise.all([other, deliverOn()]);
  return windows;
}

export function compareOthers(name: string, base: number[], thenName: string, then: number[]): Figure[] {
  const [before, after] = [
    figureOf(`others: arrival p99 ${name}`, 'ms', base),
    figureOf(`others: arrival p99 ${thenName}`, 'ms', then),
  ];
  const growth = { name: `others: growth ${thenName}`, value: after.value / before.value, unit: '×' };
  return [before, after, aimed(growth, { atMost: 1.2 })];
}

export async function fill(
  bench: Bench,
  service: Service,
  count: number,
): Promise<{ perSecond: number; label: string; events: number }> {
  const batch = batchOf(Array.from({ length: EVENTS_PER_BATCH }, () => eventOf(bodyOf(), FILL_TYPE)));
  const load = loadOf(service, [batch], { path: '/v1/events/batch', connections: FILL_CONNECTIONS });
  const requests = Math.ceil(bench.sized(count) / EVENTS_PER_BATCH);
  const { seconds } = await bench.closed({ load, requests });
  const events = requests * EVENTS_PER_BATCH;
  return { perSecond: events / seconds, label: events.toLocaleString('en-US'), events };
}

/** Deliveries a second; there are more than it can drain meanwhile. */
async function measureDrain(bench: Bench): Promise<number> {
  await bench.resetReceiver();
  await bench.arrivals(1, FILLED);
  const [startedAt, before] = [performance.now(), await countFilled(bench)];
  await sleep(bench.sized(DRAIN_SECONDS) * 1000);
  return ((await countFilled(bench)) - before) / ((performance.now() - startedAt) / 1000);
}

async function countFilled(bench: Bench): Promise<number> {
  return (await bench.arrivals(0)).counts[FILLED] ?? 0;
}

async function refuseAndReturn(bench: Bench, service: Service): Promise<Figure[]> {
  const failedBefore = await countFailed(service);
  await bench.receiver.ask('refuse', null);
  await sleep(bench.sized(REFUSING_SECONDS) * 1000);
  const failed = (await countFailed(service)) - failedBefore;
  await bench.resetReceiver();
  const returnedAt = performance.now();
  await bench.listen({ tls: null, port: Number(new URL(bench.receiverUrl).port), count: 1 });
  await bench.arrivals(1, FILLED);
  const firstMs = performance.now() - returnedAt;
  await sleep(bench.sized(DRAIN_SECONDS) * 1000);
  const perSecond = (await countFilled(bench)) / ((performance.now() - returnedAt) / 1000);
  return [
    { name: 'attempts spent', value: failed, unit: 'attempts' },
    { name: 'first success after it is up', value: firstMs, unit: 'ms' },
    { name: `drained in the ${DRAIN_SECONDS} s after`, value: perSecond, unit: 'deliveries/s' },
  ];
}

async function countFailed(service: Service): Promise<number> {
  const name = 'postrider_attempts_total';
  return (await service.metric(name)) - (await service.metric(name, '"succeeded"'));
}
