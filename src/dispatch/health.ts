// How a destination is doing, and what that costs it: a failing one gets fewer attempts at once, further apart,
// so that it spends its own slots and nobody else's. Part of it outlives a restart (DestinationHealth).
import type { AttemptResult, Outcome } from '../model/attempt.ts';
import type { DestinationHealth } from '../model/destination.ts';
import type { DestinationId } from '../model/id.ts';

const SPACING_FIRST_MS = 10;
const SPACING_MAX_MS = 1_000;
const FAILURES_BEFORE_PAUSE = 10;

/** Failures that say the receiver is in trouble, rather than that it disliked this one request. */
const OVERLOAD_OUTCOMES: ReadonlySet<Outcome> = new Set([
  'timed_out',
  'connect_failed',
  'dns_failed',
  'tls_failed',
  'reset',
]);

export type Health = {
  /** At most so many on the wire, whatever the destination allows. */
  inFlightLimit(): number;
  /** Least milliseconds between two starts. */
  spacingMs(): number;
  /** Unix ms; nothing but forced attempts before. 0: not held. */
  heldUntil(): number;
  /** Takes in a result. Returns what to store when something that outlives a restart changed. */
  note(result: AttemptResult, event: { endedAt: number; heldUntil: number }): DestinationHealth | null;
  /** No success for `failingAfterMs`, and enough failures to be sure. 0 turns it off. */
  isFailingFor(failingAfterMs: number, now: number): boolean;
  /** Somebody says that it is well again. */
  reset(): void;
  setMaxInFlight(maxInFlight: number): void;
  /** Nothing to remember. */
  isNeutral(now: number): boolean;
};

export function createHealth(
  destinationId: DestinationId,
  maxInFlight: number,
  stored: DestinationHealth | null,
): Health {
  let max = maxInFlight;
  let limit = maxInFlight;
  let spacing = 0;
  let heldUntil = stored?.heldUntil ?? 0;
  let failingSince = stored?.failingSince ?? null;
  let failureCount = stored?.failureCount ?? 0;

  // A hold that is over is not worth a row.
  const snapshot = (now: number): DestinationHealth => {
    return { destinationId, failingSince, failureCount, heldUntil: heldUntil > now ? heldUntil : null };
  };

  const noteSuccess = (now: number): DestinationHealth | null => {
    limit = Math.min(max, limit + 1);
    spacing = spacing <= SPACING_FIRST_MS ? 0 : spacing / 2;
    if (failingSince === null) return null;
    failingSince = null;
    failureCount = 0;
    return snapshot(now);
  };

  const slowDown = (): void => {
    limit = Math.max(1, Math.floor(limit / 2));
    spacing = Math.min(SPACING_MAX_MS, spacing === 0 ? SPACING_FIRST_MS : spacing * 2);
  };

  return {
    inFlightLimit: () => limit,
    spacingMs: () => spacing,
    heldUntil: () => heldUntil,
    note(result, event) {
      if (result.outcome === 'cancelled') return null;
      if (result.outcome === 'succeeded') return noteSuccess(event.endedAt);
      if (isOverload(result)) slowDown();
      heldUntil = Math.max(heldUntil, event.heldUntil);
      failingSince ??= event.endedAt;
      failureCount++;
      return snapshot(event.endedAt);
    },
    isFailingFor(failingAfterMs, now) {
      if (failingAfterMs === 0 || failingSince === null || failureCount < FAILURES_BEFORE_PAUSE) return false;
      return now - failingSince >= failingAfterMs;
    },
    reset() {
      limit = max;
      spacing = 0;
      failingSince = null;
      failureCount = 0;
    },
    setMaxInFlight(newMax) {
      limit = limit === max ? newMax : Math.min(limit, newMax);
      max = newMax;
    },
    isNeutral: (now) => limit === max && spacing === 0 && failingSince === null && heldUntil <= now,
  };
}

function isOverload(result: AttemptResult): boolean {
  const code = result.responseCode;
  return OVERLOAD_OUTCOMES.has(result.outcome) || code === 429 || (code !== null && code >= 500);
}
