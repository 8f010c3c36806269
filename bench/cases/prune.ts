// `deliver` while as many old events are pruned as new ones come: retention is a few seconds, so what a run posts goes
// during the next.
import { performance } from 'node:perf_hooks';
import type { Bench, Case } from '../bench.ts';
import { aimed, figureOf, type Figure, type Report } from '../report.ts';
import type { Service } from '../service.ts';
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

const RETENTION_SECONDS = 5;
const REPEATS = 3;
const WARM_UP = 20_000;
const EVENTS = 25_000;
const EVENTS_BEFORE = 5_000;
/** The event, its delivery and the one attempt of that. */
const ROWS_PER_EVENT = 3;

export const prune: Case = {
  name: 'prune',
  about: 'deliver while as many old events are pruned as new ones come',
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const retention = `${RETENTION_SECONDS}s`;
  const keeping = await bench.service();
  const pruning = await bench.service({ settings: { ROW_RETENTION: retention, BODY_RETENTION: retention } });
  for (const service of [keeping, pruning]) await service.subscribe(`${bench.receiverUrl}/ok`, EVENT_TYPE);
  const runKeeping = runnerFor(bench, keeping);
  const runPruning = runnerFor(bench, pruning);
  const runLimit = limitRunner(bench, await bench.limit(['/ok']));
  const of = (events: number): RunOptions => ({ bodies: [eventOf(bodyOf())], requests: events, deliveries: events });
  for (const one of [runKeeping, runPruning, runLimit]) await one(of(bench.sized(WARM_UP)));
  const once = of(bench.sized(EVENTS));
  const prunedParts: number[] = [];
  const runs = await inTurn(REPEATS, {
    limits: () => runLimit(once),
    keeping: () => runKeeping(once),
    pruning: async () => {
      await fillForRetention(() => runPruning(of(bench.sized(EVENTS_BEFORE))));
      const before = await countPruned(pruning);
      const one = await runPruning(once);
      prunedParts.push(((await countPruned(pruning)) - before) / once.requests);
      return one;
    },
  });
  return [{ case: 'prune', figures: figures(bench, runs, prunedParts) }];
}

/** From then on as much gets old as comes. */
async function fillForRetention(post: () => Promise<Run>): Promise<void> {
  const startedAt = performance.now();
  while (performance.now() - startedAt < RETENTION_SECONDS * 1000) await post();
}

/** Events. */
async function countPruned(service: Service): Promise<number> {
  return (await service.metric('postrider_rows_pruned_total')) / ROWS_PER_EVENT;
}

function figures(
  bench: Bench,
  { limits, keeping, pruning }: Record<'limits' | 'keeping' | 'pruning', Run[]>,
  prunedParts: number[],
): Figure[] {
  const delivered = (one: Run): number => one.delivered;
  const p99 = (one: Run): number => one.load.latencies.p99;
  const growth = { ...ratioOfRuns('POST answer p99: growth', { of: pruning, to: keeping }, p99), unit: '×' };
  return [
    figureOfRuns('the limit', 'events/s', limits, delivered),
    figureOfRuns('deliver', 'events/s', keeping, delivered),
    figureOfRuns('delivered while pruning', 'events/s', pruning, delivered),
    ratioOfRuns('while pruning, of the limit', { of: pruning, to: limits }, delivered),
    aimed(ratioOfRuns('while pruning, of deliver', { of: pruning, to: keeping }, delivered), { atLeast: 0.6 }),
    figureOf('pruned for each event that came', 'events', prunedParts),
    figureOfRuns('POST answer p99: deliver', 'ms', keeping, p99),
    figureOfRuns('POST answer p99: while pruning', 'ms', pruning, p99),
    aimed(growth, { atMost: 2 }),
    storeCpu(': deliver', bench, keeping),
    storeCpu(': while pruning', bench, pruning),
  ];
}
