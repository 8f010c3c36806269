// Long work in small steps: one transaction of about `budgetMs`, made of statements that each take far less, so that
// accepting and recording, which wait for the same writer, hardly notice. On PostgreSQL each step commits by itself.
import type { StepReport } from '../../../store.ts';
import type { WriteContext } from '../../context.ts';

/** Does a little and returns how many rows it changed; null: there is nothing left to do. */
type Step = () => number | null;

/** Runs each kind of step until it has nothing left, then the next, until the time is spent. */
export function runSteps({ clock, write }: WriteContext, budgetMs: number, steps: readonly Step[]): StepReport {
  const endsAt = clock.monotonic() + budgetMs;
  return write(() => {
    let changed = 0;
    for (const step of steps) {
      for (let rows = step(); rows !== null; rows = step()) {
        changed += rows;
        if (clock.monotonic() >= endsAt) return { changed, more: true };
      }
    }
    return { changed, more: false };
  });
}

/** Of a statement that was run: what a step returns. */
export function someOrNull({ changes }: { changes: number | bigint }): number | null {
  return Number(changes) || null;
}
