// A destination that hangs and then answers again: how soon it is believed, how soon what has waited is out, and how
// many requests were spent on finding out.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Case } from '../bench.ts';
import { aimed, type Report } from '../report.ts';
import { bodyOf, eventOf, EVENT_TYPE, loadOf } from './throughput.ts';

const HANG_SECONDS = 50;
const EVENTS = 4_000;
const GROUP = 'stuck';
/** The shortest a run may be: attempts must have timed out before it answers. */
const HANG_SECONDS_MIN = 20;

export const hung: Case = {
  name: 'hung',
  about: 'a destination that has hung for 50 s answers again, with 4,000 deliveries waiting',
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const service = await bench.service();
  await service.subscribe(`${bench.receiverUrl}/${GROUP}`, EVENT_TYPE);
  const [seconds, events] = [Math.max(HANG_SECONDS_MIN, bench.sized(HANG_SECONDS)), bench.sized(EVENTS)];
  await bench.resetReceiver();
  // All are accepted at half the time: what waits, waits for the destination and not for the load.
  const load = loadOf(service, [eventOf(bodyOf())], { connections: 8 });
  await bench.open({ load, perSecond: (2 * events) / seconds, seconds: seconds / 2 });
  await sleep((seconds / 2) * 1000);
  const { count: spent } = await bench.receiver.ask<{ count: number }>('read', null);
  await bench.resetReceiver();
  await bench.receiver.ask('free', null);
  const startedAt = performance.now();
  await bench.arrivals(1);
  const first = performance.now() - startedAt;
  // Those that were tried meanwhile wait for their next attempt, as their schedule says.
  await bench.arrivals(events - spent);
  const all = performance.now() - startedAt;
  const figures = [
    { name: 'waiting when it answers again', value: events, unit: 'deliveries' },
    { name: 'requests spent on it meanwhile', value: spent, unit: '' },
    aimed({ name: 'first success after', value: first, unit: 'ms' }, { atMost: 2_000 }),
    aimed({ name: 'all that waited are out after', value: all, unit: 'ms' }, { atMost: 5_000 }),
  ];
  return [{ case: 'hung', figures }];
}
