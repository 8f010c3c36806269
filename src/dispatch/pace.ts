// When one destination's next attempt may start, as far as time decides it: its rate, the spacing that its failures
// cost it, and a rest after what could not be sent.
import type { Instant } from './instant.ts';
import { RateLimit } from './rate-limit.ts';

const REST_AFTER_FAULT_MS = 250;
/** The store gives expired deliveries again and again until they are ended there: looking for more must not spin. */
const UNSENT_IN_A_ROW_MAX = 1_000;
const REST_AFTER_UNSENT_MS = 1_000;

export class Pace {
  readonly #rate: RateLimit;
  /** Monotonic ms: no scheduled attempt starts before. */
  #spacedUntil = 0;
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
  scheduledMayStartAt(at: Instant, reserved: number): number {
    return Math.max(this.forcedMayStartAt(at, reserved), this.#spacedUntil);
  }

  noteStart({ monotonic }: Instant, spacingMs: number): void {
    this.#spacedUntil = monotonic + spacingMs;
  }

  /** The rate counts from here, not from the start: bodies that come late together must not make a burst. */
  noteSent({ monotonic }: Instant): void {
    this.#unsentInARow = 0;
    this.#rate.take(monotonic);
  }

  /** What was started needs not be sent after all: on to the next, unless that has gone on for very long. */
  noteUnsent({ monotonic }: Instant): void {
    this.#spacedUntil = monotonic;
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
