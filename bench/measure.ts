// What the operating system says of a process: CPU time by thread, resident memory; and small statistics.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const RSS_INTERVAL_MS = 100;
/** What Linux counts the CPU time of processes in that have ended: a hundredth of a second, on every architecture. */
const TICK_MICROSECONDS = 10_000;

/** Microseconds of CPU since the process began, by the name of the thread. Linux only; elsewhere `all` alone. */
export type CpuTimes = Record<string, number>;

export function readCpu(pid: number): CpuTimes {
  if (process.platform !== 'linux') return { all: cputimeOf(pid) };
  const times: CpuTimes = { all: 0 };
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`;
    const name = nameThread(readFileSync(`${folder}/comm`, 'utf8').trim(), thread === String(pid));
    const microseconds = Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ')[0]) / 1000;
    times[name] = (times[name] ?? 0) + microseconds;
    times['all']! += microseconds;
  }
  return times;
}

function nameThread(comm: string, isMain: boolean): string {
  if (isMain) return 'main';
  // The system cuts names at 15 characters.
  if (comm.startsWith('store check')) return 'store checkpointer';
  if (comm.startsWith('store')) return comm;
  return 'V8 and libuv';
}

export function cpuSince(before: CpuTimes, after: CpuTimes): CpuTimes {
  return Object.fromEntries(Object.entries(after).map(([name, time]) => [name, time - (before[name] ?? 0)]));
}

/** Of several processes together. */
export function addCpu(all: readonly CpuTimes[]): CpuTimes {
  const sum: CpuTimes = {};
  for (const times of all) for (const [name, time] of Object.entries(times)) sum[name] = (sum[name] ?? 0) + time;
  return sum;
}

/**
 * Microseconds of CPU of a process and its children, also of children that have ended since (where they are known: on
 * Linux a parent's times include those). The children's own children are not looked for: servers here have none.
 */
export function readTreeCpu(pid: number): number {
  if (process.platform !== 'linux') return [pid, ...childrenOf(pid)].reduce((sum, one) => sum + cputimeOf(one), 0);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  const running = [pid, ...children.map(Number)].reduce((sum, one) => sum + scheduledTimeOf(one), 0);
  // The fields after the name, which may hold anything: the 14th and 15th are those of children that have ended.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
  return running + (Number(fields[13]) + Number(fields[14])) * TICK_MICROSECONDS;
}

/**
 * The same of all that came from a process, in ticks, as the system counts what its CPUs did. By what each process says
 * of its parent: what the system says of the children is not complete while some of them end.
 */
export function readFamilyCpu(pid: number): number {
  if (process.platform !== 'linux') return readTreeCpu(pid);
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const processes = new Map(all.map((name) => [Number(name), readStat(name)]));
  let ticks = 0;
  let family = [pid];
  while (family.length > 0) {
    ticks += family.reduce((sum, one) => sum + (processes.get(one)?.ticks ?? 0), 0);
    const parents = new Set(family);
    family = [...processes].filter(([, stat]) => stat !== null && parents.has(stat.parent)).map(([one]) => one);
  }
  return ticks * TICK_MICROSECONDS;
}

/** User and system time of its own, and of children that have ended. Null: it has ended itself. */
function readStat(pid: string): { parent: number; ticks: number } | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ').map(Number);
    return { parent: fields[1]!, ticks: fields[11]! + fields[12]! + fields[13]! + fields[14]! };
  } catch {
    return null;
  }
}

/** 0: it has ended meanwhile. */
function scheduledTimeOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;
  } catch {
    return 0;
  }
}

function childrenOf(pid: number): number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.filter(([, parent]) => parent === pid).map(([child]) => child!);
}

/** `ps` knows hundredths of a second: enough for a run of several. */
function cputimeOf(pid: number): number {
  const text = execFileSync('ps', ['-o', 'cputime=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  const seconds = text.split(/[:-]/).reduce((sum, part) => sum * 60 + Number(part), 0);
  return seconds * 1e6;
}

/** Resident memory in MiB; 0: there is no such process any more. */
export function readRss(pid: number): number {
  try {
    return readRssKib(pid) / 1024;
  } catch {
    return 0;
  }
}

function readRssKib(pid: number): number {
  if (process.platform === 'linux')
    return Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).trim());
}

/** Samples the memory of a process until the returned function is called, which gives the peak in MiB. */
export function watchRss(pid: number): () => number {
  let peak = readRss(pid);
  const timer = setInterval(() => (peak = Math.max(peak, readRss(pid))), RSS_INTERVAL_MS);
  // A case that ends early stops nothing; the bench must end all the same.
  timer.unref();
  return () => {
    clearInterval(timer);
    return peak;
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** How far the runs lay apart, of their median: 0.1 is 10 %. */
export function spread(values: readonly number[]): number {
  const middle = median(values);
  return middle === 0 ? 0 : (Math.max(...values) - Math.min(...values)) / middle;
}
