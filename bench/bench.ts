// What every case is given: the load, the receiver, and services and limits made for it, which end with the case.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addCpu, cpuSince, readCpu, type CpuTimes } from './measure.ts';
import { Postgres, type Database } from './postgres.ts';
import { Helper, type Arrivals, type Commands, type LoadResult, type ReceiverCommands } from './processes/protocol.ts';
import type { Report } from './report.ts';
import { Program, Service, type ServiceOptions } from './service.ts';

/** Which store the services have. */
export const STORES = ['sqlite', 'postgres'] as const;
export type StoreName = (typeof STORES)[number];

export type Case = {
  name: string;
  /** One sentence for `--help`. */
  about: string;
  /** On this store only. */
  store?: StoreName;
  /** Not in the default run: it takes too long. */
  isLong?: boolean;
  run(bench: Bench): Promise<Report[]>;
};

const ARRIVAL_MS_MAX = 120_000;

export class Bench {
  readonly store: StoreName;
  readonly #scale: number;
  readonly generator = new Helper('generator.ts');
  readonly receiver = new Helper('receiver.ts');
  /** Where the receiver listens, without TLS. */
  receiverUrl = '';
  #postgres: Postgres | null = null;
  #ends: (() => Promise<void>)[] = [];

  constructor({ store, scale }: { store: StoreName; scale: number }) {
    this.store = store;
    this.#scale = scale;
  }

  async start(): Promise<void> {
    if (this.store === 'postgres') this.#postgres = await Postgres.start();
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

  /** Under `--store postgres` only. */
  get postgres(): Postgres {
    if (this.#postgres === null) throw new Error('this needs --store postgres');
    return this.#postgres;
  }

  /** With a store of its own; on PostgreSQL with `database`, if that is given. */
  async service({ database, ...options }: ServiceOptions & { database?: Database } = {}): Promise<Service> {
    const own = this.#postgres === null ? null : (database ?? (await this.#postgres.createDatabase()));
    const service = new Service({ ...options, settings: { ...own?.settings, ...options.settings } });
    service.database = own;
    this.atEnd(() => service.end());
    await service.start();
    return service;
  }

  /** What is to be undone when the case ends; the last comes first. */
  atEnd(end: () => Promise<void>): void {
    this.#ends.push(end);
  }

  /** What a service's data take on disk, without what it keeps besides (its log). */
  storedMib(service: Service): Promise<number> {
    return service.database === null ? Promise.resolve(service.storedMib()) : this.postgres.storedMib(service.database);
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

  async resetReceiver(request: ReceiverCommands['reset'] = null): Promise<void> {
    await this.receiver.ask('reset', request);
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
    await this.#postgres?.stop();
  }

  /**
   * The CPU time of programs while something runs, by thread. `all` is theirs; PostgreSQL's stands beside it, and that
   * of other processes, by the name under which they are given.
   */
  async withCpu<T>(measured: Measured, work: () => Promise<T>): Promise<{ result: T; cpu: CpuTimes }> {
    const { programs, besides = {} } = measured;
    const read = (): CpuTimes => {
      const others = Object.entries(besides).map(([name, pid]) => [name, readCpu(pid)['all']!] as const);
      const own = { ...addCpu(programs.map(({ pid }) => readCpu(pid))), ...Object.fromEntries(others) };
      return this.#postgres === null ? own : { ...own, [POSTGRES_CPU]: this.#postgres.readCpu() };
    };
    const before = read();
    const result = await work();
    return { result, cpu: cpuSince(before, read()) };
  }
}

export type Measured = { programs: readonly Program[]; besides?: Record<string, number> };

/** As what PostgreSQL's processes stand in `CpuTimes`. */
export const POSTGRES_CPU = 'PostgreSQL';
