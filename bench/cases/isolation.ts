// Whether one receiver's trouble is its own: 100 destinations get ten events a second each; then 40 of them fall ill
// in four ways at once, and what the other 60 see of it is the figure.
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import type { Bench, Case } from '../bench.ts';
import { watchRss } from '../measure.ts';
import type { Arrivals, Latencies } from '../processes/protocol.ts';
import { aimed, figureOf, format, type Figure, type Report } from '../report.ts';
import type { Service } from '../service.ts';
import { batchOf, bodyOf, eventOf, loadOf } from './throughput.ts';

const DESTINATIONS = 100;
const PER_SECOND = 1_000;
const WARM_UP_SECONDS = 5;
const WINDOWS = 3;
const WINDOW_SECONDS = 8;
/** Longer than the timeout of an attempt: by then every kind of trouble has shown all it does. */
const ONSET_SECONDS = 18;
const WAITING_EACH = 10_000;
const FILL_TYPE = 'fill.up';
const EVENTS_PER_BATCH = 100;

const TROUBLES = ['hang', 'refuse', '500', 'slow'] as const;
type Trouble = (typeof TROUBLES)[number];
const ILL_OF_EACH = 10;

/** Destinations that never answer, all together with this many events a second ... */
const HANGING = [100, 1_000];
const HANGING_PER_SECOND = 1_000;
/** ... beside one that is well and takes 50 ms for an answer. */
const BESIDE = 'far';
const BESIDE_TYPE = 'beside.it';
const BESIDE_PER_SECOND = 200;
const BESIDE_P99_MAX_MS = 25;

export const isolation: Case = {
  name: 'isolation',
  about: '100 destinations at 1,000 events a second, and 40 of them fall ill; one beside 100 and 1,000 that hang',
  run,
};

type Ill = { id: string; trouble: Trouble };

async function run(bench: Bench): Promise<Report[]> {
  const ill = await runIll(bench);
  const hanging: Report[] = [];
  for (const count of HANGING) hanging.push(await runHanging(bench, bench.sized(count)));
  return [...ill, ...hanging];
}

async function runIll(bench: Bench): Promise<Report[]> {
  const service = await bench.service({ settings: { REACHABILITY_CHECK: 'off' } });
  const ill = await createDestinations(bench, service);
  await runFor(bench, service, WARM_UP_SECONDS);
  const before = await measureWindows(bench, service);
  await fillRefusing(bench, service, ill);
  await fallIll(bench, service, ill);
  await service.takeEventLoopDelay();
  const stopWatching = watchRss(service.pid);
  await runFor(bench, service, ONSET_SECONDS);
  const after = await measureWindows(bench, service);
  const unfinished = await service.metric('postrider_deliveries_unfinished');
  const figures = [
    ...compare(before, after),
    { name: 'unfinished at the end', value: unfinished, unit: 'deliveries' },
    { name: 'longest event-loop delay', value: await service.takeEventLoopDelay(), unit: 'ms' },
    { name: 'peak RSS', value: stopWatching(), unit: 'MiB' },
  ];
  return [{ case: 'isolation', figures }];
}

/** All are well, those that will fall ill in a group of their own. Each has an event type to itself. */
async function createDestinations(bench: Bench, service: Service): Promise<Ill[]> {
  const ill: Ill[] = [];
  for (let i = 0; i < DESTINATIONS; i++) {
    const trouble = TROUBLES[Math.floor(i / ILL_OF_EACH)];
    const path = trouble === undefined ? '/ok' : '/ok-yet';
    const id = await service.subscribe(`${bench.receiverUrl}${path}/${i}`, typeOf(i));
    if (trouble === undefined) continue;
    ill.push({ id, trouble });
    if (trouble === 'refuse')
      await service.call('POST', '/v1/subscriptions', { destination_id: id, event_type: FILL_TYPE });
  }
  return ill;
}

function typeOf(index: number): string {
  return `load.to${index}`;
}

/** Every event goes to one destination, all in turn. Resolves when what the healthy ones get has arrived. */
async function runFor(bench: Bench, service: Service, seconds: number): Promise<Latencies> {
  await bench.resetReceiver();
  const body = bodyOf({ stamped: true });
  const bodies = Array.from({ length: DESTINATIONS }, (_, i) => eventOf(body, typeOf(i)));
  const load = loadOf(service, bodies);
  const answers = await bench.open({ load, perSecond: PER_SECOND, seconds: bench.sized(seconds) });
  const accepted = answers.statuses['202'] ?? 0;
  if (accepted < answers.requests) throw new Error(`not every event was accepted: ${JSON.stringify(answers.statuses)}`);
  const healthy = DESTINATIONS - TROUBLES.length * ILL_OF_EACH;
  const { latencies } = await bench.arrivals((accepted / DESTINATIONS) * healthy, 'ok');
  return latencies['ok']!;
}

