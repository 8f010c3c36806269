// A real service in a process of its own, started the way a user does, on a data directory of its own and a free
// port: started, stopped, cut off by kill -9, and started again on what it left.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A test's context, or whatever else runs cleanups at its end. */
export type Scope = { after(cleanup: () => Promise<void>): void };

/** Settings by name, without the prefix of their variables. */
export type Settings = Record<string, string>;

type Started = { event: string; url: string; keys: { mode: string; key: string }[]; sign_in_link?: string };

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

const PROGRAM = fileURLToPath(new URL('../../bin/postrider', import.meta.url));
const LOOPBACK = '127.0.0.0/8,::1/128';
/** On a machine with much else to do a start takes ten times as long as on one without. */
const START_MS_MAX = 120_000;
/** The longest silence that is waited out: not everything that happens is logged. */
const SILENCE_MS_MAX = 100;

/** What is still running when this process ends, however it ends, goes with it. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));

/** A service that runs; it ends and its data directory goes with the scope. */
export async function startService(scope: Scope, settings: Settings = {}): Promise<Service> {
  const service = new Service(settings);
  scope.after(() => service.end());
  await service.start();
  return service;
}

export class Service {
  /** Of the process that runs now: another port at each start. */
  url = '';
  /** The test key that the first start printed. */
  key = '';
  /** Of the last start that was asked for one. */
  signInLink = '';
  dataDir = '';
  /** Everything that all its processes wrote, standard output and error. */
  output = '';
  readonly #settings: Settings;
  readonly #variables: Record<string, string>;
  #child: ChildProcess | null = null;
  #exit: Promise<Exit> | null = null;
  readonly #spoken = new EventEmitter().setMaxListeners(0);

  /** `variables`: of its environment, beside its settings. */
  constructor(settings: Settings = {}, variables: Record<string, string> = {}) {
    this.#settings = settings;
    this.#variables = variables;
  }

  /** Resolves when it listens. */
  async start(flags: readonly string[] = []): Promise<void> {
    if (this.dataDir === '') this.dataDir = await mkdtemp(join(tmpdir(), 'postrider-e2e-'));
    const child = run(['serve', '--json', ...flags], this.environment());
    this.#child = child;
    this.#exit = exitOf(child);
    child.stderr!.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    const line = await this.#startLine(child);
    const started = JSON.parse(line) as Started;
    assert.equal(started.event, 'started');
    this.url = started.url;
    this.signInLink = started.sign_in_link ?? '';
    for (const { mode, key } of started.keys) if (mode === 'test') this.key = key;
  }

  /** As a power cut would. */
  async kill(): Promise<void> {
    await this.signal('SIGKILL');
  }

  /** As an operator would. */
  async stop(): Promise<Exit> {
    return this.signal('SIGTERM');
  }

  async signal(signal: NodeJS.Signals): Promise<Exit> {
    assert.ok(this.#child !== null && this.#exit !== null, 'the service has not been started');
    this.#child.kill(signal);
    return this.#exit;
  }

  /** Nobody reads what it writes, until the function that is returned is called. */
  leaveUnread(): () => void {
    const stdout = this.#child!.stdout!;
    stdout.removeAllListeners('data').pause();
    return () => void stdout.resume();
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  async end(): Promise<void> {
    if (this.#child !== null) await this.kill();
    if (this.dataDir !== '') await rm(this.dataDir, { recursive: true, force: true });
  }

  /** What a command that works on its data directory gets. */
  environment(): NodeJS.ProcessEnv {
    const settings: Settings = {
      HOST: '127.0.0.1',
      PORT: '0',
      DATA_DIR: this.dataDir,
      TEST_SUBNETS: LOOPBACK,
      ...this.#settings,
    };
    return { ...environmentOf(settings), RUNTIME_DIRECTORY: this.dataDir, ...this.#variables };
  }

  /** One line of JSON per log entry, of all its processes so far. */
  logEntries(): Record<string, unknown>[] {
    const lines = this.output.split('\n').filter((line) => line.startsWith('{"level"'));
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Resolves when the service logs something, such as an attempt that is recorded, or has been silent for a while. */
  async activity(): Promise<void> {
    await once(this.#spoken, 'line', { signal: AbortSignal.timeout(SILENCE_MS_MAX) }).catch(() => undefined);
  }

  /** Warnings of the log may come before it. */
  async #startLine(child: ChildProcess): Promise<string> {
    const started = Promise.withResolvers<string>();
    createInterface({ input: child.stdout! }).on('line', (line) => {
      this.output += `${line}\n`;
      if (!line.startsWith('{"level"')) started.resolve(line);
      this.#spoken.emit('line');
    });
    const late = AbortSignal.timeout(START_MS_MAX);
    late.addEventListener('abort', () => started.reject(new Error(`no start line: ${this.output.slice(-2_000)}`)));
    return Promise.race([
      started.promise,
      this.#exit!.then((exit) => {
        throw new Error(`it ended (${JSON.stringify(exit)}) instead of starting: ${this.output.slice(-2_000)}`);
      }),
    ]);
  }
}

/** Runs a command to its end. */
export async function runCommand(
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<Exit & { stdout: string; stderr: string }> {
  const child = run(argv, environment);
  let [stdout, stderr] = ['', ''];
  child.stdout!.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr!.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const exit = await exitOf(child);
  return { ...exit, stdout, stderr };
}

/** This process's environment with just these settings of the service. */
export function environmentOf(settings: Settings): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('POSTRIDER_'));
  const own = Object.entries(settings).map(([name, value]) => [`POSTRIDER_${name}`, value]);
  return Object.fromEntries([...others, ...own]) as NodeJS.ProcessEnv;
}

function run(argv: readonly string[], environment: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(PROGRAM, argv, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Resolves when it has ended and all that it wrote has been read. */
async function exitOf(child: ChildProcess): Promise<Exit> {
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal };
}
