import { performance } from 'node:perf_hooks';
import type { Bench, Case } from '../bench.ts';
import { spread } from '../measure.ts';
import { aimed } from '../report.ts';
import type { Figure, Report } from '../report.ts';
import { bodyOf, CONNECTIONS, eventOf, EVENT_TYPE, limitRunner, medianOf, runnerFor } from './throughput.ts';
import type { Run } from './throughput.ts';

const REPEATS = 5;
const WARM_UP = 15_000;
const EVENTS = 40_000;

export const deliver: Case = {
  name: 'deliver',
  about: 'POST /v1/events with fan-out 1, 500-byte bodies, 64 connections, until all are delivered and recorded',
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const service = await bench.service();
  await service.subscribe(`${bench.receiverUrl}/ok`, EVENT_TYPE);
  const limit = await bench.limit(['/ok']);
  const [runService, runLimit] = [runnerFor(bench, service), limitRunner(bench, limit)];
  const body = eventOf(bodyOf());
  const once = { body, requests: EVENTS, deliveries: EVENTS };
  for (const one of [runService, runLimit]) await one({ ...once, requests: WARM_UP, deliveries: WARM_UP });
  const ours: Run[] = [];
  const limits: Run[] = [];
  for (let i = 0; i < REPEATS; i++) {
    limits.push(await runLimit(once));
    ours.push(await runService(once));
  }
  return [{ case: 'deliver', figures: [...(await ceiling(bench)), ...figures(ours, limits)] }];
}

function figures(ours: Run[], limits: Run[]): Figure[] {
  const delivered = medianOf(ours, (one) => one.delivered);
  const limit = medianOf(limits, (one) => one.delivered);
  const ratios = ours.map((one, i) => one.delivered / limits[i]!.delivered);
  const threads = Object.keys(ours[0]!.cpu).filter((name) => name !== 'all');
  return [
    { name: 'the limit', value: limit, unit: 'events/s', spread: spread(limits.map((one) => one.delivered)) },
    { name: 'the limit: CPU', value: medianOf(limits, (one) => one.cpu['all']!), unit: 'µs/event' },
    { name: 'delivered', value: delivered, unit: 'events/s', spread: spread(ours.map((one) => one.delivered)) },
    aimed({ name: 'of the limit', value: medianRatio(ratios), unit: '', spread: spread(ratios) }, { atLeast: 0.65 }),
    aimed({ name: 'CPU', value: medianOf(ours, (one) => one.cpu['all']!), unit: 'µs/event' }, { atMost: 110 }),
    ...threads.map((name) => ({
      name: `CPU: ${name}`,
      value: medianOf(ours, (one) => one.cpu[name]!),
      unit: 'µs/event',
    })),
    { name: 'POST answer p50', value: medianOf(ours, (one) => one.load.latencies.p50), unit: 'ms' },
    { name: 'POST answer p99', value: medianOf(ours, (one) => one.load.latencies.p99), unit: 'ms' },
  ];
}

function medianRatio(ratios: number[]): number {
  return [...ratios].sort((a, b) => a - b)[ratios.length >> 1]!;
}

/** Generator straight to receiver: what the load's own processes can do on this machine. */
async function ceiling(bench: Bench): Promise<Figure[]> {
  const { hostname: host, port } = new URL(bench.receiverUrl);
  const load = { host, port: Number(port), path: '/ok', key: 'none', bodies: [eventOf(bodyOf())] };
  const startedAt = performance.now();
  await bench.closed({ load: { ...load, connections: CONNECTIONS }, requests: EVENTS });
  const seconds = (performance.now() - startedAt) / 1000;
  return [{ name: 'generator to receiver, nothing between', value: EVENTS / seconds, unit: 'requests/s' }];
}
