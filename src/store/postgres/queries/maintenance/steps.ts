// Long work in small steps: each a transaction of its own that takes little and locks only what it moves, so that
// accepting and recording hardly notice.
import type { Clock } from '../../../../runtime/clock.ts';
import type { StepReport } from '../../../store.ts';

/** Does a little and returns how many rows it changed; null: there is nothing left to do. */
export type Step = () => Promise<number | null>;

/** Runs each kind of step until it has nothing left, then the next, until the time is spent. */
export async function runSteps(clock: Clock, budgetMs: number, steps: readonly Step[]): Promise<StepReport> {
  const endsAt = clock.monotonic() + budgetMs;
  let changed = 0;
  for (const step of steps) {
    for (let rows = await step(); rows !== null; rows = await step()) {
      changed += rows;
      if (clock.monotonic() >= endsAt) return { changed, more: true };
    }
  }
  return { changed, more: false };
}

const ROWS_PER_MS = 100;
const ROWS_MIN = 25;
const ROWS_MAX = 1_000;

/** How many rows one step takes: a row costs about ten microseconds here and there together. */
export function rowsPerStep(budgetMs: number): number {
  return Math.min(ROWS_MAX, Math.max(ROWS_MIN, Math.round(budgetMs * ROWS_PER_MS)));
}
