// When one destination's next attempt may start, as far as time decides it: its rate, the spacing that its failures
// cost it, and a rest after what could not be sent.
import type { Instant } from '../runtime/clock.ts';

const REST_AFTER_FAULT_MS = 250;
/** The store gives expired deliveries again and again until they are ended there: looking for more must not spin. */
const UNSENT_IN_A_ROW_MAX = 1_000;
const REST_AFTER_UNSENT_MS = 1_000;

export class Pace {
  readonly #rate: RateLimit;
  /** Monotonic ms: of the start from which the next scheduled one is spaced. */
  #spacedFrom = Number.NEGATIVE_INFINITY;
  /** Monotonic ms: nothing starts before, forced or not. */
  #restsUntil = 0;
  /** Started and not sent, since the last that was: expired, or not ours any more. */
  #unsentInARow = 0;

  /** `ownedSince`: monotonic ms; who sent to the destination before may have used up its rate just then. */
  constructor(ratePerSecond: number | null, at: Instant, ownedSince?: number) {
    this.#rate = new RateLimit(ratePerSecond, at.monotonic, ownedSince);
  }

  /** Monotonic ms. `reserved`: tokens of the rate that attempts started before will take when they are sent. */
  forcedMayStartAt({ monotonic }: Instant, reserved: number): number {
    return Math.max(monotonic + this.#rate.waitMs(monotonic, reserved), this.#restsUntil);
  }

  /** The same, spaced: a forced attempt keeps to what its owner set, not to what failures slowed it to. */
  scheduledMayStartAt(at: Instant, reserved: number, spacingMs: number): number {
    return Math.max(this.forcedMayStartAt(at, reserved), this.#spacedFrom + spacingMs);
  }

  noteStart({ monotonic }: Instant): void {
    this.#spacedFrom = monotonic;
  }

  /** The rate counts from here, not from the start: bodies that come late together must not make a burst. */
  noteSent({ monotonic }: Instant): void {
    this.#unsentInARow = 0;
    this.#rate.take(monotonic);
  }

  /** What was started needs not be sent after all: on to the next, unless that has gone on for very long. */
  noteUnsent({ monotonic }: Instant): void {
    this.#spacedFrom = Number.NEGATIVE_INFINITY;
    this.#unsentInARow++;
    if (this.#unsentInARow % UNSENT_IN_A_ROW_MAX === 0) this.#restsUntil = monotonic + REST_AFTER_UNSENT_MS;
  }

  /** What was started could not be sent: time for the cause to pass. False: it rests already. */
  rest({ monotonic }: Instant): boolean {
    if (this.#restsUntil > monotonic) return false;
    this.#restsUntil = monotonic + REST_AFTER_FAULT_MS;
    return true;
  }

  setRate(ratePerSecond: number | null, { monotonic }: Instant): void {
    this.#rate.setRate(ratePerSecond, monotonic);
  }

  /** There is nothing to remember that a new one would not know. */
  isNeutral({ monotonic }: Instant): boolean {
    return this.#rate.isFull(monotonic);
  }
}

// rate_per_second as a token bucket: starts are spaced so on average, with bursts of at most max(1, rate / 10).

/** All times are monotonic ms. */
export class RateLimit {
  #rate: number | null;
  #capacity: number;
  #tokens: number;
  #countedAt: number;

  /** `emptyAt`: when there were no tokens at all, for all we know; absent: it begins full. */
  constructor(ratePerSecond: number | null, createdAt: number, emptyAt?: number) {
    this.#rate = ratePerSecond;
    this.#capacity = capacityOf(ratePerSecond);
    this.#tokens = this.#capacity;
    this.#countedAt = createdAt;
    if (emptyAt === undefined || ratePerSecond === null) return;
    this.#tokens = Math.min(this.#capacity, ((createdAt - emptyAt) / 1000) * ratePerSecond);
  }

  /** Milliseconds until one more request is allowed beside those that hold a token already; 0: now. */
  waitMs(at: number, reserved: number): number {
    if (this.#rate === null) return 0;
    this.#refresh(at);
    const free = this.#tokens - reserved;
    // Rounding must not make a full token look like 0.9999999.
    return free >= 1 - 1e-9 ? 0 : ((1 - free) / this.#rate) * 1000;
  }

  /** Takes the token of a request that goes out. */
  take(at: number): void {
    this.#refresh(at);
    this.#tokens -= 1;
  }

  /** A new limit would allow the same: there is nothing to remember. */
  isFull(at: number): boolean {
    this.#refresh(at);
    return this.#rate === null || this.#tokens >= this.#capacity;
  }

  /** Keeps the tokens under a new rate; null: unlimited. */
  setRate(ratePerSecond: number | null, at: number): void {
    this.#refresh(at);
    if (this.#rate === null) this.#tokens = capacityOf(ratePerSecond);
    this.#rate = ratePerSecond;
    this.#capacity = capacityOf(ratePerSecond);
    this.#tokens = Math.min(this.#tokens, this.#capacity);
  }

  #refresh(at: number): void {
    const elapsedMs = at - this.#countedAt;
    if (this.#rate !== null) this.#tokens = Math.min(this.#capacity, this.#tokens + (elapsedMs / 1000) * this.#rate);
    this.#countedAt = at;
  }
}

function capacityOf(rate: number | null): number {
  return rate === null ? 1 : Math.max(1, rate / 10);
}
