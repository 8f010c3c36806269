// Throughput: events in, deliveries out and recorded, in turn with the limit in one invocation.
import { POSTGRES_CPU, type Bench, type Measured } from '../bench.ts';
import { median, type CpuTimes } from '../measure.ts';
import type { Load, LoadResult } from '../processes/protocol.ts';
import { figureOf, type Figure } from '../report.ts';
import type { Program, Service } from '../service.ts';

export const CONNECTIONS = 64;
const BODY_BYTES = 500;
export const EVENT_TYPE = 'order.paid';

/** An event's `body` of 500 bytes; with `at`, the time it was due is in it, for the receiver. */
export function bodyOf({ stamped = false, customer = 'cus_0001' } = {}): string {
  const at = stamped ? '"at":"{at}",' : '';
  const start = `{${at}"customer":"${customer}","amount":4200,"currency":"EUR","note":"`;
  const length = start.length + 2 + (stamped ? 16 - '{at}'.length : 0);
  return `${start}${'x'.repeat(BODY_BYTES - length)}"}`;
}

export function eventOf(body: string, type: string = EVENT_TYPE): string {
  return `{"type":"${type}","body":${body}}`;
}

export function batchOf(events: readonly string[]): string {
  return `{"events":[${events.join(',')}]}`;
}

/** What the generator needs to know of a service; `bodies` are whole requests. */
export function loadOf(service: Service, bodies: string[], more: Partial<Load> = {}): Load {
  const { port, key } = service;
  return { host: '127.0.0.1', ports: [port], path: '/v1/events', key, bodies, connections: CONNECTIONS, ...more };
}

export type Run = {
  /** Events accepted a second, until the last answer. */
  accepted: number;
  /** Deliveries a second, until the last arrived and (where there is a store) was recorded. */
  delivered: number;
  /** Microseconds of the program's CPU for each delivery. */
  cpu: CpuTimes;
  load: LoadResult;
};

export type RunOptions = {
  path?: string;
  /** Sent in turn. */
  bodies: string[];
  requests: number;
  /** More than one in a batch. */
  eventsPerRequest?: number;
  deliveries: number;
  connections?: number;
};

/** One closed-loop run from the first request to the last delivery, on several nodes at once where there are. */
export async function runClosed(
  bench: Bench,
  measured: Measured,
  options: RunOptions & { key: string; whenArrived: () => Promise<void> },
): Promise<Run> {
  const { path = '/v1/events', bodies, requests, deliveries, connections = CONNECTIONS, key } = options;
  const events = requests * (options.eventsPerRequest ?? 1);
  await bench.resetReceiver();
  const load = { host: '127.0.0.1', ports: measured.programs.map(({ port }) => port), path, key, bodies, connections };
  const startedAt = performance.now();
  const { result, cpu } = await bench.withCpu(measured, async () => {
    const answered = await bench.closed({ load, requests });
    await bench.arrivals(deliveries);
    await options.whenArrived();
    return answered;
  });
  const seconds = (performance.now() - startedAt) / 1000;
  for (const name in cpu) cpu[name]! /= deliveries;
  assertAccepted(result);
  return { accepted: events / result.seconds, delivered: deliveries / seconds, cpu, load: result };
}

export function assertAccepted({ statuses }: LoadResult): void {
  const bad = Object.keys(statuses).filter((status) => !status.startsWith('2'));
  if (bad.length > 0) throw new Error(`not every request was accepted: ${JSON.stringify(statuses)}`);
}

/**
 * A service's runs: each waits until every delivery is recorded. To be made anew when the service starts anew, because
 * what it counts begins with its process.
 */
export function runnerFor(bench: Bench, service: Service): (options: RunOptions) => Promise<Run> {
  let finished = 0;
  return (options) => {
    finished += options.deliveries;
    const whenArrived = (): Promise<void> => service.finished(finished);
    return runClosed(bench, { programs: [service] }, { ...options, key: service.key, whenArrived });
  };
}

export function limitRunner(bench: Bench, limit: Program): (options: RunOptions) => Promise<Run> {
  return (options) =>
    runClosed(bench, { programs: [limit] }, { ...options, key: 'none', whenArrived: async () => undefined });
}

export function medianOf(runs: readonly Run[], read: (run: Run) => number): number {
  return median(runs.map(read));
}

/** Runs them in turn, so that what else the machine does in the meantime meets all of them. */
export async function inTurn<Name extends string>(
  repeats: number,
  runners: Record<Name, () => Promise<Run>>,
): Promise<Record<Name, Run[]>> {
  const names = Object.keys(runners) as Name[];
  const runs = Object.fromEntries(names.map((name) => [name, [] as Run[]])) as Record<Name, Run[]>;
  for (let i = 0; i < repeats; i++) {
    for (const name of names) runs[name].push(await runners[name]());
  }
  return runs;
}

/** One figure of several runs. */
export function figureOfRuns(name: string, unit: string, runs: readonly Run[], read: (run: Run) => number): Figure {
  return figureOf(name, unit, runs.map(read));
}

/** One side's figure as a part of the other's, pair by pair of runs that were made in turn. */
export function ratioOfRuns(
  name: string,
  { of, to }: { of: readonly Run[]; to: readonly Run[] },
  read: (run: Run) => number,
): Figure {
  return figureOf(
    name,
    '',
    of.map((one, i) => read(one) / read(to[i]!)),
  );
}

/** What storing cost, wherever that is done. */
export function storeCpu(name: string, bench: Bench, runs: readonly Run[]): Figure {
  const [whose, label] = bench.store === 'postgres' ? [POSTGRES_CPU, 'PostgreSQL'] : ['store writer', 'store writer'];
  return figureOfRuns(`${label}${name}`, 'µs/event', runs, (one) => one.cpu[whose] ?? 0);
}
