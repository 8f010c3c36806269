// What a TypeScript team would write instead, bench/baselines/bullmq, in turn with the limit and the service on
// PostgreSQL. Twice: with a Redis that fsyncs before it answers, as durable as a commit, and as it is usually run.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { COUNT_UNFINISHED } from '../baselines/bullmq/schema.ts';
import { POSTGRES_CPU, type Bench, type Case } from '../bench.ts';
import type { Database } from '../postgres.ts';
import { hasRedis, startRedis, type Fsync } from '../redis.ts';
import type { Figure, Report } from '../report.ts';
import { makeFolder, Program } from '../service.ts';
import {
  bodyOf,
  eventOf,
  EVENT_TYPE,
  figureOfRuns,
  inTurn,
  limitRunner,
  ratioOfRuns,
  runClosed,
  runnerFor,
  type Run,
  type RunOptions,
} from './throughput.ts';

const FOLDER = fileURLToPath(new URL('../baselines/bullmq', import.meta.url));
const REPEATS = 3;
const WARM_UP = 5_000;
const EVENTS = 15_000;
const REDIS_CPU = 'Redis';
const POLL_MS = 25;
const FINISHED_MS_MAX = 60_000;

export const baseline: Case = {
  name: 'baseline',
  about: 'deliver by BullMQ, Redis and PostgreSQL as a team would put them together, in turn with the service',
  store: 'postgres',
  run,
};

const NO_REDIS =
  'Skipped: there is no `redis-server` on the PATH. ' +
  'Install it (Debian: `apt-get install redis-server`) and run this again.';

async function run(bench: Bench): Promise<Report[]> {
  if (!hasRedis()) return [{ case: 'baseline', figures: [], notes: [NO_REDIS] }];
  install();
  const service = await bench.service();
  await service.subscribe(`${bench.receiverUrl}/ok`, EVENT_TYPE);
  const runners = {
    limits: limitRunner(bench, await bench.limit(['/ok'])),
    ours: runnerFor(bench, service),
    durable: await startBaseline(bench, 'always'),
    usual: await startBaseline(bench, 'everysec'),
  };
  const of = (events: number): RunOptions => ({ bodies: [eventOf(bodyOf())], requests: events, deliveries: events });
  for (const one of Object.values(runners)) await one(of(bench.sized(WARM_UP)));
  const once = of(bench.sized(EVENTS));
  const { limits, ours, durable, usual } = await inTurn(REPEATS, {
    limits: () => runners.limits(once),
    ours: () => runners.ours(once),
    durable: () => runners.durable(once),
    usual: () => runners.usual(once),
  });
  const delivered = (one: Run): number => one.delivered;
  const figures = [
    figureOfRuns('the limit', 'events/s', limits, delivered),
    ...figuresOf('Postrider', ours, limits),
    ...figuresOf('BullMQ, appendfsync always', durable, limits),
    ...figuresOf('BullMQ, appendfsync everysec', usual, limits),
    { ...ratioOfRuns('Postrider, of BullMQ with always', { of: ours, to: durable }, delivered), unit: '×' },
    { ...ratioOfRuns('Postrider, of BullMQ with everysec', { of: ours, to: usual }, delivered), unit: '×' },
  ];
  return [{ case: 'baseline', figures }];
}

/** Its dependencies are its own: nobody who does not run this case has them. */
function install(): void {
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--no-update-notifier'];
  execFileSync('npm', ['install', ...options], { cwd: FOLDER, stdio: ['ignore', 'ignore', 'inherit'] });
}

type Runner = (options: RunOptions) => Promise<Run>;

async function startBaseline(bench: Bench, fsync: Fsync): Promise<Runner> {
  const redis = await startRedis(fsync);
  bench.atEnd(() => redis.stop());
  const database = await bench.postgres.createDatabase();
  const key = randomBytes(16).toString('hex');
  const program = await startProgram(bench, { databaseUrl: database.url, redisPort: redis.port, key });
  await subscribe(bench, database);
  const measured = { programs: [program], besides: { [REDIS_CPU]: redis.pid } };
  const whenArrived = (): Promise<void> => finished(bench, database);
  return (options) => runClosed(bench, measured, { ...options, key, whenArrived });
}

async function startProgram(bench: Bench, options: object): Promise<Program> {
  const folder = makeFolder('bullmq');
  const argv = [process.execPath, `${FOLDER}/main.ts`, JSON.stringify(options)];
  const program = new Program(argv, `${folder.path}/log`, { NODE_ENV: 'production' });
  bench.atEnd(async () => {
    await program.signal('SIGKILL');
    folder.remove();
  });
  await program.start();
  return program;
}

async function subscribe({ postgres, receiverUrl }: Bench, database: Database): Promise<void> {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  await postgres.query(
    database,
    `WITH d AS (
       INSERT INTO destinations VALUES (gen_random_uuid(), '${receiverUrl}/ok', '${secret}') RETURNING id)
     INSERT INTO subscriptions SELECT gen_random_uuid(), d.id, '${EVENT_TYPE}' FROM d`,
  );
}

/** Resolves when every result is stored. */
async function finished({ postgres }: Bench, database: Database): Promise<void> {
  for (const startedAt = performance.now(); ; await sleep(POLL_MS)) {
    const [row] = await postgres.query(database, COUNT_UNFINISHED);
    if (row!['n'] === 0) return;
    if (performance.now() - startedAt > FINISHED_MS_MAX) throw new Error(`${String(row!['n'])} were not recorded`);
  }
}

function figuresOf(name: string, runs: Run[], limits: Run[]): Figure[] {
  const cpu = (whose: string) => (one: Run) => one.cpu[whose] ?? 0;
  const hasRedisToo = runs[0]!.cpu[REDIS_CPU] !== undefined;
  return [
    figureOfRuns(`${name}: delivered`, 'events/s', runs, (one) => one.delivered),
    ratioOfRuns(`${name}: of the limit`, { of: runs, to: limits }, (one) => one.delivered),
    figureOfRuns(`${name}: CPU of its own process`, 'µs/event', runs, cpu('all')),
    ...(hasRedisToo ? [figureOfRuns(`${name}: CPU, Redis`, 'µs/event', runs, cpu(REDIS_CPU))] : []),
    figureOfRuns(`${name}: CPU, PostgreSQL`, 'µs/event', runs, cpu(POSTGRES_CPU)),
    figureOfRuns(`${name}: POST answer p50`, 'ms', runs, (one) => one.load.latencies.p50),
    figureOfRuns(`${name}: POST answer p99`, 'ms', runs, (one) => one.load.latencies.p99),
  ];
}
