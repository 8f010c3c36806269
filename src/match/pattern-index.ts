// The subscriptions of one pattern, found by the values that their filters demand.
//
// Each subscription lies in one place. A filter that demands equalities lies under one of them: where the fewest
// others lie, an additional path counting as much as NEW_PATH_COST of them, because each path of a pattern is looked
// up for every event. So 100,000 filters on {status, customer_id} soon lie under customer_id.
import { isOperational } from '../model/event-type.ts';
import { listEqualities, type Equality } from './filter/filter.ts';
import { isScalar, type Scalar } from './filter/json.ts';
import type { FilterPath } from './filter/path.ts';
import type { Inspection } from './inspection.ts';
import type { MatchEntry } from './matcher.ts';

const NEW_PATH_COST = 8;
/** A Map holds at most 2^24 keys; filters that would bring a path near that are tried one by one. */
const VALUES_PER_PATH_MAX = 16_000_000;

type PathIndex = { path: FilterPath; byValue: Map<Scalar, Bucket<MatchEntry>> };

export class PatternIndex {
  readonly pattern: string;
  /** Without a filter, or with one that demands no equality. */
  #others: Bucket<MatchEntry> | undefined;
  /** By the path's key. Null while empty: a million patterns with one subscription each have to fit. */
  #paths: Map<string, PathIndex> | null = null;

  constructor(pattern: string) {
    this.pattern = pattern;
  }

  get isEmpty(): boolean {
    return this.#others === undefined && this.#paths === null;
  }

  add(entry: MatchEntry): void {
    const home = this.#chooseHome(entry);
    if (home === null) {
      this.#others = addToBucket(this.#others, entry);
      return;
    }
    const { byValue } = this.#openPath(home.path);
    for (const value of home.values) byValue.set(value, addToBucket(byValue.get(value), entry));
  }

  /** Looks in every place where the entry may lie; where it lies is not kept, to save memory. */
  remove(entry: MatchEntry): void {
    this.#others = removeFromBucket(this.#others, entry);
    if (this.#paths === null || entry.filter === null) return;
    for (const { path, values } of listEqualities(entry.filter)) {
      const byValue = this.#paths.get(path.key)?.byValue;
      if (byValue === undefined) continue;
      for (const value of values) {
        const bucket = removeFromBucket(byValue.get(value), entry);
        if (bucket === undefined) byValue.delete(value);
        else byValue.set(value, bucket);
      }
      if (byValue.size === 0) this.#paths.delete(path.key);
    }
    if (this.#paths.size === 0) this.#paths = null;
  }

  /** Visits, once each, all entries that may accept the body; `inspect` is called only if a filter needs it. */
  forEachCandidate(inspect: () => Inspection, visit: (entry: MatchEntry) => void): void {
    if (this.#others !== undefined) forEachIn(this.#others, visit);
    if (this.#paths === null) return;
    for (const index of this.#paths.values()) forEachFound(index, inspect(), visit);
  }

  /** All entries, whatever their filters; one that lies under several values comes as often. */
  *entries(): Generator<MatchEntry> {
    yield* itemsOf(this.#others);
    for (const { byValue } of this.#paths?.values() ?? [])
      for (const bucket of byValue.values()) yield* itemsOf(bucket);
  }

  #chooseHome(entry: MatchEntry): Equality | null {
    let best: Equality | null = null;
    let bestCost = Infinity;
    for (const equality of entry.filter === null ? [] : listEqualities(entry.filter)) {
      const cost = this.#costOf(equality);
      if (cost < bestCost) [best, bestCost] = [equality, cost];
    }
    return best;
  }

  #costOf({ path, values }: Equality): number {
    const byValue = this.#paths?.get(path.key)?.byValue;
    if (byValue === undefined) return NEW_PATH_COST;
    if (byValue.size + values.length > VALUES_PER_PATH_MAX) return Infinity;
    return Math.max(...values.map((value) => bucketSize(byValue.get(value))));
  }

  #openPath(path: FilterPath): PathIndex {
    this.#paths ??= new Map();
    return this.#paths.getOrInsertComputed(path.key, () => ({ path, byValue: new Map() }));
  }
}

function forEachFound({ path, byValue }: PathIndex, inspection: Inspection, visit: (entry: MatchEntry) => void): void {
  if (path.singular) {
    const value = inspection.valueAt(path);
    const bucket = isScalar(value) ? byValue.get(value) : undefined;
    if (bucket !== undefined) forEachIn(bucket, visit);
    return;
  }
  // Values of one $in lead to one entry: visit each entry once.
  const found = new Set<MatchEntry>();
  for (const value of inspection.select(path).scalars()) {
    const bucket = byValue.get(value);
    if (bucket !== undefined) forEachIn(bucket, (entry) => found.add(entry));
  }
  found.forEach((entry) => visit(entry));
}

// Which patterns match which event types. `P.*` is P and exactly one more segment, `P.**` P and one or more;
// neither matches P itself; `**` matches every event type but those of the service's own.

/** The patterns that match an event type, at most 12: the type, its parent's `.*`, each prefix's `.**`, and `**`. */
export function listPatternsFor(type: string): string[] {
  const patterns = isOperational(type) ? [] : ['**'];
  patterns.push(type, `${parentOf(type)}.*`);
  for (let dot = type.indexOf('.'); dot !== -1; dot = type.indexOf('.', dot + 1)) {
    patterns.push(`${type.slice(0, dot)}.**`);
  }
  return patterns;
}

/**
 * The patterns that would match if an event type had its last segment no more, or one more, whichever; of the latter
 * those with a wildcard: which event types there are with one segment more, only an index of them knows.
 */
export function listPatternsNear(type: string): string[] {
  const parent = parentOf(type);
  const shorter = parent.includes('.') ? [parent, `${parentOf(parent)}.*`] : [];
  return [...shorter, `${type}.*`, `${type}.**`];
}

/** An event type or a prefix of one, less its last segment. */
export function parentOf(type: string): string {
  return type.slice(0, type.lastIndexOf('.'));
}

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

function bucketSize(bucket: Bucket<object> | undefined): number {
  if (bucket === undefined) return 0;
  return bucket instanceof Set ? bucket.size : 1;
}

function forEachIn<T extends object | string>(bucket: Bucket<T>, visit: (item: T) => void): void {
  if (bucket instanceof Set) for (const item of bucket) visit(item);
  else visit(bucket);
}

export function itemsOf<T extends object | string>(bucket: Bucket<T> | undefined): Iterable<T> {
  if (bucket === undefined) return [];
  return bucket instanceof Set ? bucket : [bucket];
}
