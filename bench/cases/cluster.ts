// Several nodes on one PostgreSQL: what they deliver together, how soon the others take over from one that is killed,
// and how long a node looks for work. The load's connections are spread over the nodes, the events over destinations
// whose shards are spread over them too: most events are accepted by one node and sent by another.
import type { Bench, Case } from '../bench.ts';
import { Cluster } from '../cluster.ts';
import { aimed, type Figure, type Report } from '../report.ts';
import { measureSweep } from './sweep.ts';
import { measureTakeover } from './takeover.ts';
import { figureOfRuns, inTurn, limitRunner, ratioOfRuns, storeCpu, type Run, type RunOptions } from './throughput.ts';

const NODES = [1, 2, 3];
/** Of the limit by one node; by two and by three of what one node does. */
const AIM_OF_ONE = 0.45;
const AIMS: Readonly<Record<number, number>> = { 2: 0.85, 3: 0.75 };
const REPEATS = 3;
/** For each node: what V8 has yet to compile costs twice as much, and each of several nodes gets a part of the load. */
const WARM_UP = 30_000;
const EVENTS = 20_000;

const NOT_AVAILABLE =
  'Two and three nodes, and taking over: not available. This version has no `GET /v1/cluster`, and so no ownership: ' +
  'nodes that share a database would all send everything.';

export const cluster: Case = {
  name: 'cluster',
  about: 'deliver on 1, 2 and 3 nodes, takeover after kill -9, and the time of a sweep',
  store: 'postgres',
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const nodes = await Cluster.start(bench);
  const limit = limitRunner(bench, await bench.limit(['/ok']));
  await limit(nodes.loadOf(bench.sized(WARM_UP)));
  const figures: Figure[] = [];
  const isAvailable = (await nodes.view()) !== null;
  let ofOne = 0;
  for (const count of isAvailable ? NODES : NODES.slice(0, 1)) {
    const measured = await measure(bench, nodes, { count, limit });
    ofOne = count === 1 ? measured.ofTheLimit.value : ofOne;
    figures.push(...measured.figures, ...compareToOne(count, measured.ofTheLimit.value / ofOne));
  }
  const reports: Report[] = [{ case: 'cluster', figures, ...(isAvailable ? {} : { notes: [NOT_AVAILABLE] }) }];
  if (isAvailable) reports.push({ case: 'cluster: kill -9 of a node', figures: await measureTakeover(bench, nodes) });
  await nodes.end();
  return [...reports, { case: 'cluster: sweep', figures: await measureSweep(bench) }];
}

type Runner = (options: RunOptions) => Promise<Run>;

async function measure(
  bench: Bench,
  nodes: Cluster,
  { count, limit }: { count: number; limit: Runner },
): Promise<{ figures: Figure[]; ofTheLimit: Figure }> {
  await nodes.grow(count);
  await nodes.run(nodes.loadOf(bench.sized(count * WARM_UP)));
  const once = nodes.loadOf(bench.sized(EVENTS));
  const { limits, ours } = await inTurn(REPEATS, { limits: () => limit(once), ours: () => nodes.run(once) });
  const label = count === 1 ? '1 node' : `${count} nodes`;
  const delivered = (one: Run): number => one.delivered;
  const ofTheLimit = ratioOfRuns(`${label}: of the limit`, { of: ours, to: limits }, delivered);
  const figures = [
    figureOfRuns(`${label}: the limit`, 'events/s', limits, delivered),
    figureOfRuns(`${label}: delivered`, 'events/s', ours, delivered),
    count === 1 ? aimed(ofTheLimit, { atLeast: AIM_OF_ONE }) : ofTheLimit,
    figureOfRuns(`${label}: CPU of the nodes`, 'µs/event', ours, (one) => one.cpu['all']!),
    storeCpu(` with ${label}`, bench, ours),
    figureOfRuns(`${label}: POST answer p99`, 'ms', ours, (one) => one.load.latencies.p99),
  ];
  return { figures, ofTheLimit };
}

/** Each number of nodes was held against the limit in turn; so they can be held against each other. */
function compareToOne(count: number, ratio: number): Figure[] {
  const atLeast = AIMS[count];
  return atLeast === undefined
    ? []
    : [aimed({ name: `${count} nodes: of 1 node`, value: ratio, unit: '' }, { atLeast })];
}
