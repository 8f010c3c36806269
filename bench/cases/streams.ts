// What two hundred live streams cost: how long a producer waits and an event takes, and how much memory there is,
// with none, with streams that are read, and with streams that nobody reads.
import { request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { Bench, Case } from '../bench.ts';
import type { Latencies } from '../processes/protocol.ts';
import { watchRss } from '../measure.ts';
import type { Figure, Report } from '../report.ts';
import type { Service } from '../service.ts';
import { bodyOf, eventOf, EVENT_TYPE, loadOf, runnerFor } from './throughput.ts';

const STREAMS = 200;
const PER_SECOND = 5_000;
/** Of what this machine delivers at most, where that is less: what is asked for is what there is room for. */
const PART_OF_ALL = 0.4;
const CALIBRATION = 10_000;
const SECONDS = 10;
const WARM_UP_SECONDS = 5;

export const streams: Case = {
  name: 'streams',
  about: 'answer and arrival at up to 5,000 events a second beside 200 streams that are read, or not read',
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const service = await bench.service();
  await service.subscribe(`${bench.receiverUrl}/ok`, EVENT_TYPE);
  const events = bench.sized(CALIBRATION);
  const all = await runnerFor(bench, service)({ bodies: [eventOf(bodyOf())], requests: events, deliveries: events });
  const perSecond = Math.min(PER_SECOND, Math.round(all.delivered * PART_OF_ALL));
  await measure(bench, service, { perSecond, seconds: WARM_UP_SECONDS });
  const load = { perSecond, seconds: SECONDS };
  const figures = [
    { name: 'asked for', value: perSecond, unit: 'events/s' },
    ...figuresOf('no streams', await measure(bench, service, load)),
  ];
  for (const isRead of [true, false]) {
    const opened = await Promise.all(Array.from({ length: STREAMS }, () => open(service, isRead)));
    const name = `${STREAMS} streams, ${isRead ? 'read' : 'not read'}`;
    figures.push(...figuresOf(name, await measure(bench, service, load)));
    for (const stream of opened) stream.destroy();
  }
  return [{ case: 'streams', figures }];
}

type Measured = { answers: Latencies; arrivals: Latencies; peakMib: number };

async function measure(
  bench: Bench,
  service: Service,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Measured> {
  await bench.resetReceiver();
  const stop = watchRss(service.pid);
  const load = loadOf(service, [eventOf(bodyOf({ stamped: true }))]);
  const answers = await bench.open({ load, perSecond, seconds: bench.sized(seconds) });
  const { latencies } = await bench.arrivals(answers.statuses['202'] ?? 0);
  return { answers: answers.latencies, arrivals: latencies['ok']!, peakMib: stop() };
}

async function open(service: Service, isRead: boolean): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${service.key}` };
  const asked = request(`${service.url}/v1/stream`, { headers, agent: false });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`a stream was answered with ${response.statusCode}`);
  if (isRead) response.resume();
  return response.on('error', () => {});
}

function figuresOf(name: string, { answers, arrivals, peakMib }: Measured): Figure[] {
  return [
    { name: `${name}: answer p99`, value: answers.p99, unit: 'ms' },
    { name: `${name}: arrival p99`, value: arrivals.p99, unit: 'ms' },
    { name: `${name}: memory`, value: peakMib, unit: 'MiB' },
  ];
}
