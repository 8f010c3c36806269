// Half an hour at half of what it can deliver, with five failures in a hundred: whether anything creeps. Retention is
// four minutes, so that the file has its final size after the first five.
import type { Bench, Case } from '../bench.ts';
import { median, readRss } from '../measure.ts';
import { aimed, figureOf, type Figure, type Report } from '../report.ts';
import type { Service } from '../service.ts';
import { bodyOf, eventOf, EVENT_TYPE, loadOf, runnerFor } from './throughput.ts';

const MINUTES = 30;
const LEVEL_AFTER_MINUTES = 5;
const SLICES_PER_MINUTE = 6;
const DESTINATIONS = 20;
const CALIBRATION_EVENTS = 20_000;
const RETENTION = { ROW_RETENTION: '4m', BODY_RETENTION: '4m' };
/** How much more the last part may have than the first that counts. */
const LEVEL = 1.1;

export const soak: Case = {
  name: 'soak',
  about: '30 minutes at half of deliver with 5 % failures: memory, delays, files',
  isLong: true,
  run,
};

type Sample = { rss: number; delayMs: number; fileMib: number; unfinished: number; p99: number };

async function run(bench: Bench): Promise<Report[]> {
  const service = await bench.service({ settings: { ...RETENTION, REACHABILITY_CHECK: 'off' } });
  await service.subscribe(`${bench.receiverUrl}/ok`, EVENT_TYPE);
  const types = Array.from({ length: DESTINATIONS }, (_, i) => `soak.to${i}`);
  for (const type of types) await service.subscribe(`${bench.receiverUrl}/flaky`, type);
  const perSecond = await calibrate(bench, service);
  const samples: Sample[] = [];
  for (let i = 0; i < bench.sized(MINUTES * SLICES_PER_MINUTE); i++)
    samples.push(await loadSlice(bench, service, { types, perSecond }));
  const counted = samples.slice(Math.ceil((samples.length * LEVEL_AFTER_MINUTES) / MINUTES));
  return [{ case: 'soak', figures: [{ name: 'rate', value: perSecond, unit: 'events/s' }, ...judge(counted)] }];
}

/** Half of what it delivers. */
async function calibrate(bench: Bench, service: Service): Promise<number> {
  const runService = runnerFor(bench, service);
  const events = bench.sized(CALIBRATION_EVENTS);
  const rates: number[] = [];
  for (let i = 0; i < 3; i++)
    rates.push((await runService({ bodies: [eventOf(bodyOf())], requests: events, deliveries: events })).delivered);
  return Math.round(median(rates) / 2);
}

async function loadSlice(
  bench: Bench,
  service: Service,
  { types, perSecond }: { types: string[]; perSecond: number },
): Promise<Sample> {
  const load = loadOf(
    service,
    types.map((type) => eventOf(bodyOf(), type)),
  );
  const { latencies, statuses } = await bench.open({ load, perSecond, seconds: 60 / SLICES_PER_MINUTE });
  if (Object.keys(statuses).join() !== '202') throw new Error(`not all were accepted: ${JSON.stringify(statuses)}`);
  return {
    rss: readRss(service.pid),
    delayMs: await service.takeEventLoopDelay(),
    fileMib: await bench.storedMib(service),
    unfinished: await service.metric('postrider_deliveries_unfinished'),
    p99: latencies.p99,
  };
}

/** The last third against the first: level is what has not grown. */
function judge(samples: Sample[]): Figure[] {
  const third = Math.ceil(samples.length / 3);
  const compare = (name: string, unit: string, read: (sample: Sample) => number, isAimed: boolean): Figure[] => {
    const [early, late] = [samples.slice(0, third).map(read), samples.slice(-third).map(read)];
    const growth = { name: `${name}: growth`, value: median(late) / median(early), unit: '×' };
    return [
      figureOf(`${name}, first third`, unit, early),
      figureOf(`${name}, last third`, unit, late),
      isAimed ? aimed(growth, { atMost: LEVEL }) : growth,
    ];
  };
  return [
    ...compare('RSS', 'MiB', (sample) => sample.rss, true),
    ...compare('longest event-loop delay', 'ms', (sample) => sample.delayMs, true),
    ...compare('files', 'MiB', (sample) => sample.fileMib, true),
    ...compare('unfinished', 'deliveries', (sample) => sample.unfinished, false),
    ...compare('POST answer p99', 'ms', (sample) => sample.p99, false),
  ];
}
