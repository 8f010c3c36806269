import { POSTGRES_CPU, type Bench, type Case } from '../bench.ts';
import { aimed, type Figure, type Report } from '../report.ts';
import {
  bodyOf,
  CONNECTIONS,
  eventOf,
  EVENT_TYPE,
  inTurn,
  limitRunner,
  medianOf,
  runnerFor,
  figureOfRuns,
  ratioOfRuns,
  type Run,
} from './throughput.ts';

const REPEATS = 5;
const WARM_UP = 15_000;
const EVENTS = 40_000;
/** With PostgreSQL on the same cores there is less left. `cpu`: all of it, as a multiple of what the limit uses. */
const AIMS = { sqlite: { ofTheLimit: 0.65, cpu: 2 }, postgres: { ofTheLimit: 0.45, cpu: 3 } };

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
  const bodies = [eventOf(bodyOf())];
  const once = { bodies, requests: bench.sized(EVENTS), deliveries: bench.sized(EVENTS) };
  const warmUp = { bodies, requests: bench.sized(WARM_UP), deliveries: bench.sized(WARM_UP) };
  for (const one of [runService, runLimit]) await one(warmUp);
  const { limits, ours } = await inTurn(REPEATS, { limits: () => runLimit(once), ours: () => runService(once) });
  return [{ case: 'deliver', figures: [...(await ceiling(bench)), ...figures(bench, ours, limits)] }];
}

function figures({ store }: Bench, ours: Run[], limits: Run[]): Figure[] {
  const cpu = (one: Run): number => one.cpu['all']! + (one.cpu[POSTGRES_CPU] ?? 0);
  const whose = store === 'postgres' ? 'service and PostgreSQL' : 'the service';
  const threads = Object.keys(ours[0]!.cpu).filter((name) => name !== 'all');
  return [
    figureOfRuns('the limit', 'events/s', limits, (one) => one.delivered),
    { name: 'the limit: CPU', value: medianOf(limits, (one) => one.cpu['all']!), unit: 'µs/event' },
    figureOfRuns('delivered', 'events/s', ours, (one) => one.delivered),
    aimed(
      ratioOfRuns('of the limit', { of: ours, to: limits }, (one) => one.delivered),
      { atLeast: AIMS[store].ofTheLimit },
    ),
    { name: 'CPU of the service', value: medianOf(ours, (one) => one.cpu['all']!), unit: 'µs/event' },
    aimed(
      { ...ratioOfRuns(`CPU of ${whose}, of the limit's`, { of: ours, to: limits }, cpu), unit: '×' },
      { atMost: AIMS[store].cpu },
    ),
    ...threads.map((name) => ({
      name: `CPU: ${name}`,
      value: medianOf(ours, (one) => one.cpu[name]!),
      unit: 'µs/event',
    })),
    { name: 'POST answer p50', value: medianOf(ours, (one) => one.load.latencies.p50), unit: 'ms' },
    { name: 'POST answer p99', value: medianOf(ours, (one) => one.load.latencies.p99), unit: 'ms' },
  ];
}

/** Generator straight to receiver: what the load's own processes can do on this machine. */
async function ceiling(bench: Bench): Promise<Figure[]> {
  const { hostname: host, port } = new URL(bench.receiverUrl);
  const load = { host, ports: [Number(port)], path: '/ok', key: 'none', bodies: [eventOf(bodyOf())] };
  const requests = bench.sized(EVENTS);
  const { seconds } = await bench.closed({ load: { ...load, connections: CONNECTIONS }, requests });
  return [{ name: 'generator to receiver, nothing between', value: requests / seconds, unit: 'requests/s' }];
}
