// Time to read long responses, shared by all of them: parsing what a hostile receiver sends (a chunk for each byte, a
// header in every four) takes a hundred times as long as a usual response, and fifty do so at once.
import type { Clock } from '../runtime/clock.ts';

type ReadingClock = Pick<Clock, 'monotonic' | 'afterTurn'>;

/** Of each turn of the event loop. */
const READING_MS_MAX = 2;

export class ReadingTime {
  readonly #clock: ReadingClock;
  readonly #waiting: (() => void)[] = [];
  #isScheduled = false;
  /** Of the time that is being spent; there is some only while those that waited go on. */
  #endsAt = Number.NEGATIVE_INFINITY;

  constructor(clock: ReadingClock) {
    this.#clock = clock;
  }

  /** True: read on. False: `goOn` will be called once, when there is time. */
  take(goOn: () => void): boolean {
    if (this.#clock.monotonic() < this.#endsAt) return true;
    this.#waiting.push(goOn);
    this.#schedule();
    return false;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.afterTurn(this.#spend);
  }

  readonly #spend = (): void => {
    this.#endsAt = this.#clock.monotonic() + READING_MS_MAX;
    while (this.#waiting.length > 0 && this.#clock.monotonic() < this.#endsAt) this.#waiting.shift()!();
    this.#endsAt = Number.NEGATIVE_INFINITY;
    this.#isScheduled = false;
    if (this.#waiting.length > 0) this.#schedule();
  };
}
