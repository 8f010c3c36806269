// Every move of a delivery, and the order in which a move is refused: pure functions from where a delivery stands to
// where it stands next. Who writes a move does so WHERE rev is what was read, and raises it: of two moves at once one
// wins, and the other is decided again on what that left. Times are Unix ms.
//
//   accepted ─ born ─▶ pending ─┬─ afterResult ─▶ succeeded                     2xx
//                               ├─ afterResult ─▶ retrying ─▶ …                 a failure, while the schedule lasts
//                               └─ afterResult ─▶ dead                          exhausted · gone
//            ─ bornDead ─▶ dead                                                 backlog_full
//   pending, retrying ─ expire, endByDeletion ─▶ dead                           expired · destination_deleted
//                                            ─▶ succeeded                      forced, and had succeeded before
//   dead (expired) ─ afterResult ─▶ succeeded                                  2xx, on the wire when it expired
//   any ─ force ─▶ retrying, due at once ─ afterResult ─▶ succeeded, or what it was before
//   dead ─ born ─▶ pending
import type { AttemptResult, AttemptTrigger } from './attempt.ts';
import { FORCED_DUE_AT, type DeadReason, type DeliveryState, type OpenDelivery, type OpenState } from './delivery.ts';
import type { PausedReason } from './destination.ts';
import { boundRetryAfter, nextAttemptAt, type Schedule } from './retry-policy.ts';

const HTTP_GONE = 410;

/** What an attempt's result makes of its delivery. Whatever a forced attempt had kept is over with it. */
export type Decision = DeliveryState & {
  scheduledAt: null;
  fallbackStatus: null;
  /** Pauses the destination in the same transaction, if it is active. */
  pauseDestination: PausedReason | null;
};

// ── How a delivery begins ────────────────────────────────────────────────────────────────────────────────

/** `at`: Unix ms. */
export function born(at: number): OpenState {
  return { ...NOTHING, status: 'pending', dueAt: at };
}

/** Its destination has too many unfinished deliveries. */
export function bornDead(at: number): DeliveryState {
  return { ...NOTHING, status: 'dead', deadReason: 'backlog_full', completedAt: at };
}

const NOTHING = {
  deadReason: null,
  completedAt: null,
  dueAt: null,
  scheduledAt: null,
  fallbackStatus: null,
  schedulePosition: 0,
} as const;

// ── What an attempt's result makes of it ─────────────────────────────────────────────────────────────────

type DecisionInput = {
  result: Pick<AttemptResult, 'outcome' | 'startedAt' | 'durationMs' | 'responseCode' | 'retryAfterAt'>;
  trigger: AttemptTrigger;
  /** It went to a url that the destination has no more: its 410 does not say that the next would find nobody. */
  isOfFormerUrl?: boolean;
  schedule: Schedule;
  /** Uniform in [0, 1), for the jitter. */
  fraction: number;
};

export function afterResult(
  delivery: OpenState,
  { result, trigger, isOfFormerUrl = false, schedule, fraction }: DecisionInput,
): Decision {
  const endedAt = Math.round(result.startedAt + result.durationMs);
  const position = delivery.schedulePosition;
  if (result.outcome === 'succeeded') return finished('succeeded', { completedAt: endedAt, position });
  if (isGone(result) && !isOfFormerUrl) return { ...afterGone(delivery, trigger, endedAt), pauseDestination: 'gone' };

  const notBefore = boundRetryAfter(result.retryAfterAt, endedAt);
  if (trigger === 'manual') return asItWas(delivery, { endedAt, notBefore });
  const dueAt = nextAttemptAt(schedule, { position, endedAt, fraction, notBefore });
  if (dueAt === null) return finished('dead', { deadReason: 'exhausted', completedAt: endedAt, position });
  return retrying(dueAt, position + 1);
}

/** The receiver wants nothing any more. What had arrived once has arrived, whatever became of the receiver since. */
function afterGone(delivery: OpenState, trigger: AttemptTrigger, endedAt: number): Decision {
  const { schedulePosition: position, completedAt } = delivery;
  if (trigger === 'manual' && delivery.fallbackStatus === 'succeeded') {
    return finished('succeeded', { completedAt: completedAt ?? endedAt, position });
  }
  return finished('dead', { deadReason: 'gone', completedAt: endedAt, position });
}

/** A forced attempt failed: what had ended has ended, since when it had; else the schedule goes on where it was. */
function asItWas(delivery: OpenState, { endedAt, notBefore }: { endedAt: number; notBefore: number }): Decision {
  const { fallbackStatus, deadReason, completedAt, schedulePosition: position } = delivery;
  if (fallbackStatus === 'succeeded' || fallbackStatus === 'dead') {
    return finished(fallbackStatus, { deadReason, completedAt: completedAt ?? endedAt, position });
  }
  return retrying(Math.max(delivery.scheduledAt ?? endedAt, notBefore), position);
}

