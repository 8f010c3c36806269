// npm run bench [-- NAME…] [--json FILE] [--scale PART]: runs the cases and prints a table for each.
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { Bench } from './bench.ts';
import type { Case } from './bench.ts';
import { backlog } from './cases/backlog.ts';
import { batch } from './cases/batch.ts';
import { deliver } from './cases/deliver.ts';
import { fanout } from './cases/fanout.ts';
import { growth } from './cases/growth.ts';
import { isolation } from './cases/isolation.ts';
import { latency } from './cases/latency.ts';
import { match } from './cases/match.ts';
import { origins } from './cases/origins.ts';
import { prune } from './cases/prune.ts';
import { restart } from './cases/restart.ts';
import { soak } from './cases/soak.ts';
import { formatReport } from './report.ts';
import type { Report } from './report.ts';

const CASES: readonly Case[] = [
  deliver,
  batch,
  fanout,
  latency,
  match,
  isolation,
  backlog,
  prune,
  origins,
  growth,
  restart,
  soak,
];

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'string' },
      scale: { type: 'string', default: '1' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return console.log(usage());
  const chosen = choose(positionals);
  const scale = Number(values.scale);
  if (!(scale > 0 && scale <= 1)) return fail('--scale is above 0 and at most 1');
  console.log(`${describeMachine()}\n`);
  const reports: Report[] = [];
  for (const one of chosen) reports.push(...(await runCase(one, scale)));
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify({ machine: describeMachine(), reports }, null, 2)}\n`);
}

function choose(names: readonly string[]): Case[] {
  for (const name of names) {
    if (!CASES.some((one) => one.name === name)) fail(`no case "${name}"\n\n${usage()}`);
  }
  return CASES.filter((one) => (names.length === 0 ? one.isLong !== true : names.includes(one.name)));
}

async function runCase(one: Case, scale: number): Promise<Report[]> {
  const bench = new Bench({ settings: {}, scale });
  const startedAt = performance.now();
  try {
    await bench.start();
    const reports = await one.run(bench);
    for (const report of reports) console.log(formatReport(report));
    return reports;
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
  const rows = CASES.map(
    (one) => `  ${one.name.padEnd(12)}${one.about}${one.isLong === true ? ' (only when named)' : ''}`,
  );
  const scale = '--scale 0.05 makes every case smaller: to see that it works; its figures mean nothing';
  return `npm run bench -- [NAME…] [--json FILE] [--scale PART]\n\n${rows.join('\n')}\n\n${scale}`;
}

await main();
