// kill -9 in the middle of a hundred thousand deliveries, and how soon it goes on.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Case } from '../bench.ts';
import { watchRss } from '../measure.ts';
import { aimed, figureOf } from '../report.ts';
import type { Report } from '../report.ts';
import type { Service } from '../service.ts';
import { batchOf, bodyOf, eventOf, EVENT_TYPE, loadOf } from './throughput.ts';

const DESTINATIONS = 20;
const UNFINISHED = 100_000;
const EVENTS_PER_BATCH = 100;
const REPEATS = 3;
/** After the first delivery: so that memory shows what catching up takes. */
const WATCHED_SECONDS = 2;

export const restart: Case = { name: 'restart', about: 'kill -9 with 100,000 unfinished deliveries', run };

async function run(bench: Bench): Promise<Report[]> {
  const service = await bench.service({ settings: { REACHABILITY_CHECK: 'off' } });
  const destinations = await fillPaused(bench, service);
  for (const id of destinations) await service.call('PATCH', `/v1/destinations/${id}`, { status: 'active' });
  const unfinished: number[] = [];
  const serving: number[] = [];
  const first: number[] = [];
  const peaks: number[] = [];
  for (let i = 0; i < REPEATS; i++) {
    await service.signal('SIGKILL');
    await bench.resetReceiver();
    const startedAt = performance.now();
    await service.start();
    serving.push(service.startMs);
    const stopWatching = watchRss(service.pid);
    await bench.arrivals(1);
    first.push(performance.now() - startedAt);
    unfinished.push(await service.metric('postrider_deliveries_unfinished'));
    await sleep(WATCHED_SECONDS * 1000);
    peaks.push(stopWatching());
  }
  const figures = [
    figureOf('unfinished at the start', 'deliveries', unfinished),
    aimed(figureOf('serving after', 'ms', serving), { atMost: 1_000 }),
    aimed(figureOf('first delivery after', 'ms', first), { atMost: 2_000 }),
    aimed(figureOf('peak RSS', 'MiB', peaks), { atMost: 350 }),
  ];
  return [{ case: 'restart', figures }];
}

/** More than will be unfinished at the end: some are delivered between the kills. */
async function fillPaused(bench: Bench, service: Service): Promise<string[]> {
  const destinations: string[] = [];
  for (let i = 0; i < DESTINATIONS; i++) {
    const id = await service.subscribe(`${bench.receiverUrl}/ok/${i}`, EVENT_TYPE);
    await service.call('PATCH', `/v1/destinations/${id}`, { status: 'paused' });
    destinations.push(id);
  }
  const batch = batchOf(Array.from({ length: EVENTS_PER_BATCH }, () => eventOf(bodyOf())));
  const load = loadOf(service, [batch], { path: '/v1/events/batch', connections: 4 });
  const events = bench.sized(1.3 * UNFINISHED) / DESTINATIONS;
  await bench.closed({ load, requests: Math.ceil(events / EVENTS_PER_BATCH) });
  return destinations;
}
