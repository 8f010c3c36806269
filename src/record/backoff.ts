// When the next attempt is due.
import type { Schedule } from '../model/retry-policy.ts';

/** A receiver may ask for patience, but not for ever. */
export const RETRY_AFTER_MAX_MS = 24 * 3_600_000;

/**
 * Unix ms of the attempt after the one that ended at `endedAt`, or null when the schedule is spent.
 * `position` is how many delays are used up; `fraction` is uniform in [0, 1): jitter only adds.
 */
export function nextAttemptAt(
  schedule: Schedule,
  {
    position,
    endedAt,
    fraction,
    notBefore,
  }: { position: number; endedAt: number; fraction: number; notBefore: number },
): number | null {
  const delayMs = schedule.delaysMs[position];
  if (delayMs === undefined) return null;
  return Math.max(Math.ceil(endedAt + delayMs * (1 + schedule.jitter * fraction)), notBefore);
}

/** A Retry-After, bounded: Unix ms before which nothing should be sent; 0 when there is none. */
export function boundRetryAfter(retryAfterAt: number | null, endedAt: number): number {
  return retryAfterAt === null ? 0 : Math.min(retryAfterAt, endedAt + RETRY_AFTER_MAX_MS);
}
