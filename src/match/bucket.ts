// The entries under one key of the index. Nearly always there is one, for which a Set would cost 200 bytes more.
import type { MatchEntry } from './matcher.ts';

export type Bucket = MatchEntry | Set<MatchEntry>;

export function addToBucket(bucket: Bucket | undefined, entry: MatchEntry): Bucket {
  if (bucket === undefined) return entry;
  return bucket instanceof Set ? bucket.add(entry) : new Set([bucket, entry]);
}

/** What is left without the entry; undefined: nothing. */
export function removeFromBucket(bucket: Bucket | undefined, entry: MatchEntry): Bucket | undefined {
  if (!(bucket instanceof Set)) return bucket === entry ? undefined : bucket;
  bucket.delete(entry);
  return bucket.size === 0 ? undefined : bucket;
}

export function bucketSize(bucket: Bucket | undefined): number {
  if (bucket === undefined) return 0;
  return bucket instanceof Set ? bucket.size : 1;
}

export function forEachIn(bucket: Bucket, visit: (entry: MatchEntry) => void): void {
  if (bucket instanceof Set) for (const entry of bucket) visit(entry);
  else visit(bucket);
}
