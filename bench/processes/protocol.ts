// What the bench and its processes say to each other over Node's IPC channel: a command, an answer.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export type Latencies = { count: number; p50: number; p90: number; p99: number; p999: number; max: number };

/** One kind of event, sent again and again. `{at}` in the text becomes the time it should have been sent at. */
export type Load = {
  host: string;
  /** Connections are spread evenly over them. */
  ports: number[];
  path: string;
  key: string;
  /** Request bodies in turn; null: the request is a GET without one. */
  bodies: (string | null)[];
  connections: number;
};

export type Commands = {
  /** Answers when `requests` are answered: each connection sends its next as soon as it has the answer. */
  closed: { load: Load; requests: number };
  /** Sends at a rate whatever the answers do; latencies count from when a request was due. */
  open: { load: Load; perSecond: number; seconds: number };
};

export type LoadResult = {
  seconds: number;
  requests: number;
  /** Answers by status. */
  statuses: Record<string, number>;
  /** In milliseconds. */
  latencies: Latencies;
};

export type ReceiverCommands = {
  /** Opens `count` ports, of the system's choice where `port` is 0, and answers with them. */
  listen: { tls: { key: string; cert: string } | null; port: number; count: number };
  /** Stops listening and cuts every connection: from now on it refuses. */
  refuse: null;
  /** Forgets its counts and latencies; from now on keeps those of one group by second, too. */
  reset: { bySecond: string } | null;
  /** Answers when `count` requests (of one group, or of all) have come since the last reset, or after `timeoutMs`. */
  wait: { count: number; group: string | null; timeoutMs: number };
  read: null;
  /** From now on what is sent to /stuck is answered. */
  free: null;
};

export type DelayCommands = {
  /** Opens a port that leads to another, so many milliseconds away in each direction; answers with it. */
  delay: { host: string; port: number; ms: number };
};

export type Arrivals = {
  count: number;
  /** Opened since the reset. */
  connections: number;
  /** Unix ms of the first and the last request since the reset. */
  firstAt: number;
  lastAt: number;
  /** Milliseconds from when a request was due at the service to its arrival here, by the first part of the path. */
  latencies: Record<string, Latencies>;
  /** Those of the group that was named at the reset, by the second since then in which the requests were due. */
  seconds: Latencies[];
  counts: Record<string, number>;
  /** Unix ms of the first request since the reset, by the first part of the path. */
  firsts: Record<string, number>;
};

type Message = { id: number; command: string; argument: unknown };
type Answer = { id: number; result: unknown };

/** A process of the bench. It ends with the bench, however that ends. */
export class Helper {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #lastId = 0;

  constructor(file: string) {
    this.#child = fork(fileURLToPath(new URL(file, import.meta.url)), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child.on('message', ({ id, result }: Answer) => {
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  ask<Result>(command: string, argument: unknown): Promise<Result> {
    const id = ++this.#lastId;
    this.#child.send({ id, command, argument } satisfies Message);
    return new Promise((resolve) => this.#waiting.set(id, resolve as (result: unknown) => void));
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

/** The other end. A process that loses its parent ends. */
export function serve(commands: Record<string, (argument: never) => unknown>): void {
  process.on('disconnect', () => process.exit(0));
  process.on('message', ({ id, command, argument }: Message) => {
    void Promise.resolve(commands[command]!(argument as never)).then((result) => process.send!({ id, result }));
  });
}
