// `postrider relay` as a process of its own, an outbox for it, and what the service has of it.
import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Api } from '../e2e/api.ts';
import { environmentOf, runCommand, type Scope, type Service } from '../e2e/service.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/postrider', import.meta.url));

export type Line = { event: string } & Record<string, unknown>;
type Exit = { code: number | null; signal: NodeJS.Signals | null };

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export class RelayProcess {
  readonly lines: Line[] = [];
  errors = '';
  readonly exit: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #spoken = new EventEmitter();

  constructor(service: { url: string; key: string }, flags: readonly string[]) {
    const env = { ...environmentOf({}), POSTRIDER_URL: service.url, POSTRIDER_API_KEY: service.key };
    const child = spawn(PROGRAM, ['relay', '--json', ...flags], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    running.add(child);
    child.stderr.on('data', (chunk: Buffer) => (this.errors += chunk.toString()));
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.lines.push(JSON.parse(line) as Line);
      this.#spoken.emit('line');
    });
    this.exit = once(child, 'close').then(([code, signal]) => {
      running.delete(child);
      this.#spoken.emit('line');
      return { code: code as number | null, signal: signal as NodeJS.Signals | null };
    });
  }

  /** The next line of this kind, or one that is there already. */
  async said(event: string): Promise<Line> {
    for (;;) {
      const found = this.lines.find((line) => line.event === event);
      if (found !== undefined) return found;
      if (!running.has(this.#child)) throw new Error(`it ended without ${event}: ${this.errors}`);
      await once(this.#spoken, 'line');
    }
  }

  /** Nobody reads what it says any more. */
  leaveUnread(): void {
    this.#child.stdout!.destroy();
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Resolves when it has ended. */
  async signal(signal: NodeJS.Signals): Promise<Exit> {
    this.#child.kill(signal);
    return this.exit;
  }
}

/** Ends with the scope. */
export function startRelay(scope: Scope, service: { url: string; key: string }, flags: readonly string[]) {
  const relay = new RelayProcess(service, flags);
  scope.after(async () => {
    await relay.signal('SIGKILL');
  });
  return relay;
}

export async function schemaOf(flags: readonly string[] = []): Promise<string> {
  const { code, stdout, stderr } = await runCommand(['relay', '--print-schema', ...flags], environmentOf({}));
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

export type Accepted = { event_id: string; type: string; idempotency_key: string; occurred_at: string };

/** Of one type, in the order in which they were accepted. */
export async function acceptedOf(api: Api, type: string): Promise<Accepted[]> {
  return (await api.all<Accepted>(`/v1/events?type=${type}`)).toReversed();
}

/** How often each key was accepted: twice is once too often. */
export function countKeys(accepted: readonly Accepted[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { idempotency_key: key } of accepted) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** A key of the service that may do only this. */
export async function keyFor(service: Service, scopes: string): Promise<string> {
  const argv = ['keys', 'create', '--mode', 'test', '--scopes', scopes, '--json'];
  const { stdout } = await runCommand(argv, service.environment());
  return (JSON.parse(stdout) as { secret: string }).secret;
}
