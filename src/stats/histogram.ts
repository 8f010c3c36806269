// Durations as counts in logarithmic buckets: each is 1.1 times as wide as the one before, so that a quantile, told by
// the middle of its bucket, is wrong by less than 5 %. Only the stretch of buckets that is used takes memory.

const RATIO = 1.1;
const LOG_RATIO = Math.log(RATIO);
/** What is shorter counts as this long. */
const SHORTEST_SECONDS = 0.0001;
/** The last one begins at 29 days. */
export const BUCKET_COUNT = 251;

type Quantiles = { p50: number | null; p95: number | null; p99: number | null };

/** The bucket of a duration. */
export function bucketOf(seconds: number): number {
  if (!(seconds > SHORTEST_SECONDS)) return 0;
  return Math.min(BUCKET_COUNT - 1, Math.floor(Math.log(seconds / SHORTEST_SECONDS) / LOG_RATIO));
}

/** Seconds, of four digits. */
function middleOf(bucket: number): number {
  return Number((SHORTEST_SECONDS * RATIO ** (bucket + 0.5)).toPrecision(4));
}

export class Histogram {
  /** Of the buckets from `#first` on. */
  readonly #counts: number[] = [];
  #first = 0;
  #total = 0;

  get total(): number {
    return this.#total;
  }

  add(bucket: number, count = 1): void {
    const counts = this.#counts;
    if (counts.length === 0) this.#first = bucket;
    while (bucket < this.#first) {
      counts.unshift(0);
      this.#first--;
    }
    while (bucket >= this.#first + counts.length) counts.push(0);
    counts[bucket - this.#first]! += count;
    this.#total += count;
  }

  merge(other: Histogram): void {
    for (const [bucket, count] of other.entries()) this.add(bucket, count);
  }

  /** Of each bucket that has any, how many, shortest first. */
  *entries(): Iterable<[bucket: number, count: number]> {
    for (const [i, count] of this.#counts.entries()) if (count > 0) yield [this.#first + i, count];
  }

  /** Null where nothing was counted. */
  quantiles(): Quantiles {
    return { p50: this.quantile(0.5), p95: this.quantile(0.95), p99: this.quantile(0.99) };
  }

  /** Seconds that this part of all (0-1) took at most. */
  quantile(part: number): number | null {
    let left = Math.max(1, Math.ceil(part * this.#total));
    for (const [i, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return middleOf(this.#first + i);
    }
    return null;
  }
}
