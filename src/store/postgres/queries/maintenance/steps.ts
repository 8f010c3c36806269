// Long work in small steps: each a transaction of its own that takes little and locks only what it moves, so that
// accepting and recording hardly notice.
import type { Clock } from '../../../../runtime/clock.ts';
import type { StepReport } from '../../../store.ts';

/** Does a little and returns how many rows it changed; null: there is nothing left to do. */
export type Step = () => Promise<number | null>;

/** Does a little from a place in an index on, and returns with it the last place that it took. */
type WalkStep<Place> = (from: Place) => Promise<{ changed: number; last: Place } | null>;

/**
 * One walk through what is overdue, over any number of calls. What was taken leaves its entry at the head of an index
 * until vacuum, and beside an old snapshot (a pg_dump, a transaction left open) vacuum removes none: from the head on,
 * each step would read again whatever was taken before it. What came in behind is found by the next pass.
 */
export class Pass {
  readonly #places = new Map<string, unknown>();
  #hasTaken = false;

  /** `name`: of the walk in this pass. Several may share a place, so the last is looked at again. */
  step<Place>(name: string, head: Place, walk: WalkStep<Place>): Step {
    return async () => {
      const taken = await walk((this.#places.get(name) as Place | undefined) ?? head);
      if (taken === null) return null;
      this.#places.set(name, taken.last);
      return taken.changed;
    };
  }

  /**
   * Runs each kind of step until it has nothing left, then the next, until the time is spent. Nothing more is there
   * when a pass that began at the heads finds nothing.
   */
  async run(clock: Clock, budgetMs: number, steps: readonly Step[]): Promise<StepReport> {
    const endsAt = clock.monotonic() + budgetMs;
    let changed = 0;
    do {
      for (const step of steps) {
        for (let rows = await step(); rows !== null; rows = await step()) {
          changed += rows;
          this.#hasTaken = true;
          if (clock.monotonic() >= endsAt) return { changed, more: true };
        }
      }
    } while (this.#startAnew());
    return { changed, more: false };
  }

  #startAnew(): boolean {
    const isWorthIt = this.#hasTaken;
    this.#hasTaken = false;
    this.#places.clear();
    return isWorthIt;
  }
}

const ROWS_PER_MS = 100;
const ROWS_MIN = 25;
const ROWS_MAX = 1_000;

/** How many rows one step takes: a row costs about ten microseconds here and there together. */
export function rowsPerStep(budgetMs: number): number {
  return Math.min(ROWS_MAX, Math.max(ROWS_MIN, Math.round(budgetMs * ROWS_PER_MS)));
}
