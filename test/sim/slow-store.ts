// The store as the service sees it from its main thread: every call takes time, reads and writes have a thread each
// that answers in order, calls can fail for a while, and a crash swallows answers. Behind it is the real store.
import { StoreError, type Store } from '../../src/store/store.ts';
import type { VirtualProcess } from './process.ts';
import type { SeededRandom } from './seeded-random.ts';

/** What fails: new work only (the disk is nearly full), all writes, all reads, or everything. */
export type Trouble = 'accepts' | 'writes' | 'reads' | 'all';

type Method = keyof Omit<Store, 'close' | 'findTrouble'>;
type Call = {
  method: Method;
  parameters: unknown[];
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
};

/** Hears of every call when it has been carried out, and again just before its caller hears of it. */
export type StoreObserver = {
  executed: (method: string, parameters: unknown[], result: unknown) => void;
  answered: (method: string, result: unknown) => void;
};

const NEW_WORK: ReadonlySet<string> = new Set([
  'acceptEvents',
  'replayEvent',
  'createDestination',
  'updateDestination',
  'createSubscription',
]);
/** What the reader answers: everything that is read, but for the writer's counts. */
function isRead(method: string): boolean {
  return /^(read|list|sweep|refill)/.test(method) && method !== 'readStats';
}

export class SlowStore {
  readonly store: Store;
  trouble: Trouble | null = null;
  /** Single methods that fail, whatever the trouble. */
  readonly failing = new Set<Method>();
  /** What has become of the files, while they are not where they belong. */
  misplaced: string | null = null;
  /** How often each method was called. */
  readonly calls: Record<string, number> = {};
  readonly #inner: Store;
  #isClosed = false;
  readonly #process: VirtualProcess;
  readonly #random: SeededRandom;
  readonly #observer: StoreObserver;
  readonly #lanes = { reads: new Lane(), writes: new Lane() };

  constructor(inner: Store, process: VirtualProcess, random: SeededRandom, observer: StoreObserver) {
    this.#inner = inner;
    this.#process = process;
    this.#random = random;
    this.#observer = observer;
    const methods = Object.keys(inner).map((method) => [method, this.#method(method as Method)]);
    const findTrouble = async (): Promise<string | null> => {
      this.#count('findTrouble');
      return this.misplaced;
    };
    this.store = { ...(Object.fromEntries(methods) as Store), findTrouble, close: () => this.close() };
  }

  /** By the service at its stop, or when it was killed. */
  async close(): Promise<void> {
    if (!this.#isClosed) await this.#inner.close();
    this.#isClosed = true;
  }

  #method(method: Method) {
    return (...parameters: unknown[]): Promise<unknown> =>
      new Promise((resolve, reject) => {
        this.#count(method);
        const lane = isRead(method) ? this.#lanes.reads : this.#lanes.writes;
        lane.waiting.push({ method, parameters, resolve, reject });
        if (!lane.isBusy) this.#takeNext(lane);
      });
  }

  #count(method: string): void {
    this.calls[method] = (this.calls[method] ?? 0) + 1;
  }

  #takeNext(lane: Lane): void {
    const call = lane.waiting.shift();
    lane.isBusy = call !== undefined;
    if (call === undefined) return;
    this.#process.clock.setTimer(() => {
      void this.#execute(lane, call);
    }, this.#delayMs());
  }

  /** Done when it is done, known only later: other calls may be done in between. */
  async #execute(lane: Lane, call: Call): Promise<void> {
    const { clock } = this.#process;
    let answer: () => void;
    try {
      if (this.#fails(call.method)) throw this.#error();
      const result = await (this.#inner[call.method] as (...parameters: unknown[]) => Promise<unknown>)(
        ...call.parameters,
      );
      this.#observer.executed(call.method, call.parameters, result);
      answer = () => {
        this.#observer.answered(call.method, result);
        call.resolve(result);
      };
    } catch (error) {
      answer = () => call.reject(error);
    }
    lane.answersUntil = Math.max(lane.answersUntil, clock.monotonic() + this.#delayMs());
    clock.setTimer(answer, lane.answersUntil - clock.monotonic());
    this.#takeNext(lane);
  }

  #fails(method: Method): boolean {
    if (this.trouble === null) return this.failing.has(method);
    if (this.trouble === 'all') return true;
    if (this.trouble === 'accepts') return NEW_WORK.has(method);
    return isRead(method) === (this.trouble === 'reads');
  }

  #error(): StoreError {
    return this.trouble === 'accepts'
      ? new StoreError('disk_full', 'the simulated disk is full')
      : new StoreError('unavailable', 'the simulated store is away');
  }

  #delayMs(): number {
    return this.#random.chance(0.01) ? this.#random.between(5, 60) : this.#random.fraction();
  }
}

class Lane {
  readonly waiting: Call[] = [];
  isBusy = false;
  /** Answers come in the order of their calls. */
  answersUntil = 0;
}
