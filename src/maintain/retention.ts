// What time does to the data: bodies are erased, rows removed, the deliveries of deleted destinations ended.
// All in small steps with pauses between, so that accepts and results hardly notice.
import type { Clock } from '../runtime/clock.ts';
import { createLoop } from '../runtime/loop.ts';
import type { Loop, StepResult } from '../runtime/loop.ts';
import type { MaintenanceStore, StepReport } from '../store/store.ts';

/** A step's share of the store thread; an accept that comes during one waits this long at most. */
const STEP_BUDGET_MS = 5;
/** With more to do, the store thread is left alone for longer than a step takes. */
const BETWEEN_STEPS_MS = 10;
/** Retentions are days as a rule; short ones (for tests of a setup) are still kept to within a second or so. */
const INTERVAL_MAX_MS = 60_000;
const INTERVAL_MIN_MS = 250;

export function createRetentionLoops(options: {
  store: Pick<MaintenanceStore, 'eraseBodies' | 'pruneRows' | 'endDeletedDeliveries'>;
  clock: Clock;
  bodyRetentionMs: number;
  rowRetentionMs: number;
  onErased: (count: number) => void;
  onPruned: (count: number) => void;
  onError: (error: unknown, loopName: string) => void;
  /**
   * Of several nodes one erases and prunes: more would be safe, but only read the same rows and wait for each other's
   * locks. The deliveries of a deleted destination are ended by whichever node was asked to delete it, at once.
   */
  isOldDataOurs?: () => boolean;
}): { loops: Loop[]; wakeEndDeleted: () => void } {
  const {
    store,
    clock,
    bodyRetentionMs,
    rowRetentionMs,
    onErased,
    onPruned,
    onError,
    isOldDataOurs = () => true,
  } = options;

  const nothing: StepReport = { changed: 0, more: false };

  const loop = (
    name: string,
    intervalMs: number,
    work: (now: number) => Promise<StepReport>,
    onChanged: (count: number) => void,
  ) =>
    createLoop({
      name,
      clock,
      intervalMs,
      betweenStepsMs: BETWEEN_STEPS_MS,
      onError,
      step: async (): Promise<StepResult> => {
        const { changed, more } = await work(clock.now());
        if (changed > 0) onChanged(changed);
        return more ? 'more' : 'idle';
      },
    });

  const budgetMs = STEP_BUDGET_MS;
  const endDeleted = loop(
    'end-deleted',
    INTERVAL_MAX_MS,
    (now) => store.endDeletedDeliveries({ now, budgetMs }),
    () => {},
  );
  return {
    loops: [
      loop(
        'erase-bodies',
        intervalOf(bodyRetentionMs),
        async (now) =>
          isOldDataOurs() ? store.eraseBodies({ cutoff: now - bodyRetentionMs, now, budgetMs }) : nothing,
        onErased,
      ),
      loop(
        'prune-rows',
        intervalOf(rowRetentionMs),
        async (now) => (isOldDataOurs() ? store.pruneRows({ cutoff: now - rowRetentionMs, now, budgetMs }) : nothing),
        onPruned,
      ),
      endDeleted,
    ],
    wakeEndDeleted: () => endDeleted.wake(),
  };
}

function intervalOf(retentionMs: number): number {
  return Math.min(INTERVAL_MAX_MS, Math.max(INTERVAL_MIN_MS, retentionMs / 20));
}
