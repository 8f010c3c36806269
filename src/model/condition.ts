// How a destination is doing, in one word and in one plain sentence: the same for its health, for the list of what is
// in trouble, and for the filter of the list of destinations. Pure.
import type { Outcome } from './attempt.ts';
import type { Destination, DestinationHealth, FailureStreak } from './destination.ts';
import type { DestinationId } from './id.ts';

/** The first that holds, in the order paused, failing, idle, healthy. */
export const DESTINATION_STATES = ['healthy', 'failing', 'paused', 'idle'] as const;
export type DestinationState = (typeof DESTINATION_STATES)[number];

/** This many failed attempts in a row, or none that succeeded for so long after one that failed. */
const FAILURES_TO_FAIL = 3;
const FAILING_AFTER_MS = 10_000;
const IDLE_AFTER_MS = 24 * 3_600_000;

type LastFailure = { at: number; outcome: Outcome; responseCode: number | null; error: string | null };

/** What the node that sends to a destination says of it now and then. Times are Unix ms. */
export type DestinationActivity = {
  destinationId: DestinationId;
  environment: number;
  reportedAt: number;
  lastAttemptAt: number | null;
  lastSuccessAt: number | null;
  lastFailure: LastFailure | null;
  inFlight: number;
  /** How many may be in flight: `max_in_flight`, fewer while it fails. */
  inFlightLimit: number;
};

/** All that the store knows of it. `dueAt`: the earliest of its schedule; null: nothing waits. */
export type DestinationCondition = Omit<DestinationHealth, 'destinationId'> & {
  activity: DestinationActivity | null;
  unfinished: number;
  dueAt: number | null;
};

type StateInput = {
  destination: Pick<Destination, 'status'>;
  health: FailureStreak;
  lastAttemptAt: number | null;
  now: number;
};

export function stateOf({ destination, health, lastAttemptAt, now }: StateInput): DestinationState {
  if (destination.status === 'paused') return 'paused';
  if (isFailing(health, now)) return 'failing';
  return lastAttemptAt === null || now - lastAttemptAt >= IDLE_AFTER_MS ? 'idle' : 'healthy';
}

export function isFailing({ failingSince, failureCount }: FailureStreak, now: number): boolean {
  return failingSince !== null && (failureCount >= FAILURES_TO_FAIL || now - failingSince >= FAILING_AFTER_MS);
}

/** When its next attempt may start, as far as the store can tell; null: none waits, or it is paused. */
export function nextAttemptOf(
  { status }: Pick<Destination, 'status'>,
  { dueAt, heldUntil }: Pick<DestinationCondition, 'dueAt' | 'heldUntil'>,
  now: number,
): number | null {
  return status === 'paused' || dueAt === null ? null : Math.max(dueAt, heldUntil ?? 0, now);
}

// ── In words ─────────────────────────────────────────────────────────────────────────────────────────────

type SummaryInput = {
  state: DestinationState;
  destination: Pick<Destination, 'status' | 'pausedReason'>;
  condition: DestinationCondition;
  now: number;
};

/** One sentence without a full stop: `refuses connections since 14:02 UTC; 1,204 wait; next try in 40 s`. */
export function summaryOf({ state, destination, condition, now }: SummaryInput): string {
  const { activity, failingSince, unfinished, heldUntil } = condition;
  const waits = unfinished === 0 ? [] : [unfinished === 1 ? '1 waits' : `${unfinished.toLocaleString('en')} wait`];
  const nextAt = nextAttemptOf(destination, condition, now);
  const next = nextAt === null ? [] : [nextAt <= now ? 'next try now' : `next try in ${duration(nextAt - now)}`];
  if (state === 'paused') return [pausedBecause(destination, condition, now), ...waits].join('; ');
  if (state === 'failing') return [failsHow(condition, now), ...waits, ...next].join('; ');
  if (state === 'idle') return ['nothing was sent in 24 hours', ...waits, ...next].join('; ');
  if (heldUntil !== null && heldUntil > now) {
    return [`asked to wait for ${duration(heldUntil - now)} more`, ...waits].join('; ');
  }
  // One or two failures do not make it failing; but whoever looks right after them must not read that it works.
  if (failingSince !== null) {
    const failure = activity?.lastFailure ?? null;
    const how = failure === null ? '' : `: ${describeFailure(failure)}`;
    return [`the last attempt failed${how}`, ...waits, ...next].join('; ');
  }
  return ['works', ...waits].join('; ');
}

function pausedBecause(
  { pausedReason }: Pick<Destination, 'pausedReason'>,
  condition: DestinationCondition,
  now: number,
) {
  if (pausedReason === 'gone') return 'paused: it answered 410 Gone, and wants nothing any more';
  if (pausedReason === 'failing') return `paused after failing for too long: ${failsHow(condition, now)}`;
  return 'paused by hand';
}

const FAILS: Readonly<Record<Outcome, string>> = {
  succeeded: 'fails',
  bad_status: 'answers with an error',
  timed_out: 'does not answer in time',
  connect_failed: 'refuses connections',
  dns_failed: 'has a host name that cannot be resolved',
  tls_failed: 'has a TLS certificate or handshake that fails',
  blocked: 'has an address that may not be sent to',
  reset: 'breaks off connections',
  invalid_response: 'answers with what is no valid HTTP',
  cancelled: 'fails',
};

function failsHow({ activity, failingSince }: DestinationCondition, now: number): string {
  const failure = activity?.lastFailure ?? null;
  const how = failure === null ? 'fails' : describeFailure(failure);
  return failingSince === null ? how : `${how} since ${moment(failingSince, now)}`;
}

function describeFailure({ outcome, responseCode }: LastFailure): string {
  if (outcome === 'bad_status' && responseCode !== null) return `answers ${responseCode}`;
  return FAILS[outcome];
}

/** `14:02 UTC`, with the date when that is another day. */
function moment(at: number, now: number): string {
  const [day, time] = new Date(at).toISOString().split('T') as [string, string];
  const isToday = new Date(now).toISOString().startsWith(day);
  return `${isToday ? '' : `${day} `}${time.slice(0, 5)} UTC`;
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
] as const;

function duration(ms: number): string {
  const unit = UNITS.find(([size]) => ms >= 2 * size);
  return unit === undefined ? `${Math.max(1, Math.round(ms / 1000))} s` : `${Math.round(ms / unit[0])} ${unit[1]}`;
}
