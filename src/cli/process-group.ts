// Several processes that serve one port, under a parent that serves nothing: it starts them, starts again what dies,
// tells the others of it, and passes on when to stop. Each is a node of its own; of each other's lives they know only
// through the database, and of a death for certain only through the parent.
import cluster, { type Worker } from 'node:cluster';
import type { NodeId } from '../model/id.ts';
import { delay, type Clock } from '../runtime/clock.ts';
import type { Log } from '../runtime/log.ts';

/** `stop`: finish what is on the wire, then end. `end`: at once. */
export type Order = 'stop' | 'end';

const PAUSE_MIN_MS = 500;
const PAUSE_MAX_MS = 30_000;
/** A process that served for so long was no failure to start: the next pause is the shortest again. */
const SETTLED_AFTER_MS = 60_000;
/** So many in a row that never served, and none that does: whatever started us may be able to help. */
const FAILED_STARTS_MAX = 8;

const EXIT_FAILED = 1;
/** To a process of the group. */
const STOP = 'stop';
/** Answers what it said when it served: the start line is out, and its log may follow. */
const HEARD = 'heard';
/** Names nodes whose processes have ended: what they sent to is free. */
type Dead = { dead: NodeId[] };

type Options<Started> = {
  count: number;
  /** The command line of each. */
  argv: readonly string[];
  clock: Clock;
  log: Log;
  /** The first one serves: what it said of it. */
  onServing: (started: Started) => void;
};

/** What the group has to know of a process that serves. */
type Member = { node: NodeId };

type Ended = { code: number; hadStarted: boolean };

/** Resolves with the exit code when all have ended: the worst of theirs. */
export async function runProcessGroup<Started extends Member>(
  options: Options<Started>,
  onOrder: (take: (order: Order) => void) => void,
): Promise<number> {
  cluster.setupPrimary({ args: [...options.argv] });
  const group = new ProcessGroup(options);
  onOrder((order) => group.order(order));
  return group.run();
}

class ProcessGroup<Started extends Member> {
  readonly #options: Options<Started>;
  readonly #serving = new Set<Worker>();
  /** Nobody has been told of these yet. */
  readonly #dead = new Set<NodeId>();
  #failedStarts = 0;
  #isAnnounced = false;
  #isStopping = false;
  #stop = Promise.withResolvers<void>();
  #worstCode = 0;

  constructor(options: Options<Started>) {
    this.#options = options;
  }

  async run(): Promise<number> {
    const first = this.#start();
    // Alone, because it makes the schema and the first keys; and what keeps it from starting would keep the others.
    if (!(await first.serving)) return (await first.ended).code;
    const others = Array.from({ length: this.#options.count - 1 }, () => this.#keep(null));
    await Promise.all([this.#keep(first.ended), ...others]);
    return this.#worstCode;
  }

  order(order: Order): void {
    this.#isStopping = true;
    this.#stop.resolve();
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    for (const worker of workers) {
      if (order === 'end') worker.process.kill('SIGKILL');
      else if (worker.isConnected()) worker.send(STOP);
    }
  }

  /** One place in the group: somebody is in it until the group stops. `running`: who is in it now. */
  async #keep(running: Promise<Ended> | null): Promise<void> {
    const { clock } = this.#options;
    let ended = running;
    let pauseMs = PAUSE_MIN_MS;
    while (!this.#isStopping || ended !== null) {
      const startedAt = clock.monotonic();
      ended ??= this.#start().ended;
      const { code, hadStarted } = await ended;
      ended = null;
      if (this.#isStopping) {
        this.#worstCode = Math.max(this.#worstCode, code);
        return;
      }
      this.#noteDeath(hadStarted);
      if (clock.monotonic() - startedAt >= SETTLED_AFTER_MS) pauseMs = PAUSE_MIN_MS;
      await Promise.race([delay(clock, pauseMs), this.#stop.promise]);
      pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS);
    }
  }

  #noteDeath(hadStarted: boolean): void {
    this.#failedStarts = hadStarted ? 0 : this.#failedStarts + 1;
    if (this.#failedStarts < FAILED_STARTS_MAX || this.#serving.size > 0) return;
    this.#options.log.fatal('ending: no process of the group can be started');
    this.#worstCode = EXIT_FAILED;
    this.order('stop');
  }

  /** One that serves, or the first that will. Should it die before it has done its part, the leases run out. */
  #tellOfDead(): void {
    const worker = [...this.#serving].find((one) => one.isConnected());
    if (worker === undefined || this.#dead.size === 0) return;
    worker.send({ dead: [...this.#dead] } satisfies Dead);
    this.#dead.clear();
  }

  /** `serving`: whether it comes to that. */
  #start(): { serving: Promise<boolean>; ended: Promise<Ended> } {
    const { log } = this.#options;
    const worker = cluster.fork();
    const serving = Promise.withResolvers<boolean>();
    const ended = Promise.withResolvers<Ended>();
    const { pid } = worker.process;
    let node: NodeId | null = null;
    worker.once('message', (message: Started) => {
      ({ node } = message);
      if (!this.#isAnnounced) this.#options.onServing(message);
      this.#isAnnounced = true;
      worker.send(HEARD);
      this.#failedStarts = 0;
      this.#serving.add(worker);
      this.#tellOfDead();
      log.info({ process: pid }, 'a process serves');
      // One that was still starting when the order came has not heard it.
      if (this.#isStopping) worker.send(STOP);
      serving.resolve(true);
    });
    // An order to one that is ending finds nobody there; its end is what counts.
    worker.on('error', () => {});
    worker.once('exit', (exitCode, signal) => {
      this.#serving.delete(worker);
      // By a signal there is no code.
      const code = exitCode ?? EXIT_FAILED;
      if (this.#isStopping) log.info({ process: pid, code, signal }, 'a process has ended');
      else log.error({ process: pid, code, signal }, 'a process has ended; another takes its place');
      // One that stopped in good order has handed over what it sent to.
      if (node !== null && code !== 0) this.#dead.add(node);
      this.#tellOfDead();
      serving.resolve(false);
      ended.resolve({ code, hadStarted: node !== null });
    });
    return { serving: serving.promise, ended: ended.promise };
  }
}

/** The side of one that serves. Null: this process is no part of a group. */
export function groupMembership() {
  const { worker } = cluster;
  if (worker === undefined) return null;
  const onMessage = (expected: string, take: () => void): void => {
    worker.on('message', (message) => {
      if (message === expected) take();
    });
  };
  return {
    onStop: (stop: () => void) => onMessage(STOP, stop),
    tellStarted: (started: object) =>
      new Promise<void>((resolve) => {
        onMessage(HEARD, resolve);
        worker.send(started);
      }),
    onDead: (take: (node: NodeId) => void): void => {
      worker.on('message', (message: string | Dead) => {
        if (typeof message !== 'string') for (const node of message.dead) take(node);
      });
    },
    /** Without it the link to the parent would keep this process alive. */
    leave: () => worker.disconnect(),
  };
}
