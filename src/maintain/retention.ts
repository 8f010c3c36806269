// What time does to the data: bodies are erased, rows removed, the deliveries of deleted destinations ended.
// All in small steps with pauses between, so that accepts and results hardly notice.
import type { EndedUnsent } from '../model/observer.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ClockTrust } from '../runtime/clock-trust.ts';
import { createLoop, type BackgroundStep, type Loop, type StepResult } from '../runtime/loop.ts';
import type { StepReport, Store } from '../store/store.ts';

/** A step's share of the store thread; an accept that comes during one waits this long at most. */
const STEP_BUDGET_MS = 5;
/** With more to do, the store thread is left alone for longer than a step takes. */
const BETWEEN_STEPS_MS = 10;
/** Retentions are days as a rule; short ones (for tests of a setup) are still kept to within a second or so. */
const INTERVAL_MAX_MS = 60_000;
const INTERVAL_MIN_MS = 250;

type RetentionOptions = {
  store: Pick<Store, 'eraseBodies' | 'pruneRows' | 'endDeletedDeliveries'>;
  clock: Clock;
  /** While the clock is in doubt nothing is erased: it would all be gone when the clock is set right. */
  clockTrust: ClockTrust;
  bodyRetentionMs: number;
  rowRetentionMs: number;
  onErased: (count: number) => void;
  onPruned: (count: number) => void;
  /** Deliveries that ended, after the commit. */
  onEnded: (ended: readonly EndedUnsent[]) => void;
  onError: (error: unknown, loopName: BackgroundStep) => void;
  /**
   * Of several nodes one erases and prunes: more would be safe, but only read the same rows and wait for each other's
   * locks. The deliveries of a deleted destination are ended by whichever node was asked to delete it, at once.
   */
  isOldDataOurs: () => boolean;
};

export function createRetentionLoops(options: RetentionOptions): { loops: Loop[]; wakeEndDeleted: () => void } {
  const { store, clockTrust, bodyRetentionMs, rowRetentionMs, isOldDataOurs } = options;
  const mayErase = (): boolean => clockTrust.isSettled() && isOldDataOurs();
  const budgetMs = STEP_BUDGET_MS;
  const eraseBodies = stepLoop(options, {
    name: 'erase-bodies',
    intervalMs: intervalOf(bodyRetentionMs),
    mayRun: mayErase,
    work: (now) => store.eraseBodies({ cutoff: now - bodyRetentionMs, now, budgetMs }),
    onChanged: options.onErased,
  });
  const pruneRows = stepLoop(options, {
    name: 'prune-rows',
    intervalMs: intervalOf(rowRetentionMs),
    mayRun: mayErase,
    work: (now) => store.pruneRows({ cutoff: now - rowRetentionMs, now, budgetMs }),
    onChanged: options.onPruned,
  });
  const endDeleted = stepLoop(options, {
    name: 'end-deleted',
    intervalMs: INTERVAL_MAX_MS,
    mayRun: () => true,
    work: (now) => store.endDeletedDeliveries({ now, budgetMs }),
    onChanged: () => {},
  });
  return { loops: [eraseBodies, pruneRows, endDeleted], wakeEndDeleted: () => endDeleted.wake() };
}

type Steps = {
  name: BackgroundStep;
  intervalMs: number;
  mayRun: () => boolean;
  work: (now: number) => Promise<StepReport>;
  onChanged: (count: number) => void;
};

function stepLoop(
  { clock, onEnded, onError }: RetentionOptions,
  { name, intervalMs, mayRun, work, onChanged }: Steps,
): Loop {
  return createLoop({
    name,
    clock,
    intervalMs,
    betweenStepsMs: BETWEEN_STEPS_MS,
    onError,
    step: async (): Promise<StepResult> => {
      // Before the question whether it is right: what the clock becomes after that answer does not count.
      const now = clock.now();
      if (!mayRun()) return 'idle';
      const { changed, more, ended = [] } = await work(now);
      if (ended.length > 0) onEnded(ended);
      if (changed > 0) onChanged(changed);
      return more ? 'more' : 'idle';
    },
  });
}

function intervalOf(retentionMs: number): number {
  return Math.min(INTERVAL_MAX_MS, Math.max(INTERVAL_MIN_MS, retentionMs / 20));
}
