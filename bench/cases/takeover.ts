// kill -9 of one node among others that go on: how soon what it would have sent is sent by another. Seen from the
// receiver: the destinations that fall silent when the node dies are those of its shards.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench.ts';
import { bodiesForAll, type Cluster } from '../cluster.ts';
import { aimed, type Figure } from '../report.ts';
import { loadOf } from './throughput.ts';

/** Every destination gets several a second, so that silence shows. */
const PER_SECOND = 600;
const SECONDS_BEFORE = 3;
/** Longer than any lease that is sensible, and whatever is done after it. */
const SECONDS = 40;
/** What the dead node had sent before is with the receiver by then, and no lease is as short. */
const SETTLE_MS = 300;
const SILENT_MS = 1_500;
/** The default of NODE_LEASE. */
const LEASE_MS = 10_000;
const AIM_AFTER_LEASE_MS = 1_000;

export async function measureTakeover(bench: Bench, cluster: Cluster): Promise<Figure[]> {
  const dead = cluster.nodes.pop()!;
  const load = { ...loadOf(cluster.nodes[0]!, bodiesForAll()), ports: cluster.nodes.map(({ port }) => port) };
  // Not scaled: a lease takes as long as it takes.
  const loading = bench.open({ load, perSecond: PER_SECOND, seconds: SECONDS });
  await sleep(SECONDS_BEFORE * 1000);
  const killedAt = Date.now();
  await dead.signal('SIGKILL');
  await sleep(SETTLE_MS);
  await bench.resetReceiver();
  const { requests, statuses } = await loading;
  const { firsts } = await bench.arrivals(0);
  const waits = Object.values(firsts).map((firstAt) => firstAt - killedAt);
  const taken = waits.filter((ms) => ms > SILENT_MS);
  const figures: Figure[] = [
    { name: 'destinations of the dead node', value: taken.length, unit: 'of 96' },
    { name: 'not accepted by the others meanwhile', value: requests - (statuses['202'] ?? 0), unit: 'events' },
  ];
  if (taken.length === 0) return figures;
  const first = { name: 'first delivery of its shards after', value: Math.min(...taken), unit: 'ms' };
  const last = { name: 'all of its destinations had one after', value: Math.max(...taken), unit: 'ms' };
  const aim = { atMost: LEASE_MS + AIM_AFTER_LEASE_MS };
  return [...figures, { name: 'lease', value: LEASE_MS, unit: 'ms' }, aimed(first, aim, ': lease + 1 s'), last];
}
