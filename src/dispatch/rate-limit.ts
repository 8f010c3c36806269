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
