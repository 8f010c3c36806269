// A moment, by both clocks.

/** `now`: Unix ms, for due times. `monotonic`: ms of the clock that never goes back, for spacing and rates. */
export type Instant = { now: number; monotonic: number };

export const NEVER = Number.POSITIVE_INFINITY;
