// Whether the machine has nothing else to do. A figure taken beside other work says more about that work, so each case
// looks first, and counts meanwhile what others use: all that the CPUs did, but for this process and what it started.
import { readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { readFamilyCpu } from './measure.ts';
import type { Report } from './report.ts';

/** Of all CPUs. Before a case nothing should run at all; beside one the kernel writes back what it has written. */
const BUSY_BEFORE_MAX = 0.05;
const BUSY_MEANWHILE_MAX = 0.1;
const LOOK_MS = 1_000;
/** The system may still be writing back what the case before has left. */
const LOOKS_MAX = 15;

const REFUSED = 'Nothing was measured: let the machine be, or give --anyway.';
const WORTHLESS = 'These figures mean nothing.';

/** Since the system began, in microseconds: what all its CPUs did, could have done, and did for this process. */
export type CpuCount = { busy: number; possible: number; ours: number };

export type Machine = { read: () => CpuCount; sleep: (ms: number) => Promise<unknown> };

export const systemMachine: Machine = {
  read: () => {
    const all = process.platform === 'linux' ? parseStat(readFileSync('/proc/stat', 'utf8')) : readCpus();
    return { ...all, ours: readFamilyCpu(process.pid) };
  },
  sleep,
};

/** What others used between the two, as a part of all CPUs. The counts come in ticks: it may seem less than nothing. */
export function othersShare(before: CpuCount, after: CpuCount): number {
  const others = after.busy - before.busy - (after.ours - before.ours);
  return Math.max(0, others / Math.max(1, after.possible - before.possible));
}

/** Waits for the machine to be quiet, or says of what it ran beside; `mayRun`: also where it is not quiet before. */
export async function runWhenQuiet(
  machine: Machine,
  { name, mayRun, run }: { name: string; mayRun: boolean; run: () => Promise<Report[]> },
): Promise<Report[]> {
  const before = tellBefore(await waitUntilQuiet(machine, mayRun ? 1 : LOOKS_MAX));
  if (before !== null && !mayRun) return [{ case: name, figures: [], unquiet: `${before}. ${REFUSED}` }];
  const start = machine.read();
  const reports = await run();
  const meanwhile = tellMeanwhile(othersShare(start, machine.read()));
  const told = [before, meanwhile].filter((text) => text !== null);
  if (told.length === 0) return reports;
  return reports.map((report) => ({ ...report, unquiet: `${told.join('; ')}. ${WORTHLESS}` }));
}

/** Looks until a second was quiet, but no more often than that; gives the share of others in the last. */
async function waitUntilQuiet(machine: Machine, looksMax: number): Promise<number> {
  for (let look = 1; ; look++) {
    const before = machine.read();
    await machine.sleep(LOOK_MS);
    const share = othersShare(before, machine.read());
    if (share <= BUSY_BEFORE_MAX || look === looksMax) return share;
  }
}

/** Null: it was quiet. */
function tellBefore(share: number): string | null {
  if (share <= BUSY_BEFORE_MAX) return null;
  return `not quiet: ${percent(share)} of the CPUs were busy before it began (load ${loadavg()[0]!.toFixed(1)})`;
}

/** Null: it was quiet. */
function tellMeanwhile(share: number): string | null {
  if (share <= BUSY_MEANWHILE_MAX) return null;
  return `not quiet: others used ${percent(share)} of the CPUs meanwhile`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** user, nice, system, idle, iowait, irq, softirq, steal, in hundredths of a second; guests are in `user` already. */
export function parseStat(text: string): { busy: number; possible: number } {
  const fields = text.slice(0, text.indexOf('\n')).trim().split(/\s+/).slice(1, 9).map(Number);
  const possible = fields.reduce((sum, ticks) => sum + ticks, 0);
  return { busy: (possible - fields[3]! - fields[4]!) * 10_000, possible: possible * 10_000 };
}

function readCpus(): { busy: number; possible: number } {
  const sum = { busy: 0, possible: 0 };
  for (const { times } of cpus()) {
    const possible = times.user + times.nice + times.sys + times.irq + times.idle;
    sum.busy += (possible - times.idle) * 1_000;
    sum.possible += possible * 1_000;
  }
  return sum;
}
