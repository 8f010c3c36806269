// What matching an event costs, counted while it goes on: nobody can tell beforehand what filters that callers wrote
// make of a body that callers wrote, and the event loop belongs to everybody.

/** Thrown in the middle of matching when it takes more than it may. */
export class TooMuchWork extends Error {}

/** A number of steps that may be spent. A step is the look at one value: some 10 ns, 50 at worst. */
export class Work {
  readonly #stepsMax: number;
  #left: number;

  constructor(stepsMax: number) {
    this.#stepsMax = stepsMax;
    this.#left = stepsMax;
  }

  get spent(): number {
    return this.#stepsMax - this.#left;
  }

  /** Throws TooMuchWork when there are not so many left. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooMuchWork('matching takes more steps than it may');
  }
}

/** Where nobody waits. A number and not Infinity, from which what was spent could not be told. */
export function unlimitedWork(): Work {
  return new Work(Number.MAX_SAFE_INTEGER);
}
