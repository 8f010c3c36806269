// Where an event's time goes: `deliver` with a CPU profile of the main thread and of the store's writer. A profile
// costs time itself, so it gives the shares only; what they are shares of is the CPU of runs without one.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Case } from '../bench.ts';
import { sharedNow } from '../processes/latencies.ts';
import { divide, type CpuProfile, type Rule } from '../profile.ts';
import type { Figure, Report } from '../report.ts';
import { makeFolder, type Service, type ServiceOptions } from '../service.ts';
import { bodyOf, eventOf, EVENT_TYPE, medianOf, runnerFor, type Run, type RunOptions } from './throughput.ts';

const REPEATS = 3;
const WARM_UP = 15_000;
const EVENTS = 40_000;
const SAMPLE_MICROSECONDS = 500;

/** The first that knows a function has it: so what is special comes first. */
const MAIN_RULES: readonly Rule[] = [
  { part: 'signing', files: /\/src\/attempt\/sign|node:internal\/crypto\/hash|node:crypto/ },
  { part: 'JSON and schemas', files: /\/src\/json\/|request-json|fast-json-stringify|\/typebox\// },
  {
    part: 'ids, matching, accepting',
    files: /\/src\/(accept|match|configuration)\/|\/src\/runtime\/(ids|group-commit)/,
  },
  { part: 'the way to the store and back', files: /\/src\/store\/|node:internal\/(worker|per_context)|\/pg(-\w+)?\// },
  {
    part: 'log, metrics, clock',
    files: /\/(pino|sonic-boom|@prometheus-io)\/|\/src\/(runtime|stats|stream|tracing)\//,
  },
  { part: 'dispatching, deciding, recording', files: /\/src\/(dispatch|record|notices|cluster)\// },
  { part: 'HTTP out', files: /\/src\/attempt\// },
  { part: 'HTTP in', files: /\/src\/api\/|\/(fastify|find-my-way|@fastify|avvio)\/|node:_http_/ },
];
const MAIN_OTHER = 'event loop, sockets, promises';

const WRITER_RULES: readonly Rule[] = [
  { part: 'begin, commit, fsync', files: /\/sqlite\/file\/database/ },
  { part: 'statements and their values', files: /\/sqlite\/queries\// },
  { part: 'checkpoints', files: /\/threads\/checkpoint/ },
  { part: 'messages', files: /\/threads\/|node:internal\/(worker|per_context)/ },
];
const WRITER_OTHER = 'the rest';

export const profile: Case = {
  name: 'profile',
  about: 'where the CPU time of an event goes: deliver, by thread and by what it does there',
  run,
};

type Shares = Map<string, number>;

async function run(bench: Bench): Promise<Report[]> {
  const plain = await measure(bench, {}, REPEATS);
  await plain.service.end();
  const folder = makeFolder('profile');
  const options = ['--cpu-prof', `--cpu-prof-dir=${folder.path}`, `--cpu-prof-interval=${SAMPLE_MICROSECONDS}`];
  const from = sharedNow();
  const profiled = await measure(bench, { environment: { NODE_OPTIONS: options.join(' ') } }, 1);
  const span = { from: (from + profiled.warmUpMs) * 1_000, to: sharedNow() * 1_000 };
  // It writes them when it ends.
  await profiled.service.signal('SIGTERM');
  const threads = readThreads(folder.path, span);
  folder.remove();
  return [{ case: 'profile', figures: present(plain.runs, threads) }];
}

type Measured = { service: Service; runs: Run[]; warmUpMs: number };

async function measure(bench: Bench, options: ServiceOptions, repeats: number): Promise<Measured> {
  const startedAt = sharedNow();
  const service = await bench.service(options);
  await service.subscribe(`${bench.receiverUrl}/ok`, EVENT_TYPE);
  const runService = runnerFor(bench, service);
  const of = (events: number): RunOptions => {
    return { bodies: [eventOf(bodyOf())], requests: bench.sized(events), deliveries: bench.sized(events) };
  };
  await runService(of(WARM_UP));
  const warmUpMs = sharedNow() - startedAt;
  const runs: Run[] = [];
  for (let i = 0; i < repeats; i++) runs.push(await runService(of(EVENTS)));
  return { service, runs, warmUpMs };
}

/** By the names that CPU times have; of the workers only the one that has most to do. */
function readThreads(folder: string, span: { from: number; to: number }): Record<string, Shares> {
  const threads: Record<string, Shares> = {};
  for (const file of readdirSync(folder)) {
    const read = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile;
    // CPU.<date>.<time>.<process>.<thread>.<number>.cpuprofile
    const isMain = file.split('.')[4] === '0';
    const [rules, other] = isMain ? [MAIN_RULES, MAIN_OTHER] : [WRITER_RULES, WRITER_OTHER];
    const shares = divide(read, { rules, other, ...span });
    const name = isMain ? 'main' : 'store writer';
    if (sumOf(shares) > sumOf(threads[name])) threads[name] = shares;
  }
  return threads;
}

function sumOf(shares: Shares = new Map()): number {
  return [...shares.values()].reduce((sum, time) => sum + time, 0);
}

/** Threads in the order of what they take, and so their parts. Only where the system tells threads apart. */
function present(runs: Run[], threads: Record<string, Shares>): Figure[] {
  const cpu = Object.keys(runs[0]!.cpu).map((name) => ({ name, value: medianOf(runs, (one) => one.cpu[name]!) }));
  const ordered = cpu.sort((a, b) => b.value - a.value);
  return ordered.flatMap(({ name, value }) => {
    const total = { name: name === 'all' ? 'the service' : name, value, unit: 'µs/event' };
    const shares = threads[name];
    if (shares === undefined) return [total];
    const parts = [...shares].sort(([, a], [, b]) => b - a);
    const scale = value / sumOf(shares);
    return [
      total,
      ...parts.map(([part, time]) => ({ name: `${name}: ${part}`, value: time * scale, unit: 'µs/event' })),
    ];
  });
}
