// Lines of the log that tell of the same: as many a second as a person could read; the rest of them are counted.
import type { Clock } from './clock.ts';

const LINES_MAX = 10;
const WINDOW_MS = 1_000;

export class LineLimit<Subject> {
  readonly #clock: Clock;
  readonly #onLeftOut: (subject: Subject, count: number) => void;
  /** Of this second. Emptied every second, so it holds no more than one second's. */
  readonly #counts = new Map<Subject, number>();

  constructor(clock: Clock, onLeftOut: (subject: Subject, count: number) => void) {
    this.#clock = clock;
    this.#onLeftOut = onLeftOut;
  }

  /** To be asked for each line: whether there is to be one. */
  isTold(subject: Subject): boolean {
    if (this.#counts.size === 0) this.#clock.setTimer(() => this.flush(), WINDOW_MS);
    const count = (this.#counts.get(subject) ?? 0) + 1;
    this.#counts.set(subject, count);
    return count <= LINES_MAX;
  }

  /** Says how many had no line in this second; then a new one begins. To be called at a stop too. */
  flush(): void {
    for (const [subject, count] of this.#counts) if (count > LINES_MAX) this.#onLeftOut(subject, count - LINES_MAX);
    this.#counts.clear();
  }
}
