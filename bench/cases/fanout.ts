// One event for 100 destinations: what a delivery costs when the event is not to be accepted for it alone.
import type { Bench, Case } from '../bench.ts';
import { aimed, type Report } from '../report.ts';
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
  type RunOptions,
} from './throughput.ts';

const REPEATS = 3;
const DESTINATIONS = 100;
const WARM_UP = 100;
const EVENTS = 400;

export const fanout: Case = { name: 'fanout', about: 'one event to 100 destinations', run };

async function run(bench: Bench): Promise<Report[]> {
  const paths = Array.from({ length: DESTINATIONS }, (_, i) => `/ok/${i}`);
  const service = await bench.service({ settings: { REACHABILITY_CHECK: 'off' } });
  for (const path of paths) await service.subscribe(`${bench.receiverUrl}${path}`, EVENT_TYPE);
  const limit = await bench.limit(paths);
  const [runService, runLimit] = [runnerFor(bench, service), limitRunner(bench, limit)];
  const bodies = [eventOf(bodyOf())];
  const of = (events: number): RunOptions => ({ bodies, requests: events, deliveries: events * DESTINATIONS });
  for (const one of [runService, runLimit]) await one(of(bench.sized(WARM_UP)));
  const once = of(bench.sized(EVENTS));
  const { limits, ours } = await inTurn(REPEATS, { limits: () => runLimit(once), ours: () => runService(once) });
  const delivered = (one: Run): number => one.delivered;
  const ofTheLimit = ratioOfRuns('of the limit', { of: ours, to: limits }, delivered);
  const figures = [
    figureOfRuns('the limit', 'forwards/s', limits, delivered),
    figureOfRuns('the limit: CPU', 'µs/forward', limits, (one) => one.cpu['all']!),
    figureOfRuns('delivered', 'deliveries/s', ours, delivered),
    bench.store === 'sqlite' ? aimed(ofTheLimit, { atLeast: 0.6 }) : ofTheLimit,
    figureOfRuns('CPU', 'µs/delivery', ours, (one) => one.cpu['all']!),
    figureOfRuns('CPU: main', 'µs/delivery', ours, (one) => one.cpu['main']!),
    { ...storeCpu('', bench, ours), unit: 'µs/delivery' },
  ];
  return [{ case: 'fanout', figures }];
}
