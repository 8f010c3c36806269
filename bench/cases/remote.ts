// A database that is not on this machine: PostgreSQL behind a proxy that delays each way by a millisecond, in turn with
// the same server directly. Whoever waits for many round trips one after the other shows it here.
import { performance } from 'node:perf_hooks';
import { Client } from 'pg';
import type { Bench, Case } from '../bench.ts';
import { median } from '../measure.ts';
import type { Database } from '../postgres.ts';
import { Helper, type DelayCommands } from '../processes/protocol.ts';
import { aimed, figureOf, type Figure, type Report } from '../report.ts';
import {
  bodyOf,
  eventOf,
  EVENT_TYPE,
  figureOfRuns,
  inTurn,
  ratioOfRuns,
  runnerFor,
  type Run,
  type RunOptions,
} from './throughput.ts';

const DELAY_MS = 1;
const REPEATS = 3;
const WARM_UP = 8_000;
/** Connections of the load, and how much of the throughput beside the database must be left. */
const LOADS = [
  { connections: 64, events: 15_000, ofDirect: 0.6 },
  { connections: 256, events: 20_000, ofDirect: 0.85 },
];
const ONE_BY_ONE = 400;
const PINGS = 100;
/** One, and what the timers of the proxy add to it by chance. */
const ROUND_TRIPS_MAX = 1.25;

export const remote: Case = {
  name: 'remote',
  about: 'deliver with the database 2 to 3 ms away, in turn with the same beside it',
  store: 'postgres',
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const [near, behind] = [await bench.postgres.createDatabase(), await bench.postgres.createDatabase()];
  const far = await moveAway(bench, behind);
  const runners = { direct: await startOn(bench, near), remote: await startOn(bench, far) };
  for (const runOne of Object.values(runners)) await runOne(ofConnections(bench, LOADS[0]!.connections, WARM_UP));
  const runAll = (options: RunOptions): Promise<Record<'direct' | 'remote', Run[]>> =>
    inTurn(REPEATS, { direct: () => runners.direct(options), remote: () => runners.remote(options) });
  const roundTrip = (await timeRoundTrip(far)) - (await timeRoundTrip(near));
  const figures: Figure[] = [{ name: 'round trip that the distance adds', value: roundTrip, unit: 'ms' }];
  for (const { connections, events, ofDirect } of LOADS) {
    const runs = await runAll(ofConnections(bench, connections, events));
    figures.push(...compare(`${connections} connections`, runs, ofDirect));
  }
  figures.push(...compareOneByOne(await runAll(ofConnections(bench, 1, ONE_BY_ONE)), roundTrip));
  return [{ case: 'remote', figures }];
}

/** The same database by another address. */
async function moveAway(bench: Bench, database: Database): Promise<Database> {
  const helper = new Helper('delay.ts');
  bench.atEnd(() => helper.end());
  const url = new URL(database.url);
  const request: DelayCommands['delay'] = { host: url.hostname, port: Number(url.port), ms: DELAY_MS };
  url.port = String(await helper.ask<number>('delay', request));
  return { ...database, url: url.href, settings: { ...database.settings, DATABASE_URL: url.href } };
}

async function startOn(bench: Bench, database: Database): Promise<(options: RunOptions) => Promise<Run>> {
  const service = await bench.service({ database });
  await service.subscribe(`${bench.receiverUrl}/ok`, EVENT_TYPE);
  return runnerFor(bench, service);
}

function ofConnections(bench: Bench, connections: number, events: number): RunOptions {
  return { bodies: [eventOf(bodyOf())], requests: bench.sized(events), deliveries: bench.sized(events), connections };
}

async function timeRoundTrip({ url }: Database): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const times: number[] = [];
  for (let i = 0; i < PINGS; i++) {
    const startedAt = performance.now();
    await client.query('SELECT 1');
    times.push(performance.now() - startedAt);
  }
  await client.end();
  return median(times);
}

function compare(label: string, { direct, remote: away }: Record<'direct' | 'remote', Run[]>, atLeast: number) {
  const delivered = (one: Run): number => one.delivered;
  const p50 = (one: Run): number => one.load.latencies.p50;
  return [
    figureOfRuns(`${label}: delivered, directly`, 'events/s', direct, delivered),
    figureOfRuns(`${label}: delivered, from afar`, 'events/s', away, delivered),
    aimed(ratioOfRuns(`${label}: of directly`, { of: away, to: direct }, delivered), { atLeast }),
    figureOfRuns(`${label}: POST answer p50, directly`, 'ms', direct, p50),
    figureOfRuns(`${label}: POST answer p50, from afar`, 'ms', away, p50),
  ];
}

function compareOneByOne({ direct, remote: away }: Record<'direct' | 'remote', Run[]>, roundTrip: number): Figure[] {
  const p50 = (one: Run): number => one.load.latencies.p50;
  const more = away.map((one, i) => (p50(one) - p50(direct[i]!)) / roundTrip);
  return [
    figureOfRuns('one request at a time: POST answer p50, directly', 'ms', direct, p50),
    figureOfRuns('one request at a time: POST answer p50, from afar', 'ms', away, p50),
    aimed(figureOf('one request at a time: more than directly', 'round trips', more), { atMost: ROUND_TRIPS_MAX }),
  ];
}
