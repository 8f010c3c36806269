// How long a producer waits, and how long an event takes to its receiver, at fixed rates. The load is an open loop:
// a request counts from when it was due, so a stall is seen by all that came meanwhile, as callers would see it.
import type { Bench, Case } from '../bench.ts';
import type { Latencies, LoadResult } from '../processes/protocol.ts';
import { aimed, type Figure, type Report } from '../report.ts';
import type { Service } from '../service.ts';
import { bodyOf, eventOf, EVENT_TYPE, loadOf } from './throughput.ts';

/** Each for as long as gives its p99.9 a sample or more; the lowest rate last would wait for nothing. */
const RATES = [
  { perSecond: 100, seconds: 15 },
  { perSecond: 1_000, seconds: 20 },
  { perSecond: 4_000, seconds: 10 },
];
const CEILING_PER_SECOND = 1_000;
const AIMS: Readonly<Record<number, Readonly<Record<string, number>>>> = {
  1_000: { 'answer p99': 10, 'arrival p50': 5, 'arrival p99': 20 },
  4_000: { 'answer p99.9': 10 },
};
const WARM_UP = { perSecond: 2_000, seconds: 5 };

export const latency: Case = {
  name: 'latency',
  about: 'POST answer and POST to arrival at 100, 1,000 and 4,000 events a second',
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const service = await bench.service();
  await service.subscribe(`${bench.receiverUrl}/ok`, EVENT_TYPE);
  await runAtRate(bench, service, WARM_UP);
  const figures = await ceiling(bench);
  for (const rate of RATES) figures.push(...figuresOf(rate.perSecond, await runAtRate(bench, service, rate)));
  return [{ case: 'latency', figures }];
}

type Rate = { perSecond: number; seconds: number };
type Measured = { answers: LoadResult; arrivals: Latencies };

/** What stays unanswered or refused is counted, not hidden: arrivals are waited for of what was accepted. */
async function runAtRate(bench: Bench, service: Service, { perSecond, seconds }: Rate): Promise<Measured> {
  await bench.resetReceiver();
  const load = loadOf(service, [eventOf(bodyOf({ stamped: true }))]);
  const answers = await bench.open({ load, perSecond, seconds: bench.sized(seconds) });
  const { latencies } = await bench.arrivals(answers.statuses['202'] ?? 0);
  return { answers, arrivals: latencies['ok']! };
}

function figuresOf(perSecond: number, { answers, arrivals }: Measured): Figure[] {
  const refused = answers.requests - (answers.statuses['202'] ?? 0);
  const label = `${perSecond.toLocaleString('en-US')}/s`;
  const rows = [...percentiles('answer', answers.latencies), ...percentiles('arrival', arrivals)].map((figure) => {
    const aim = AIMS[perSecond]?.[figure.name];
    const named = { ...figure, name: `${label}: ${figure.name}` };
    return aim === undefined ? named : aimed(named, { atMost: aim });
  });
  return refused === 0 ? rows : [...rows, { name: `${label}: not accepted`, value: refused, unit: 'events' }];
}

function percentiles(name: string, { p50, p90, p99, p999 }: Latencies): Figure[] {
  return Object.entries({ p50, p90, p99, 'p99.9': p999 }).map(([percentile, value]) => {
    return { name: `${name} ${percentile}`, value, unit: 'ms' };
  });
}

/** Generator straight to receiver: what the load's own processes add. */
async function ceiling(bench: Bench): Promise<Figure[]> {
  await bench.resetReceiver();
  const { hostname: host, port } = new URL(bench.receiverUrl);
  const bodies = [eventOf(bodyOf({ stamped: true }))];
  const load = { host, ports: [Number(port)], path: '/ok', key: 'none', bodies, connections: 1 };
  const { latencies } = await bench.open({ load, perSecond: CEILING_PER_SECOND, seconds: bench.sized(3) });
  const { p50, p99 } = latencies;
  return Object.entries({ p50, p99 }).map(([percentile, value]) => {
    return { name: `1,000/s, nothing between: answer ${percentile}`, value, unit: 'ms' };
  });
}