async function measureWindows(bench: Bench, service: Service): Promise<Latencies[]> {
  const windows: Latencies[] = [];
  for (let i = 0; i < WINDOWS; i++) windows.push(await runFor(bench, service, WINDOW_SECONDS));
  return windows;
}

/** Those that will refuse are paused until each has its deliveries waiting. */
async function fillRefusing(bench: Bench, service: Service, ill: Ill[]): Promise<void> {
  for (const { id, trouble } of ill)
    if (trouble === 'refuse') await service.call('PATCH', `/v1/destinations/${id}`, { status: 'paused' });
  const batch = batchOf(Array.from({ length: EVENTS_PER_BATCH }, () => eventOf(bodyOf(), FILL_TYPE)));
  const load = loadOf(service, [batch], { path: '/v1/events/batch', connections: 4 });
  await bench.closed({ load, requests: Math.ceil(bench.sized(WAITING_EACH) / EVENTS_PER_BATCH) });
}

async function fallIll(bench: Bench, service: Service, ill: Ill[]): Promise<void> {
  const closed = `http://127.0.0.1:${await findClosedPort()}/ok`;
  for (const { id, trouble } of ill) {
    const url = trouble === 'refuse' ? closed : `${bench.receiverUrl}/${trouble}`;
    await service.call('PATCH', `/v1/destinations/${id}`, { url, status: 'active' });
  }
}

async function findClosedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function compare(before: Latencies[], after: Latencies[]): Figure[] {
  const rows = (['p50', 'p99', 'p999'] as const).flatMap((percentile) => {
    const read = (one: Latencies): number => one[percentile];
    const name = percentile === 'p999' ? 'p99.9' : percentile;
    return [
      figureOf(`arrival ${name}, all well`, 'ms', before.map(read)),
      figureOf(`arrival ${name}, 40 ill`, 'ms', after.map(read)),
    ];
  });
  const growth = rows[3]!.value / rows[2]!.value;
  return [...rows, aimed({ name: 'arrival p99: growth', value: growth, unit: '×' }, { atMost: 1.2 })];
}

/** The first seconds are the worst: nobody knows yet who hangs. */
async function runHanging(bench: Bench, count: number): Promise<Report> {
  const service = await bench.service({ settings: { REACHABILITY_CHECK: 'off' } });
  await service.subscribe(`${bench.receiverUrl}/${BESIDE}`, BESIDE_TYPE);
  for (let i = 0; i < count; i++) await service.subscribe(`${bench.receiverUrl}/hang/${i}`, typeOf(i));
  await loadBeside(bench, service, WARM_UP_SECONDS);
  const alone = await loadBeside(bench, service, WINDOW_SECONDS);
  const hanging = Array.from({ length: count }, (_, i) => eventOf(bodyOf(), typeOf(i)));
  const seconds = bench.sized(ONSET_SECONDS);
  const [beside] = await Promise.all([
    loadBeside(bench, service, ONSET_SECONDS),
    bench.open({ load: loadOf(service, hanging), perSecond: HANGING_PER_SECOND, seconds }),
  ]);
  const [before, after] = [alone.latencies[BESIDE]!, beside.latencies[BESIDE]!];
  const figures = [
    { name: 'arrival p50 alone', value: before.p50, unit: 'ms' },
    { name: 'arrival p99 alone', value: before.p99, unit: 'ms' },
    { name: 'arrival p50 beside them', value: after.p50, unit: 'ms' },
    aimed({ name: 'arrival p99 beside them', value: after.p99, unit: 'ms' }, { atMost: BESIDE_P99_MAX_MS }),
  ];
  await bench.clear();
  const name = `isolation: one beside ${count.toLocaleString('en-US')} that hang`;
  return { case: name, figures, notes: [tellSeconds(beside.seconds)] };
}

/** Which second it was that a p99 comes from. */
function tellSeconds(seconds: readonly Latencies[]): string {
  const told = seconds.map(({ p99 }) => format(p99)).join(', ');
  return `Arrival p99 beside them in each second since they began to hang, in ms: ${told}.`;
}

async function loadBeside(bench: Bench, service: Service, seconds: number): Promise<Arrivals> {
  await bench.resetReceiver({ bySecond: BESIDE });
  const load = loadOf(service, [eventOf(bodyOf({ stamped: true }), BESIDE_TYPE)], { connections: 8 });
  const { requests } = await bench.open({ load, perSecond: BESIDE_PER_SECOND, seconds: bench.sized(seconds) });
  return bench.arrivals(requests, BESIDE);
}
