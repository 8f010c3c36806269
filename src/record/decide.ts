// What an attempt's result makes of its delivery: succeeded, retry at T, or dead. Pure; the only place for it.
import type { AttemptResult } from '../model/attempt.ts';
import { isForced } from '../model/delivery.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import type { Schedule } from '../model/retry-policy.ts';
import type { Decision } from '../store/store.ts';
import { boundRetryAfter, nextAttemptAt } from './backoff.ts';

const HTTP_GONE = 410;

/** `fraction` is uniform in [0, 1), for the jitter. `isManual`: the attempt was the forced one. */
export function decide(
  delivery: OpenDelivery,
  result: Pick<AttemptResult, 'outcome' | 'startedAt' | 'durationMs' | 'responseCode' | 'retryAfterAt'>,
  { schedule, fraction, isManual }: { schedule: Schedule; fraction: number; isManual: boolean },
): Decision {
  const endedAt = Math.round(result.startedAt + result.durationMs);
  const position = delivery.schedulePosition;
  const finish = (status: 'succeeded' | 'dead', rest: Partial<Decision>): Decision => {
    return {
      status,
      deadReason: null,
      dueAt: null,
      schedulePosition: position,
      completedAt: endedAt,
      pauseDestination: null,
      ...rest,
    };
  };
  const retryAt = (dueAt: number, schedulePosition: number): Decision => {
    return { status: 'retrying', deadReason: null, dueAt, schedulePosition, completedAt: null, pauseDestination: null };
  };

  if (result.outcome === 'succeeded') return finish('succeeded', {});
  if (isGone(result)) {
    // What had arrived once has arrived, whatever became of the receiver since.
    if (isManual && delivery.fallbackStatus === 'succeeded') {
      return finish('succeeded', { completedAt: null, pauseDestination: 'gone' });
    }
    return finish('dead', { deadReason: 'gone', pauseDestination: 'gone' });
  }

  const notBefore = boundRetryAfter(result.retryAfterAt, endedAt);
  if (isManual) {
    const { fallbackStatus } = delivery;
    // It was finished before somebody asked for one more: it is again what it was, and since when.
    if (fallbackStatus === 'succeeded' || fallbackStatus === 'dead')
      return finish(fallbackStatus, { completedAt: null });
    return retryAt(Math.max(delivery.scheduledAt ?? endedAt, notBefore), position);
  }

  const dueAt = nextAttemptAt(schedule, { position, endedAt, fraction, notBefore });
  if (dueAt === null) return finish('dead', { deadReason: 'exhausted' });
  return retryAt(dueAt, position + 1);
}

/** Whether an attempt of this delivery, begun now, is the one somebody asked for. */
export function isManualAttempt(delivery: OpenDelivery): boolean {
  return isForced(delivery) && delivery.fallbackStatus !== null;
}

/** The receiver wants nothing any more: its destination is paused with the result. */
export function isGone(result: Pick<AttemptResult, 'responseCode'>): boolean {
  return result.responseCode === HTTP_GONE;
}
