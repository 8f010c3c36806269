// HTTPS. One receiver with connections that are kept alive, beside the same without TLS; then a thousand origins that
// are met for the first time, all at once: what so many handshakes cost, and whether they hold up everything else.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Bench, Case } from '../bench.ts';
import type { Arrivals, Latencies } from '../processes/protocol.ts';
import { aimed, figureOf, type Figure, type Report } from '../report.ts';
import type { Service } from '../service.ts';
import {
  bodyOf,
  eventOf,
  EVENT_TYPE,
  figureOfRuns,
  inTurn,
  loadOf,
  ratioOfRuns,
  runnerFor,
  type Run,
} from './throughput.ts';

const PLAIN_TYPE = 'plain.event';
const REPEATS = 3;
const KEPT_ALIVE_OF_PLAIN = 0.6;
const DELAY_MS_MAX = 20;
const WARM_UP = 10_000;
const EVENTS = 15_000;
/** Ports of one address: an origin is a scheme, a host and a port, and every system has enough of those. */
const ORIGINS = 1_000;
const SETS = 3;
const SETUP_AT_ONCE = 16;

export const origins: Case = {
  name: 'origins',
  about: 'HTTPS: one receiver with kept-alive connections, and a thousand origins met cold',
  run,
};

/** The tests' own: kept with them because Node cannot make certificates, and not every machine has OpenSSL. */
function certificate(name: string): string {
  return fileURLToPath(new URL(`../../test/attempt/certs/${name}`, import.meta.url));
}

async function run(bench: Bench): Promise<Report[]> {
  const service = await bench.service({
    settings: { REACHABILITY_CHECK: 'off' },
    environment: { NODE_EXTRA_CA_CERTS: certificate('ca.crt') },
  });
  const figures = [...(await measureKeptAlive(bench, service)), ...(await measureCold(bench, service))];
  return [{ case: 'origins', figures }];
}

async function listenTls(bench: Bench, count: number): Promise<string[]> {
  const tls = {
    key: readFileSync(certificate('good.key'), 'utf8'),
    cert: readFileSync(certificate('good.crt'), 'utf8'),
  };
  const ports = await bench.listen({ tls, port: 0, count });
  return ports.map((port) => `https://127.0.0.1:${port}`);
}

async function measureKeptAlive(bench: Bench, service: Service): Promise<Figure[]> {
  const [secure] = await listenTls(bench, 1);
  await service.subscribe(`${secure}/ok`, EVENT_TYPE);
  await service.subscribe(`${bench.receiverUrl}/ok`, PLAIN_TYPE);
  const runService = runnerFor(bench, service);
  const of = (type: string, events: number) => {
    return { bodies: [eventOf(bodyOf(), type)], requests: events, deliveries: events };
  };
  for (const type of [EVENT_TYPE, PLAIN_TYPE]) await runService(of(type, bench.sized(WARM_UP)));
  const runs = await inTurn(REPEATS, {
    plain: () => runService(of(PLAIN_TYPE, bench.sized(EVENTS))),
    secure: () => runService(of(EVENT_TYPE, bench.sized(EVENTS))),
  });
  const delivered = (one: Run): number => one.delivered;
  const cpu = (one: Run): number => one.cpu['all']!;
  return [
    figureOfRuns('kept alive: delivered without TLS', 'events/s', runs.plain, delivered),
    figureOfRuns('kept alive: delivered', 'events/s', runs.secure, delivered),
    aimed(ratioOfRuns('kept alive: of that without TLS', { of: runs.secure, to: runs.plain }, delivered), {
      atLeast: KEPT_ALIVE_OF_PLAIN,
    }),
    figureOfRuns('kept alive: CPU without TLS', 'µs/event', runs.plain, cpu),
    figureOfRuns('kept alive: CPU', 'µs/event', runs.secure, cpu),
  ];
}

type Meeting = { arrivals: Arrivals; cpu: number };
type Origins = { type: string; count: number };

/** Each set of origins is met twice: cold, and at once again, as far as its connections were kept. */
async function measureCold(bench: Bench, service: Service): Promise<Figure[]> {
  const sets: Origins[] = [];
  for (let i = 0; i < SETS; i++) sets.push(await makeOrigins(bench, service, `cold.set${i}`));
  await service.forgetEventLoopDelay();
  const cold: Meeting[] = [];
  const again: Meeting[] = [];
  for (const set of sets) {
    cold.push(await meet(bench, service, set));
    again.push(await meet(bench, service, set));
  }
  const longest = { name: 'longest event-loop delay', value: await service.takeEventLoopDelay(), unit: 'ms' };
  return [...describe('cold', cold), ...describe('met again', again), aimed(longest, { atMost: DELAY_MS_MAX })];
}

async function makeOrigins(bench: Bench, service: Service, type: string): Promise<Origins> {
  const urls = await listenTls(bench, bench.sized(ORIGINS));
  for (let i = 0; i < urls.length; i += SETUP_AT_ONCE)
    await Promise.all(urls.slice(i, i + SETUP_AT_ONCE).map((url) => service.subscribe(`${url}/ok`, type)));
  return { type, count: urls.length };
}

/** One event for all of them. */
async function meet(bench: Bench, service: Service, { type, count }: Origins): Promise<Meeting> {
  await bench.resetReceiver();
  const load = loadOf(service, [eventOf(bodyOf({ stamped: true }), type)]);
  const { result, cpu } = await bench.withCpu({ programs: [service] }, async () => {
    await bench.closed({ load, requests: 1 });
    return bench.arrivals(count);
  });
  return { arrivals: result, cpu: cpu['all']! / count };
}

function describe(name: string, meetings: Meeting[]): Figure[] {
  const read = (what: string, unit: string, of: (meeting: Meeting) => number): Figure =>
    figureOf(`${name}: ${what}`, unit, meetings.map(of));
  const latencies = ({ arrivals }: Meeting): Latencies => arrivals.latencies['ok']!;
  return [
    read('connections opened', '', ({ arrivals }) => arrivals.connections),
    read('arrival p50', 'ms', (meeting) => latencies(meeting).p50),
    read('last arrival', 'ms', (meeting) => latencies(meeting).max),
    read('CPU', 'µs/delivery', ({ cpu }) => cpu),
  ];
}
