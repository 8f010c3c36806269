// kill -9 in the middle of a hundred thousand deliveries, and how soon it goes on.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Case } from '../bench.ts';
import { watchRss } from '../measure.ts';
import { aimed, figureOf, type Report } from '../report.ts';
import type { Service } from '../service.ts';
import { assertAccepted, batchOf, bodyOf, eventOf, EVENT_TYPE, loadOf } from './throughput.ts';

const DESTINATIONS = 20;
const UNFINISHED = 100_000;
/** Few enough for an answer in one piece: each lists the deliveries. */
const EVENTS_PER_BATCH = 10;
const REPEATS = 3;
/** After the first delivery: so that memory shows what catching up takes. */
const WATCHED_SECONDS = 5;

export const restart: Case = { name: 'restart', about: 'kill -9 with 100,000 unfinished deliveries', run };

async function run(bench: Bench): Promise<Report[]> {
  const service = await bench.service({ settings: { REACHABILITY_CHECK: 'off' } });
  await fillRefusing(bench, service);
  const unfinished: number[] = [];
  const serving: number[] = [];
  const first: number[] = [];
  const peaks: number[] = [];
  for (let i = 0; i < REPEATS; i++) {
    await service.signal('SIGKILL');
    if (i === 0) await bench.listen({ tls: null, port: Number(new URL(bench.receiverUrl).port), count: 1 });
    await bench.resetReceiver();
    const startedAt = performance.now();
    await service.start();
    serving.push(service.startMs);
    const stopWatching = watchRss(service.pid);
    await bench.arrivals(1);
    first.push(performance.now() - startedAt);
    unfinished.push(await service.metric('postrider_deliveries_unfinished'));
    // Killed again at once, so that each start finds as much; the last goes on.
    if (i === REPEATS - 1) await sleep(WATCHED_SECONDS * 1000);
    peaks.push(stopWatching());
  }
  const figures = [
    figureOf('unfinished at the start', 'deliveries', unfinished),
    aimed(figureOf('serving after', 'ms', serving), { atMost: 1_000 }),
    aimed(figureOf('first delivery after', 'ms', first), { atMost: 2_000 }),
    aimed({ name: 'peak RSS, catching up', value: peaks.at(-1)!, unit: 'MiB' }, { atMost: 350 }),
  ];
  return [{ case: 'restart', figures }];
}

/** Under way, but nothing arrives: the receiver refuses until the first kill. */
async function fillRefusing(bench: Bench, service: Service): Promise<void> {
  await bench.receiver.ask('refuse', null);
  for (let i = 0; i < DESTINATIONS; i++) {
    await service.subscribe(`${bench.receiverUrl}/ok/${i}`, EVENT_TYPE);
  }
  const batch = batchOf(Array.from({ length: EVENTS_PER_BATCH }, () => eventOf(bodyOf())));
  const load = loadOf(service, [batch], { path: '/v1/events/batch', connections: 4 });
  const events = bench.sized(UNFINISHED) / DESTINATIONS;
  assertAccepted(await bench.closed({ load, requests: Math.ceil(events / EVENTS_PER_BATCH) }));
}
