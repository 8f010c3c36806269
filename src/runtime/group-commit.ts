// Group commit: whatever arrives while one batch is being written makes the next one. No timer, so an idle
// system answers at once and a busy one shares each fsync among hundreds.

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

type Entry<Item, Result> = {
  item: Item;
  weights: readonly number[];
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
};

export function createGroupCommit<Item, Result>(options: {
  limits: BatchLimits;
  weigh: (item: Item) => readonly number[];
  /** Writes a batch; one result per item, in order. A rejection is every item's rejection. */
  write: (items: Item[]) => Promise<Result[]>;
}): GroupCommit<Item, Result> {
  const { limits, weigh, write } = options;
  let queue: Entry<Item, Result>[] = [];
  let waitingBytes = 0;
  let isWriting = false;
  let idleWaiters: (() => void)[] = [];

  const takeBatch = (): Entry<Item, Result>[] => {
    const sums = limits.weightsMax.map(() => 0);
    let length = 0;
    while (length < queue.length && length < limits.itemsMax) {
      const { weights } = queue[length]!;
      const fits = weights.every((weight, i) => sums[i]! + weight <= limits.weightsMax[i]!);
      if (!fits && length > 0) break;
      for (let i = 0; i < weights.length; i++) sums[i]! += weights[i]!;
      length++;
    }
    const batch = queue.slice(0, length);
    queue = queue.slice(length);
    waitingBytes -= sums[sums.length - 1] ?? 0;
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

  const run = async (): Promise<void> => {
    isWriting = true;
    while (queue.length > 0) await writeBatch(takeBatch());
    isWriting = false;
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
        if (!isWriting) queueMicrotask(() => !isWriting && void run());
      });
    },
    idle: () =>
      isWriting || queue.length > 0 ? new Promise((resolve) => idleWaiters.push(resolve)) : Promise.resolve(),
    waiting: () => queue.length,
  };
}
