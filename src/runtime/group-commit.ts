// Group commit: whatever arrives while one batch is being written makes the next one. No timer, so an idle
// system answers at once and a busy one shares each fsync among hundreds.
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

type Entry<Item, Result> = {
  item: Item;
  units: number;
  bytes: number;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
};

export function createGroupCommit<Item, Result>(options: {
  clock: Pick<Clock, 'afterTurn'>;
  limits: BatchLimits;
  unitsOf: (item: Item) => number;
  bytesOf: (item: Item) => number;
  /** Writes a batch; one result per item, in order. A rejection is every item's rejection. */
  write: (items: Item[]) => Promise<Result[]>;
}): GroupCommit<Item, Result> {
  const { clock, limits, unitsOf, bytesOf, write } = options;
  let queue: Entry<Item, Result>[] = [];
  let waitingBytes = 0;
  let isWriting = false;
  let idleWaiters: (() => void)[] = [];

  const takeBatch = (): Entry<Item, Result>[] => {
    let [length, units, bytes] = [0, 0, 0];
    while (length < queue.length && length < limits.itemsMax) {
      const next = queue[length]!;
      const fits = units + next.units <= limits.unitsMax && bytes + next.bytes <= limits.bytesMax;
      if (!fits && length > 0) break;
      units += next.units;
      bytes += next.bytes;
      length++;
    }
    const batch = queue;
    queue = batch.splice(length);
    waitingBytes -= bytes;
    return batch;
  };

  const writeBatch = async (batch: Entry<Item, Result>[]): Promise<void> => {
    try {
      const results = await write(batch.map((entry) => entry.item));
      for (let i = 0; i < batch.length; i++) batch[i]!.resolve(results[i]!);
    } catch (error) {
      for (const entry of batch) entry.reject(error);
    }
  };

  const run = async (): Promise<void> => {
    while (queue.length > 0) await writeBatch(takeBatch());
    isWriting = false;
    for (const resolve of idleWaiters) resolve();
    idleWaiters = [];
  };

  return {
    submit(item) {
      const bytes = bytesOf(item);
      if (queue.length >= limits.waitingMax || waitingBytes + bytes > limits.waitingBytesMax) return null;
      waitingBytes += bytes;
      return new Promise((resolve, reject) => {
        queue.push({ item, units: unitsOf(item), bytes, resolve, reject });
        if (isWriting) return;
        isWriting = true;
        // After the current turn: requests that were read together are written together.
        clock.afterTurn(() => void run());
      });
    },
    idle: () =>
      isWriting || queue.length > 0 ? new Promise((resolve) => idleWaiters.push(resolve)) : Promise.resolve(),
    waiting: () => queue.length,
  };
}
