// How a destination wants its deliveries retried: what it set (RetryPolicy) and what follows (Schedule).

/** As set through the API; every member optional, `schedule_seconds` excludes the four that follow it. */
export type RetryPolicy = {
  schedule_seconds?: number[];
  max_attempts?: number;
  initial_seconds?: number;
  factor?: number;
  max_seconds?: number;
  timeout_seconds?: number;
  jitter?: number;
};

/** The delays between attempts (one fewer than the attempts), and how each attempt is bounded. */
export type Schedule = {
  delaysMs: readonly number[];
  /** One deadline for connect, headers and body of an attempt. */
  timeoutMs: number;
  /** A delay is multiplied by `1 + U[0, jitter]`: jitter only adds. */
  jitter: number;
};

export const DELAY_SECONDS_MAX = 604_800;
export const DELAYS_MAX = 50;
const TOTAL_DAYS_MAX = 29;

/** At once, then 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h: 10 attempts over 75 h 35 m 5 s. */
const DEFAULT_DELAYS_SECONDS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
const DEFAULT_TIMEOUT_SECONDS = 15;
const DEFAULT_JITTER = 0.2;
const FORMULA_MEMBERS = ['max_attempts', 'initial_seconds', 'factor', 'max_seconds'] as const;

/** What an attempt and its retries follow; null means the defaults. */
export function resolveSchedule(policy: RetryPolicy | null): Schedule {
  return {
    delaysMs: delaysSeconds(policy ?? {}).map((seconds) => seconds * 1000),
    timeoutMs: (policy?.timeout_seconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000,
    jitter: policy?.jitter ?? DEFAULT_JITTER,
  };
}

/** What a policy whose members are each in range still gets wrong as a whole: a sentence, or null. */
export function findPolicyFault(policy: RetryPolicy): string | null {
  const formula = FORMULA_MEMBERS.filter((member) => policy[member] !== undefined);
  if (policy.schedule_seconds !== undefined && formula.length > 0) {
    return `use either schedule_seconds or ${formula.join(', ')}, not both`;
  }
  const totalSeconds = delaysSeconds(policy).reduce((sum, seconds) => sum + seconds, 0);
  const longestSeconds = totalSeconds * (1 + (policy.jitter ?? DEFAULT_JITTER));
  if (longestSeconds > TOTAL_DAYS_MAX * 86_400) {
    return (
      `the delays add up to ${Math.ceil(longestSeconds / 86_400)} days with jitter; ` +
      `at most ${TOTAL_DAYS_MAX} are possible because an event's body is kept for 30`
    );
  }
  return null;
}

function delaysSeconds(policy: RetryPolicy): readonly number[] {
  if (policy.schedule_seconds !== undefined) return policy.schedule_seconds;
  if (FORMULA_MEMBERS.every((member) => policy[member] === undefined)) return DEFAULT_DELAYS_SECONDS;
  const { max_attempts: attempts = 10, initial_seconds: initial = 5, factor = 3, max_seconds: max = 86_400 } = policy;
  return Array.from({ length: attempts - 1 }, (_, n) => Math.min(initial * factor ** n, max));
}

// ── When the next attempt is due ─────────────────────────────────────────────────────────────────────────

/** A receiver may ask for patience, but not for ever. */
const RETRY_AFTER_MAX_MS = 24 * 3_600_000;

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
