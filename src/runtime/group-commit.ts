// Group commit: whatever arrives while one batch is being written makes the next one. No timer, so an idle
// system answers at once and a busy one shares each fsync among hundreds. Where several batches can be written side by
// side, the statements of one overlap the fsync of another.
import type { Clock } from './clock.ts';

export type BatchLimits = {
  /** Items in one batch. */
  itemsMax: number;
  /** Sums of `unitsOf` and of `bytesOf` over a batch; a heavier item goes alone. */
  unitsMax: number;
  bytesMax: number;
  /** Items that may wait for a batch, and the sum of their bytes. */
  waitingMax: number;
  waitingBytesMax: number;
};

export interface GroupCommit<Item, Result> {
  /** Resolves with the item's own result once its batch is written; null: too much is waiting already. */
  submit(item: Item): Promise<Result> | null;
  /** Resolves when nothing waits and nothing is being written. */
  idle(): Promise<void>;
  waiting(): number;
}

/** Of a full batch. */
const PART_TO_WRITE_BESIDE = 0.2;

type Entry<Item, Result> = {
  item: Item;
  units: number;
  bytes: number;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
};

export type GroupCommitOptions<Item, Result> = {
  clock: Pick<Clock, 'afterTurn'>;
  limits: BatchLimits;
  unitsOf: (item: Item) => number;
  bytesOf: (item: Item) => number;
  /** Batches written side by side. A further one starts only when it would be a good part of a full one. Default 1. */
  concurrency?: number;
  /** Writes a batch; one result per item, in order. A rejection is every item's rejection. */
  write: (items: Item[]) => Promise<Result[]>;
};

export function createGroupCommit<Item, Result>(options: GroupCommitOptions<Item, Result>): GroupCommit<Item, Result> {
  return new Batches(options);
}

class Batches<Item, Result> implements GroupCommit<Item, Result> {
  readonly #options: GroupCommitOptions<Item, Result>;
  #queue: Entry<Item, Result>[] = [];
  #waitingBytes = 0;
  #writing = 0;
  #isPlanned = false;
  #idleWaiters: (() => void)[] = [];

  constructor(options: GroupCommitOptions<Item, Result>) {
    this.#options = options;
  }

  submit(item: Item): Promise<Result> | null {
    const { limits, unitsOf, bytesOf } = this.#options;
    const bytes = bytesOf(item);
    const isFull = this.#queue.length >= limits.waitingMax || this.#waitingBytes + bytes > limits.waitingBytesMax;
    if (isFull) return null;
    this.#waitingBytes += bytes;
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, units: unitsOf(item), bytes, resolve, reject });
      this.#planStart();
    });
  }

  idle(): Promise<void> {
    const isIdle = this.#writing === 0 && this.#queue.length === 0;
    return isIdle ? Promise.resolve() : new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  waiting(): number {
    return this.#queue.length;
  }

  /** After the current turn: requests that were read together are written together. */
  #planStart(): void {
    if (this.#isPlanned || !this.#mayStart()) return;
    this.#isPlanned = true;
    this.#options.clock.afterTurn(() => {
      this.#isPlanned = false;
      this.#start();
    });
  }

  /** Many small batches side by side would cost more than they gain: each has its price. */
  #mayStart(): boolean {
    const { limits, concurrency = 1 } = this.#options;
    if (this.#queue.length === 0 || this.#writing === 0) return this.#queue.length > 0;
    return this.#writing < concurrency && this.#queue.length >= limits.itemsMax * PART_TO_WRITE_BESIDE;
  }

  #start(): void {
    while (this.#mayStart()) void this.#run();
  }

  async #run(): Promise<void> {
    this.#writing++;
    await this.#writeBatch(this.#takeBatch());
    this.#writing--;
    this.#start();
    if (this.#writing > 0) return;
    for (const resolve of this.#idleWaiters) resolve();
    this.#idleWaiters = [];
  }

  #takeBatch(): Entry<Item, Result>[] {
    const batch = this.#queue;
    this.#queue = batch.splice(batchLength(batch, this.#options.limits));
    for (const { bytes } of batch) this.#waitingBytes -= bytes;
    return batch;
  }

  async #writeBatch(batch: Entry<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.write(batch.map((entry) => entry.item));
      for (let i = 0; i < batch.length; i++) batch[i]!.resolve(results[i]!);
    } catch (error) {
      for (const entry of batch) entry.reject(error);
    }
  }
}

/** How many of the first in the queue fit together; at least one. */
function batchLength(queue: readonly { units: number; bytes: number }[], limits: BatchLimits): number {
  let [length, units, bytes] = [0, 0, 0];
  while (length < queue.length && length < limits.itemsMax) {
    const next = queue[length]!;
    const fits = units + next.units <= limits.unitsMax && bytes + next.bytes <= limits.bytesMax;
    if (!fits && length > 0) break;
    units += next.units;
    bytes += next.bytes;
    length++;
  }
  return length;
}
