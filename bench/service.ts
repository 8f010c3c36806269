// The service under measurement: `postrider serve` in a process of its own, on a fresh data directory, with default
// settings but for the address, and what the receiver's being on this machine needs. Its log goes to a file, as an
// operator's would.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, mkdtempSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Database } from './postgres.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LOOPBACK = '127.0.0.0/8,::1/128';
const START_POLL_MS = 5;
const START_MS_MAX = 60_000;
const LOG_BYTES_READ = 65_536;
const FINISHED_POLL_MS = 25;
const FINISHED_MS_MAX = 60_000;
const EVENT_LOOP_WINDOW_MS = 15_100;
const EVENT_LOOP_DELAY = 'postrider_event_loop_delay_seconds';

const running = new Set<ChildProcess>();
const folders = new Set<string>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** A folder for what a program keeps, and a program, that the bench must not leave behind however it ends. */
export function makeFolder(name: string): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), `postrider-${name}-`));
  folders.add(path);
  const remove = (): void => {
    rmSync(path, { recursive: true, force: true });
    folders.delete(path);
  };
  return { path, remove };
}

export function endWithBench(child: ChildProcess): void {
  running.add(child);
  child.once('exit', () => running.delete(child));
}

export type ServiceOptions = {
  settings?: Record<string, string>;
  /** Kept from an earlier service of this bench. */
  dataDir?: string;
  environment?: Record<string, string>;
};

type Started = { url: string; keys?: { mode: string; key: string }[] };

/** A program of this project that prints a line of JSON with its `url` when it serves. */
export class Program {
  readonly #argv: string[];
  readonly #environment: NodeJS.ProcessEnv;
  readonly #logFile: string;
  #child: ChildProcess | null = null;
  url = '';
  /** From the start of the process to the line that says it serves, in ms. */
  startMs = 0;

  constructor(argv: string[], logFile: string, environment: NodeJS.ProcessEnv = {}) {
    this.#argv = argv;
    this.#logFile = logFile;
    this.#environment = { ...process.env, ...environment };
  }

  async start(): Promise<Started> {
    const log = openSync(this.#logFile, 'a+');
    const skip = fstatSync(log).size;
    const startedAt = performance.now();
    const [file, ...parameters] = this.#argv;
    const child = spawn(file!, parameters, {
      cwd: ROOT,
      stdio: ['ignore', log, log],
      env: this.#environment,
    });
    this.#child = child;
    endWithBench(child);
    try {
      return await this.#waitUntilStarted({ child, log, skip, startedAt });
    } finally {
      closeSync(log);
    }
  }

  async #waitUntilStarted(started: { child: ChildProcess; log: number; skip: number; startedAt: number }) {
    const { child, log, skip, startedAt } = started;
    // It may write much more before its start is noticed; the line comes early.
    const buffer = Buffer.alloc(LOG_BYTES_READ);
    for (;;) {
      const text = buffer.toString('utf8', 0, readSync(log, buffer, 0, LOG_BYTES_READ, skip));
      const line = text.split('\n').find((candidate) => candidate.startsWith('{"event":"started"'));
      if (line !== undefined && text.includes(`${line}\n`)) {
        this.startMs = performance.now() - startedAt;
        const said = JSON.parse(line) as Started;
        this.url = said.url;
        return said;
      }
      if (child.exitCode !== null || performance.now() - startedAt > START_MS_MAX)
        throw new Error(`${this.#argv.join(' ')} did not start:\n${text.slice(-2_000)}`);
      await sleep(START_POLL_MS);
    }
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Resolves when it has ended. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
}

export class Service extends Program {
  readonly dataDir: string;
  /** Its own, or the one that it shares with the other nodes; null: its store is in `dataDir`. */
  database: Database | null = null;
  /** The test key that the first start printed. */
  key = '';
  #eventLoopDelayMs = 0;

  constructor({ settings = {}, dataDir, environment = {} }: ServiceOptions = {}) {
    const folder = dataDir ?? mkdtempSync(join(tmpdir(), 'postrider-bench-'));
    const all = { HOST: '127.0.0.1', PORT: '0', DATA_DIR: folder, TEST_SUBNETS: LOOPBACK, ...settings };
    const variables = Object.fromEntries(Object.entries(all).map(([name, value]) => [`POSTRIDER_${name}`, value]));
    super([join(ROOT, 'bin/postrider'), 'serve', '--json'], join(folder, 'service.log'), {
      ...variables,
      ...environment,
    });
    this.dataDir = folder;
    folders.add(folder);
  }

  override async start(): Promise<Started> {
    const started = await super.start();
    for (const { mode, key } of started.keys ?? []) if (mode === 'test') this.key = key;
    return started;
  }

  /** Stops it as an operator would, and removes what it stored. */
  async end(): Promise<void> {
    await this.signal('SIGKILL');
    rmSync(this.dataDir, { recursive: true, force: true });
    folders.delete(this.dataDir);
  }

  /** The embedded store's database with its log; not the service's log of attempts, which an operator rotates. */
  storedMib(): number {
    const files = readdirSync(this.dataDir).filter((name) => name.startsWith('postrider.db'));
    return files.reduce((sum, name) => sum + statSync(join(this.dataDir, name)).size, 0) / 2 ** 20;
  }

  // ── Its API, for setting a case up ──

  async call<Result>(method: string, path: string, body?: unknown): Promise<Result> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? null : JSON.parse(text)) as Result;
  }

  /** A destination and a subscription of its own to `eventType`. */
  async subscribe(url: string, eventType: string, more: object = {}): Promise<string> {
    const { id } = await this.call<{ id: string }>('POST', '/v1/destinations', { url, ...more });
    await this.call('POST', '/v1/subscriptions', { destination_id: id, event_type: eventType });
    return id;
  }

  /** The sum of a metric's values over its labels, or those of one label. */
  async metric(name: string, label = ''): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    this.#eventLoopDelayMs = Math.max(this.#eventLoopDelayMs, sumOf(text, EVENT_LOOP_DELAY) * 1000);
    return sumOf(text, name, label);
  }

  /** The longest delay of its event loop, in ms, since the last call, or in the last 15 to 30 s if that is more. */
  async takeEventLoopDelay(): Promise<number> {
    await this.metric(EVENT_LOOP_DELAY);
    const longest = this.#eventLoopDelayMs;
    this.#eventLoopDelayMs = 0;
    return longest;
  }

  /** Waits until no earlier delay is in what is taken next: the service forgets one when its window has ended twice. */
  async forgetEventLoopDelay(): Promise<void> {
    for (let i = 0; i < 2; i++) {
      await sleep(EVENT_LOOP_WINDOW_MS);
      await this.takeEventLoopDelay();
    }
  }

  /** Resolves when that many deliveries have ended in their rows since the process began. */
  async finished(count: number): Promise<void> {
    for (const startedAt = performance.now(); ; await sleep(FINISHED_POLL_MS)) {
      const finished = await this.metric('postrider_deliveries_finished_total');
      if (finished >= count) return;
      if (performance.now() - startedAt > FINISHED_MS_MAX) throw new Error(`${finished} of ${count} were recorded`);
    }
  }
}

function sumOf(text: string, name: string, label = ''): number {
  const lines = text.split('\n').filter((line) => line.startsWith(name) && line.includes(label));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
