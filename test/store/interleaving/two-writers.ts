// Two writers on one database, of which one statement at a time goes out. A statement that waits for a lock of the
// other writer is told by what the server says of its connections, never by how long it takes; then the other goes on.
import { AsyncLocalStorage } from 'node:async_hooks';
import { delay, systemClock } from '../../../src/runtime/clock.ts';

/** 0 and 1: the first and the second writer. */
export type Which = 0 | 1;

/** One statement that was let go, by name; 'COMMIT' too. `isFree`: the other one could have gone instead. */
export type Step = { writer: Which; name: string; isFree: boolean };

export type Choose = (steps: readonly Step[]) => Which;

type Writer = { which: Which; waiting: { name: string; go: () => void } | null; isDone: boolean };

/** Far more than any two writers need. */
const STEPS_MAX = 400;
const DEADLINE_MS = 60_000;
/** Most statements are done by then, and nobody needs to ask whether they wait. */
const ASK_AFTER_MS = 2;

export class TwoWriters {
  readonly #context = new AsyncLocalStorage<Writer>();
  readonly #countLockWaits: () => Promise<number>;
  #changed: () => void = () => {};

  /** `countLockWaits`: how many of the database's connections wait for a lock just now. */
  constructor(countLockWaits: () => Promise<number>) {
    this.#countLockWaits = countLockWaits;
  }

  /** For the stores. Whoever is neither of the two is not stopped. */
  readonly beforeStatement = (name: string): Promise<void> => {
    const writer = this.#context.getStore();
    if (writer === undefined) return Promise.resolve();
    if (writer.waiting !== null) throw new Error(`a writer is at two statements: ${writer.waiting.name}, ${name}`);
    return new Promise((go) => {
      writer.waiting = { name, go };
      this.#changed();
    });
  };

  /**
   * Runs both to their ends; what each came to, or threw. `choose` says who goes where both could. `after` sees every
   * step when all that it set off has come to rest.
   */
  async run<Answer>(
    acts: readonly [() => Promise<Answer>, () => Promise<Answer>],
    choose: Choose,
    after: (step: Step) => Promise<void>,
  ): Promise<PromiseSettledResult<Answer>[]> {
    const writers = ([0, 1] as const).map((which): Writer => ({ which, waiting: null, isDone: false }));
    const running = writers.map((writer) => this.#start(writer, acts[writer.which]));
    const steps: Step[] = [];
    const endsAt = systemClock.monotonic() + DEADLINE_MS;
    for (;;) {
      await this.#rest(writers, endsAt);
      const ready = writers.filter(({ waiting }) => waiting !== null);
      if (ready.length === 0) return Promise.allSettled(running);
      if (steps.length >= STEPS_MAX) throw new Error(`no end: ${describe(steps)}`);
      const isFree = ready.length === 2;
      const writer = isFree ? writers[choose(steps)]! : ready[0]!;
      const { name, go } = writer.waiting!;
      const step = { writer: writer.which, name, isFree };
      steps.push(step);
      writer.waiting = null;
      go();
      await this.#rest(writers, endsAt);
      await after(step);
    }
  }

  async #start<Answer>(writer: Writer, act: () => Promise<Answer>): Promise<Answer> {
    try {
      return await this.#context.run(writer, act);
    } finally {
      writer.isDone = true;
      this.#changed();
    }
  }

  /** Until each of them is stopped or done, or waits for a lock of one that is stopped. */
  async #rest(writers: readonly Writer[], endsAt: number): Promise<void> {
    for (;;) {
      const changed = new Promise<true>((resolve) => (this.#changed = () => resolve(true)));
      const underWay = writers.filter(({ waiting, isDone }) => waiting === null && !isDone).length;
      if (underWay === 0) return;
      if (systemClock.monotonic() >= endsAt) throw new Error('a writer neither goes on nor waits for a lock');
      if (await Promise.race([changed, delay(systemClock, ASK_AFTER_MS)])) continue;
      const isAnyStopped = writers.some(({ waiting }) => waiting !== null);
      // Those that are stopped wait for nothing in the database: as many as wait there are the ones under way.
      const areAllWaiting = isAnyStopped && (await this.#countLockWaits()) >= underWay;
      const isStillSo = writers.filter(({ waiting, isDone }) => waiting === null && !isDone).length === underWay;
      if (areAllWaiting && isStillSo) return;
    }
  }
}

/** `1:transaction_xid 2:record_finish …`, to be read by people. */
export function describe(steps: readonly Step[]): string {
  return steps.map(({ writer, name }) => `${writer + 1}:${name}`).join(' ');
}
