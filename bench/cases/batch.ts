// The same as `deliver` through POST /v1/events/batch. Accepting is cheaper there than delivering, so deliveries fall
// behind while it lasts: what waits must wait in the store, not in memory.
import type { Bench, Case } from '../bench.ts';
import { watchRss } from '../measure.ts';
import { aimed, type Figure, type Report } from '../report.ts';
import {
  batchOf,
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
  type RunOptions,
} from './throughput.ts';

const REPEATS = 3;
const WARM_UP = 10_000;
const EVENTS = 20_000;
const EVENTS_PER_BATCH = 100;
const CONNECTIONS = 16;
/** How much longer the run is that shows whether memory grows with what has fallen behind. */
const LONG_RUN_FACTOR = 4;

export const batch: Case = {
  name: 'batch',
  about: 'the same through POST /v1/events/batch of 100, and the memory while deliveries catch up',
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const service = await bench.service();
  await service.subscribe(`${bench.receiverUrl}/ok`, EVENT_TYPE);
  const limit = await bench.limit(['/ok']);
  const [runService, runLimit] = [runnerFor(bench, service), limitRunner(bench, limit)];
  const event = eventOf(bodyOf());
  const single = (events: number): RunOptions => ({ bodies: [event], requests: events, deliveries: events });
  const batches = batchRuns(event);
  await runLimit(single(bench.sized(WARM_UP)));
  for (const options of [single, batches]) await runService(options(bench.sized(WARM_UP)));
  const events = bench.sized(EVENTS);
  const watched = async (options: RunOptions): Promise<Run & { peak: number }> => {
    const stop = watchRss(service.pid);
    const one = await runService(options);
    return { ...one, peak: stop() };
  };
  const peaks: number[] = [];
  const runs = await inTurn(REPEATS, {
    limits: () => runLimit(single(events)),
    singles: () => runService(single(events)),
    batches: async () => {
      const one = await watched(batches(events));
      peaks.push(one.peak);
      return one;
    },
  });
  const long = await watched(batches(events * LONG_RUN_FACTOR));
  return [{ case: 'batch', figures: [...throughput(bench, runs), ...memory(Math.max(...peaks), long.peak)] }];
}

function batchRuns(event: string): (events: number) => RunOptions {
  const body = batchOf(Array.from({ length: EVENTS_PER_BATCH }, () => event));
  return (events) => {
    const requests = Math.ceil(events / EVENTS_PER_BATCH);
    const deliveries = requests * EVENTS_PER_BATCH;
    const shape = { path: '/v1/events/batch', connections: CONNECTIONS, eventsPerRequest: EVENTS_PER_BATCH };
    return { ...shape, bodies: [body], requests, deliveries };
  };
}

function throughput(
  bench: Bench,
  { limits, singles, batches }: Record<'limits' | 'singles' | 'batches', Run[]>,
): Figure[] {
  const accepted = (one: Run): number => one.accepted;
  const delivered = (one: Run): number => one.delivered;
  const times = { ...ratioOfRuns('accepted, of deliver', { of: batches, to: singles }, accepted), unit: '×' };
  return [
    figureOfRuns('the limit', 'events/s', limits, delivered),
    figureOfRuns('deliver: accepted', 'events/s', singles, accepted),
    figureOfRuns('accepted', 'events/s', batches, accepted),
    aimed(times, { atLeast: 2 }),
    figureOfRuns('delivered', 'events/s', batches, delivered),
    ratioOfRuns('delivered, of the limit', { of: batches, to: limits }, delivered),
    figureOfRuns('CPU of the service', 'µs/event', batches, (one) => one.cpu['all']!),
    storeCpu('', bench, batches),
    figureOfRuns('POST answer p99', 'ms', batches, (one) => one.load.latencies.p99),
  ];
}

function memory(short: number, long: number): Figure[] {
  return [
    { name: 'peak RSS', value: short, unit: 'MiB' },
    { name: `peak RSS, ${LONG_RUN_FACTOR} × the events`, value: long, unit: 'MiB' },
    aimed({ name: 'growth of the peak', value: long / short, unit: '×' }, { atMost: 1.25 }),
  ];
}
