// What every case is given: the load, the receiver, and services and limits made for it, which end with the case.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuSince, readCpu } from './measure.ts';
import type { CpuTimes } from './measure.ts';
import { Helper } from './processes/protocol.ts';
import type { Arrivals, Commands, LoadResult, ReceiverCommands } from './processes/protocol.ts';
import type { Report } from './report.ts';
import { Program, Service } from './service.ts';
import type { ServiceOptions } from './service.ts';

export type Case = {
  name: string;
  /** One sentence for `--help`. */
  about: string;
  /** Not in the default run: it takes too long. */
  isLong?: boolean;
  run(bench: Bench): Promise<Report[]>;
};

const ARRIVAL_MS_MAX = 120_000;

export class Bench {
  /** Settings that every service gets: which store, above all. */
  readonly settings: Record<string, string>;
  readonly #scale: number;
  readonly generator = new Helper('generator.ts');
  readonly receiver = new Helper('receiver.ts');
  /** Where the receiver listens, without TLS. */
  receiverUrl = '';
  #ends: (() => Promise<void>)[] = [];

  constructor({ settings, scale }: { settings: Record<string, string>; scale: number }) {
    this.settings = settings;
    this.#scale = scale;
  }

  async start(): Promise<void> {
    const [port] = await this.listen({ tls: null, port: 0, count: 1 });
    this.receiverUrl = `http://127.0.0.1:${port}`;
  }

  /** A count or a number of seconds, less of it where the bench was asked to be quick. */
  sized(full: number): number {
    return Math.max(1, Math.round(full * this.#scale));
  }

  /** Opens more ports of the receiver; returns them. */
  listen(argument: ReceiverCommands['listen']): Promise<number[]> {
    return this.receiver.ask('listen', argument);
  }

  async service(options: ServiceOptions = {}): Promise<Service> {
    const service = new Service({ ...options, settings: { ...this.settings, ...options.settings } });
    this.#ends.push(() => service.end());
    await service.start();
    return service;
  }

  /** The bare forwarder, sending each event to these paths of the receiver. */
  async limit(paths: string[]): Promise<Program> {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-limit-'));
    const limit = new Program(
      [process.execPath, 'bench/limit.ts', JSON.stringify({ to: this.receiverUrl, paths })],
      join(folder, 'log'),
    );
    this.#ends.push(async () => {
      await limit.signal('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    });
    await limit.start();
    return limit;
  }

  closed(argument: Commands['closed']): Promise<LoadResult> {
    return this.generator.ask('closed', argument);
  }

  open(argument: Commands['open']): Promise<LoadResult> {
    return this.generator.ask('open', argument);
  }

  /** Resolves when so many have come since the last reset (to one group, if it is named). */
  async arrivals(count: number, group: string | null = null): Promise<Arrivals> {
    const request: ReceiverCommands['wait'] = { count, group, timeoutMs: ARRIVAL_MS_MAX };
    const arrived = await this.receiver.ask<Arrivals>('wait', request);
    const come = group === null ? arrived.count : (arrived.counts[group] ?? 0);
    if (come < count) throw new Error(`${come} of ${count} deliveries arrived within ${ARRIVAL_MS_MAX / 1000} s`);
    return arrived;
  }

  async resetReceiver(): Promise<void> {
    await this.receiver.ask('reset', null);
  }

  /** At the end of a case: what it started ends. */
  async clear(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
    await this.resetReceiver();
  }

  async end(): Promise<void> {
    await this.clear();
    await this.generator.end();
    await this.receiver.end();
  }
}

/** A program's CPU time while something runs. */
export async function withCpu<T>(program: Program, work: () => Promise<T>): Promise<{ result: T; cpu: CpuTimes }> {
  const before = readCpu(program.pid);
  const result = await work();
  return { result, cpu: cpuSince(before, readCpu(program.pid)) };
}
