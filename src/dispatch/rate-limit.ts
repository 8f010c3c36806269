// rate_per_second as a token bucket: starts are spaced so on average, with bursts of at most max(1, rate / 10).

export type RateLimit = {
  /** Milliseconds until one more request is allowed beside those that hold a token already; 0: now. Monotonic ms. */
  waitMs(at: number, reserved: number): number;
  /** Takes the token of a request that goes out. */
  take(at: number): void;
  /** A new limit would allow the same: there is nothing to remember. */
  isFull(at: number): boolean;
  /** Keeps the tokens under a new rate; null: unlimited. */
  setRate(ratePerSecond: number | null, at: number): void;
};

/** `emptyAt`: when there were no tokens at all, for all we know; absent: it begins full. */
export function createRateLimit(ratePerSecond: number | null, createdAt: number, emptyAt?: number): RateLimit {
  let rate = ratePerSecond;
  let capacity = capacityOf(rate);
  let tokens = capacity;
  let countedAt = createdAt;
  if (rate !== null && emptyAt !== undefined) tokens = Math.min(capacity, ((createdAt - emptyAt) / 1000) * rate);

  const refresh = (at: number): void => {
    if (rate !== null) tokens = Math.min(capacity, tokens + ((at - countedAt) / 1000) * rate);
    countedAt = at;
  };

  return {
    waitMs(at, reserved) {
      if (rate === null) return 0;
      refresh(at);
      const free = tokens - reserved;
      // Rounding must not make a full token look like 0.9999999.
      return free >= 1 - 1e-9 ? 0 : ((1 - free) / rate) * 1000;
    },
    take(at) {
      refresh(at);
      tokens -= 1;
    },
    isFull(at) {
      refresh(at);
      return rate === null || tokens >= capacity;
    },
    setRate(newRate, at) {
      refresh(at);
      if (rate === null) tokens = capacityOf(newRate);
      rate = newRate;
      capacity = capacityOf(newRate);
      tokens = Math.min(tokens, capacity);
    },
  };
}

function capacityOf(rate: number | null): number {
  return rate === null ? 1 : Math.max(1, rate / 10);
}
