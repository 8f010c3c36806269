// Group commit: whatever arrives while one batch is being written makes the next one. No timer, so an idle
// system answers at once and a busy one shares each fsync among hundreds. Where several batches can be written side by
// side, the statements of one overlap the fsync of another.

export type BatchLimits = {
  /** Items in one batch. */
  itemsMax: number;
  /** Sum of what `weigh` gives, each dimension on its own; a heavier item goes alone. */
  weightsMax: readonly number[];
  /** Items that may wait for a batch. */
  waitingMax: number;
  /** Sum of the last weight (bytes) over all that wait. */
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
  weights: readonly number[];
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
};

export function createGroupCommit<Item, Result>(options: {
  limits: BatchLimits;
  weigh: (item: Item) => readonly number[];
  /** Batches written side by side. A further one starts only when it would be a good part of a full one. Default 1. */
  concurrency?: number;
  /** Writes a batch; one result per item, in order. A rejection is every item's rejection. */
  write: (items: Item[]) => Promise<Result[]>;
}): GroupCommit<Item, Result> {
  const { limits, weigh, write, concurrency = 1 } = options;
  let queue: Entry<Item, Result>[] = [];
  let waitingBytes = 0;
  let writing = 0;
  let idleWaiters: (() => void)[] = [];

  const takeBatch = (): Entry<Item, Result>[] => {
    const length = batchLength(queue, limits);
    const batch = queue.slice(0, length);
    queue = queue.slice(length);
    for (const { weights } of batch) waitingBytes -= weights[weights.length - 1] ?? 0;
    return batch;
  };

  const writeBatch = async (batch: Entry<Item, Result>[]): Promise<void> => {
    try {
      const results = await write(batch.map((entry) => entry.item));
      batch.forEach((entry, i) => entry.resolve(results[i]!));
    } catch (error) {
      for (const entry of batch) entry.reject(error);
    }
  };

  /** Many small batches side by side would cost more than they gain: each has its price. */
  const mayStart = (): boolean =>
    queue.length > 0 &&
    (writing === 0 || (writing < concurrency && queue.length >= limits.itemsMax * PART_TO_WRITE_BESIDE));

  const start = (): void => {
    while (mayStart()) void run();
  };

  const run = async (): Promise<void> => {
    writing++;
    await writeBatch(takeBatch());
    writing--;
    start();
    if (writing > 0) return;
    for (const resolve of idleWaiters) resolve();
    idleWaiters = [];
  };

  return {
    submit(item) {
      const weights = weigh(item);
      const bytes = weights[weights.length - 1] ?? 0;
      if (queue.length >= limits.waitingMax || waitingBytes + bytes > limits.waitingBytesMax) return null;
      waitingBytes += bytes;
      return new Promise((resolve, reject) => {
        queue.push({ item, weights, resolve, reject });
        // After the current turn: requests that were read together are written together.
        if (writing < concurrency) queueMicrotask(start);
      });
    },
    idle: () =>
      writing > 0 || queue.length > 0 ? new Promise((resolve) => idleWaiters.push(resolve)) : Promise.resolve(),
    waiting: () => queue.length,
  };
}

/** How many of the first in the queue fit together; at least one. */
function batchLength(queue: readonly { weights: readonly number[] }[], limits: BatchLimits): number {
  const sums = limits.weightsMax.map(() => 0);
  let length = 0;
  while (length < queue.length && length < limits.itemsMax) {
    const { weights } = queue[length]!;
    const fits = weights.every((weight, i) => sums[i]! + weight <= limits.weightsMax[i]!);
    if (!fits && length > 0) break;
    for (let i = 0; i < weights.length; i++) sums[i]! += weights[i]!;
    length++;
  }
  return length;
}
