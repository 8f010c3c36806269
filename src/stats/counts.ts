// What is counted of one subject (an environment, a destination, an event type) in one minute or hour, durations as
// histograms, and how it stands in a row: a few dozen bytes. Counts of several processes are added up when they are
// read.
import { OUTCOMES, type Outcome } from '../model/attempt.ts';

/** The numbers of outcomes in rows: a new outcome is added at the end of OUTCOMES. */
const OUTCOME_INDEX = new Map<Outcome, number>(OUTCOMES.map((outcome, index) => [outcome, index]));

export function outcomeIndex(outcome: Outcome): number {
  return OUTCOME_INDEX.get(outcome)!;
}

const SUCCEEDED = outcomeIndex('succeeded');

export class Counts {
  eventsAccepted = 0;
  deliveriesScheduled = 0;
  deliveriesSucceeded = 0;
  deliveriesDead = 0;
  // Made when first wanted: an event for ten thousand destinations makes as many of these at once, with no attempts.
  #attempts: number[] | null = null;
  #firstAttempt: Histogram | null = null;
  #attempt: Histogram | null = null;

  /** In the order of OUTCOMES. */
  get attempts(): number[] {
    return (this.#attempts ??= OUTCOMES.map(() => 0));
  }

  get firstAttempt(): Histogram {
    return (this.#firstAttempt ??= new Histogram());
  }

  get attempt(): Histogram {
    return (this.#attempt ??= new Histogram());
  }

  merge(other: Counts): void {
    this.eventsAccepted += other.eventsAccepted;
    this.deliveriesScheduled += other.deliveriesScheduled;
    this.deliveriesSucceeded += other.deliveriesSucceeded;
    this.deliveriesDead += other.deliveriesDead;
    for (const [index, count] of other.attempts.entries()) this.attempts[index]! += count;
    this.firstAttempt.merge(other.firstAttempt);
    this.attempt.merge(other.attempt);
  }

  attemptCount(): number {
    return this.attempts.reduce((sum, count) => sum + count, 0);
  }

  /** Of all attempts the part that succeeded; null: there was none. */
  successRate(): number | null {
    const all = this.attemptCount();
    return all === 0 ? null : this.attempts[SUCCEEDED]! / all;
  }

  /** How busy: what orders event types. */
  weight(): number {
    return this.eventsAccepted + this.deliveriesScheduled + this.attemptCount();
  }
}

// ── In rows ──────────────────────────────────────────────────────────────────────────────────────────────
//
// Whole numbers in base 128, the low digits first: the layout's version, the four sums, how many outcomes follow and
// their counts, then each histogram as the number of its buckets and for each the distance to the one before and the
// count.

const LAYOUT = 1;

export function encodeCounts(counts: Counts): Uint8Array {
  const { eventsAccepted, deliveriesScheduled, deliveriesSucceeded, deliveriesDead, attempts } = counts;
  const numbers = [LAYOUT, eventsAccepted, deliveriesScheduled, deliveriesSucceeded, deliveriesDead];
  numbers.push(attempts.length, ...attempts);
  for (const histogram of [counts.firstAttempt, counts.attempt]) {
    const entries = [...histogram.entries()];
    numbers.push(entries.length);
    let last = 0;
    for (const [bucket, count] of entries) {
      numbers.push(bucket - last, count);
      last = bucket;
    }
  }
  return encodeNumbers(numbers);
}

/** Of an empty row, nothing. Throws for bytes that are no counts. */
export function decodeCounts(bytes: Uint8Array): Counts {
  const counts = new Counts();
  if (bytes.length === 0) return counts;
  const numbers = decodeNumbers(bytes);
  let at = 0;
  const next = (): number => {
    if (at === numbers.length) throw new Error('stored counts are cut short');
    return numbers[at++]!;
  };
  if (next() !== LAYOUT) throw new Error('stored counts have a layout that this program does not know');
  counts.eventsAccepted = next();
  counts.deliveriesScheduled = next();
  counts.deliveriesSucceeded = next();
  counts.deliveriesDead = next();
  const outcomes = next();
  for (let index = 0; index < outcomes; index++) counts.attempts[index] = next();
  for (const histogram of [counts.firstAttempt, counts.attempt]) {
    const buckets = next();
    for (let i = 0, bucket = 0; i < buckets; i++) {
      bucket += next();
      if (bucket >= BUCKET_COUNT) throw new Error('stored counts have a bucket that there is not');
      histogram.add(bucket, next());
    }
  }
  return counts;
}

const BASE = 128;

/** None is negative, and none above 2^53. */
export function encodeNumbers(numbers: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  for (const number of numbers) {
    let rest = number;
    while (rest >= BASE) {
      bytes.push((rest % BASE) + BASE);
      rest = Math.floor(rest / BASE);
    }
    bytes.push(rest);
  }
  return Uint8Array.from(bytes);
}

export function decodeNumbers(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  let number = 0;
  let factor = 1;
  for (const byte of bytes) {
    number += (byte % BASE) * factor;
    factor *= BASE;
    if (byte >= BASE) continue;
    numbers.push(number);
    [number, factor] = [0, 1];
  }
  return numbers;
}

// Durations as counts in logarithmic buckets: each is 1.1 times as wide as the one before, so that a quantile, told by
// the middle of its bucket, is wrong by less than 5 %. Only the stretch of buckets that is used takes memory.

const RATIO = 1.1;
const LOG_RATIO = Math.log(RATIO);
/** What is shorter counts as this long. */
const SHORTEST_SECONDS = 0.0001;
/** The last one begins at 29 days. */
const BUCKET_COUNT = 251;

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
