// npm run bench [-- NAME…] [--store postgres] [--json FILE] [--scale PART]: runs the cases and prints a table for each.
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { Bench, STORES, type Case, type StoreName } from './bench.ts';
import { baseline } from './cases/baseline.ts';
import { backlog } from './cases/backlog.ts';
import { batch } from './cases/batch.ts';
import { cluster } from './cases/cluster.ts';
import { deliver } from './cases/deliver.ts';
import { fanout } from './cases/fanout.ts';
import { growth } from './cases/growth.ts';
import { hung } from './cases/hung.ts';
import { isolation } from './cases/isolation.ts';
import { latency } from './cases/latency.ts';
import { match } from './cases/match.ts';
import { origins } from './cases/origins.ts';
import { pages } from './cases/pages.ts';
import { profile } from './cases/profile.ts';
import { prune } from './cases/prune.ts';
import { relay } from './cases/relay.ts';
import { remote } from './cases/remote.ts';
import { replay } from './cases/replay.ts';
import { restart } from './cases/restart.ts';
import { soak } from './cases/soak.ts';
import { streams } from './cases/streams.ts';
import { runWhenQuiet, systemMachine } from './machine.ts';
import { formatReport, type Report, type Results } from './report.ts';

const CASES: readonly Case[] = [
  deliver,
  profile,
  batch,
  fanout,
  latency,
  match,
  isolation,
  hung,
  backlog,
  relay,
  replay,
  prune,
  origins,
  growth,
  pages,
  restart,
  cluster,
  remote,
  streams,
  baseline,
  soak,
];

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'string' },
      scale: { type: 'string', default: '1' },
      store: { type: 'string', default: 'sqlite' },
      anyway: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return console.log(usage());
  const store = STORES.find((name) => name === values.store);
  if (store === undefined) return fail(`--store is one of ${STORES.join(', ')}`);
  const chosen = choose(positionals, store);
  const scale = Number(values.scale);
  if (!(scale > 0 && scale <= 1)) return fail('--scale is above 0 and at most 1');
  const machine = `${describeMachine()}, store: ${store}`;
  console.log(`${machine}\n`);
  const reports: Report[] = [];
  // What is made smaller means nothing, whatever else the machine does.
  const mayRun = values.anyway || scale < 1;
  for (const one of chosen) {
    const given = await runWhenQuiet(systemMachine, {
      name: one.name,
      mayRun,
      run: () => runCase(one, { store, scale }),
    });
    for (const report of given) console.log(formatReport(report));
    reports.push(...given);
  }
  if (reports.some(({ unquiet }) => unquiet !== undefined)) process.exitCode = 1;
  const results: Results = { machine, store, scale, date: new Date().toISOString().slice(0, 10), reports };
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
}

function choose(names: readonly string[], store: StoreName): Case[] {
  for (const name of names) {
    const found = CASES.find((one) => one.name === name);
    if (found === undefined) fail(`no case "${name}"\n\n${usage()}`);
    if (!runsOn(found, store)) fail(`the case "${name}" is for --store ${found.store}`);
  }
  const wanted = CASES.filter((one) => (names.length === 0 ? one.isLong !== true : names.includes(one.name)));
  return wanted.filter((one) => runsOn(one, store));
}

function runsOn(one: Case, store: StoreName): boolean {
  return one.store === undefined || one.store === store;
}

async function runCase(one: Case, options: { store: StoreName; scale: number }): Promise<Report[]> {
  const bench = new Bench(options);
  const startedAt = performance.now();
  try {
    await bench.start();
    return await one.run(bench);
  } catch (error) {
    // The others may still be worth their time.
    console.error(`${one.name} ended early:`, error);
    process.exitCode = 1;
    return [];
  } finally {
    await bench.end();
    console.error(`${one.name} took ${Math.round((performance.now() - startedAt) / 1000)} s\n`);
  }
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

function describeMachine(): string {
  const gib = Math.round(totalmem() / 2 ** 30);
  const cores = `${availableParallelism()} cores (${cpus()[0]!.model.trim()})`;
  return `${cores}, ${gib} GiB, Node ${process.version}, ${process.platform}`;
}

function usage(): string {
  const rows = CASES.map((one) => {
    const limits = [
      ...(one.isLong === true ? ['only when named'] : []),
      ...(one.store ? [`--store ${one.store}`] : []),
    ];
    return `  ${one.name.padEnd(12)}${one.about}${limits.length === 0 ? '' : ` (${limits.join('; ')})`}`;
  });
  const scale = '--scale 0.05 makes every case smaller: to see that it works; its figures mean nothing';
  const store =
    '--store postgres gives every service a database on a PostgreSQL that the bench starts; default: sqlite';
  const anyway = '--anyway measures although the machine is not quiet, where a case would be refused';
  const options = '[--store postgres] [--json FILE] [--scale PART] [--anyway]';
  return `npm run bench -- [NAME…] ${options}\n\n${rows.join('\n')}\n\n${store}\n${anyway}\n${scale}`;
}

await main();
