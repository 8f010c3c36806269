// A batch that holds something which cannot be stored is halved until that fails alone: one request must not take down
// the others that happened to come with it.
import { isDataError, isKeyLocked, isPartitionMissing } from './wire/errors.ts';
import type { Partitions } from './schema/partitions.ts';

/** Results in the order of the items. `alone` answers for an item that fails by itself. */
export async function bisect<Item, Result>(
  items: readonly Item[],
  together: (items: readonly Item[]) => Promise<Result[]>,
  alone: (item: Item, error: unknown) => Promise<Result> | Result,
): Promise<Result[]> {
  try {
    return await together(items);
  } catch (error) {
    if (!isOfOneItem(error)) throw error;
    if (items.length === 1) return [await alone(items[0]!, error)];
    const half = Math.ceil(items.length / 2);
    return [
      ...(await bisect(items.slice(0, half), together, alone)),
      ...(await bisect(items.slice(half), together, alone)),
    ];
  }
}

/** One item is to blame: without it the others can be stored. */
export function isOfOneItem(error: unknown): boolean {
  return isDataError(error) || isKeyLocked(error);
}

/** Runs `work` when there is a partition for each of these times; once more if one was dropped meanwhile. */
export async function withPartitions<Result>(
  partitions: Partitions,
  times: readonly number[],
  work: () => Promise<Result>,
): Promise<Result> {
  await partitions.ensure(times);
  try {
    return await work();
  } catch (error) {
    if (!isPartitionMissing(error)) throw error;
    await partitions.forget();
    await partitions.ensure(times);
    return work();
  }
}