function finished(
  status: 'succeeded' | 'dead',
  ending: { deadReason?: DeadReason | null; completedAt: number; position: number },
): Decision {
  return {
    status,
    deadReason: ending.deadReason ?? null,
    completedAt: ending.completedAt,
    dueAt: null,
    scheduledAt: null,
    fallbackStatus: null,
    schedulePosition: ending.position,
    pauseDestination: null,
  };
}

function retrying(dueAt: number, schedulePosition: number): Decision {
  return {
    status: 'retrying',
    deadReason: null,
    completedAt: null,
    dueAt: Math.round(dueAt),
    scheduledAt: null,
    fallbackStatus: null,
    schedulePosition,
    pauseDestination: null,
  };
}

/** Whether an attempt of this delivery, begun now, is the one that somebody asked for. */
export function triggerOf(delivery: Pick<OpenDelivery, 'dueAt' | 'fallbackStatus'>): AttemptTrigger {
  return delivery.dueAt === FORCED_DUE_AT && delivery.fallbackStatus !== null ? 'manual' : 'schedule';
}

/** The receiver wants nothing any more: its destination is paused with the result. */
export function isGone(result: Pick<AttemptResult, 'responseCode'>): boolean {
  return result.responseCode === HTTP_GONE;
}

// ── How it ends without an attempt ───────────────────────────────────────────────────────────────────────

/** Ended without an attempt, and when its row was last changed, Unix ms. */
type Ended = DeliveryState & { updatedAt: number };

/** What of a delivery says how it ends: whether it had arrived before it was forced, and when. */
export type Ending = Pick<DeliveryState, 'fallbackStatus' | 'completedAt'>;

/** There is nothing left to send: its event has reached the age at which bodies are erased. */
export function expire(delivery: Ending, now: number): Ended {
  return { ...endUnsent(delivery, 'expired', now), updatedAt: now };
}

/** It reads so from the deletion of its destination on, whatever its row says still. */
export function endByDeletion(delivery: Ending & { updatedAt: number }, deletedAt: number): Ended {
  const updatedAt = Math.max(delivery.updatedAt, deletedAt);
  return { ...endUnsent(delivery, 'destination_deleted', deletedAt), updatedAt };
}

/** What had arrived once has arrived: that it was to be sent again as well makes it no dead letter. */
function endUnsent({ fallbackStatus, completedAt }: Ending, deadReason: DeadReason, at: number): DeliveryState {
  if (fallbackStatus === 'succeeded') return { ...NOTHING, status: 'succeeded', completedAt: completedAt ?? at };
  return { ...NOTHING, status: 'dead', deadReason, completedAt: at };
}

/**
 * Whether a decision counts although its delivery has ended meanwhile: the attempt was on the wire when the event
 * expired, and has arrived. What a deletion has ended stays so: an operator was told that nothing comes after it.
 */
export function mayRevive(ended: Pick<DeliveryState, 'status' | 'deadReason'>, decision: Decision): boolean {
  return ended.status === 'dead' && ended.deadReason === 'expired' && decision.status === 'succeeded';
}

// ── How it is sent again ─────────────────────────────────────────────────────────────────────────────────

/** One attempt, due at once. How it had ended stays in the row, for the attempt may fail. */
function force(delivery: DeliveryState): OpenState {
  return {
    ...delivery,
    status: 'retrying',
    dueAt: FORCED_DUE_AT,
    scheduledAt: delivery.dueAt,
    fallbackStatus: delivery.status,
  };
}

/** `retry_waiting`: a forced attempt, but only of one that waits for its next attempt. */
export type SendAgain = 'retry' | 'retry_waiting' | 'replay_dead';
export type SendAgainRefusal = 'not_found' | 'too_old' | 'destination_deleted';

/** What a manual retry or a DLQ replay makes of a delivery, or why it may not; `unchanged`: it waits forced already. */
export function sendAgain(
  how: SendAgain,
  delivery: DeliveryState,
  { isDestinationDeleted, isTooOld, now }: { isDestinationDeleted: boolean; isTooOld: boolean; now: number },
): OpenState | SendAgainRefusal | 'unchanged' {
  if (isDestinationDeleted) return 'destination_deleted';
  // The DLQ has none of this id, however old it is.
  if (how === 'replay_dead' && delivery.status !== 'dead') return 'not_found';
  if (how === 'retry_waiting' && delivery.status !== 'retrying') return 'not_found';
  if (isTooOld) return 'too_old';
  // The whole schedule anew.
  if (how === 'replay_dead') return born(now);
  return delivery.dueAt === FORCED_DUE_AT ? 'unchanged' : force(delivery);
}
