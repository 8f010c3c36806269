// What lies under one key of an index. Nearly always that is one thing, for which a Set would cost 200 bytes more.

export type Bucket<T extends object | string> = T | Set<T>;

export function addToBucket<T extends object | string>(bucket: Bucket<T> | undefined, item: T): Bucket<T> {
  if (bucket === undefined) return item;
  return bucket instanceof Set ? bucket.add(item) : new Set([bucket, item]);
}

/** What is left without the item; undefined: nothing. */
export function removeFromBucket<T extends object | string>(
  bucket: Bucket<T> | undefined,
  item: T,
): Bucket<T> | undefined {
  if (!(bucket instanceof Set)) return bucket === item ? undefined : bucket;
  bucket.delete(item);
  return bucket.size === 0 ? undefined : bucket;
}

export function bucketSize(bucket: Bucket<object> | undefined): number {
  if (bucket === undefined) return 0;
  return bucket instanceof Set ? bucket.size : 1;
}

export function forEachIn<T extends object | string>(bucket: Bucket<T>, visit: (item: T) => void): void {
  if (bucket instanceof Set) for (const item of bucket) visit(item);
  else visit(bucket);
}

export function itemsOf<T extends object | string>(bucket: Bucket<T> | undefined): Iterable<T> {
  if (bucket === undefined) return [];
  return bucket instanceof Set ? bucket : [bucket];
}
