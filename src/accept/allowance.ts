// How many deliveries the events of one request may schedule, all together. Once an event does not fit, it and all
// events after it are refused: whoever sent them sends that rest again.
import { ApiError } from '../model/error.ts';

export class Allowance {
  readonly #max: number;
  #left: number;
  #isSpent = false;

  constructor(max: number) {
    this.#max = max;
    this.#left = max;
  }

  /** Throws ApiError `unavailable` if an event did not fit before: then nothing more need be matched. */
  assertOpen(): void {
    if (!this.#isSpent) return;
    throw new ApiError(
      'unavailable',
      `one request schedules at most ${this.#max} deliveries; send this event and those after it in another request`,
      { retryAfterSeconds: 1 },
    );
  }

  /** For an event that is about to be stored. Throws like `assertOpen`. */
  take(deliveryCount: number): void {
    this.#isSpent ||= deliveryCount > this.#left;
    this.assertOpen();
    this.#left -= deliveryCount;
  }

  /** Of an event that was not stored after all. */
  giveBack(deliveryCount: number): void {
    this.#left += deliveryCount;
  }
}
