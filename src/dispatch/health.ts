// How a destination is doing, and what that costs it: a failing one gets fewer attempts at once, further apart,
// so that it spends its own slots and nobody else's. Part of it outlives a restart (DestinationHealth).
import type { AttemptResult, Outcome } from '../model/attempt.ts';
import type { DestinationHealth, FailureStreak } from '../model/destination.ts';
import type { DestinationId } from '../model/id.ts';
import type { Instant } from '../runtime/clock.ts';

const SPACING_FIRST_MS = 10;
const SPACING_MAX_MS = 1_000;
const FAILURES_BEFORE_PAUSE = 10;

/** Whether an outcome says that the receiver is in trouble, rather than that it disliked this one request. */
const IS_OVERLOAD: Readonly<Record<Outcome, boolean>> = {
  succeeded: false,
  bad_status: false,
  timed_out: true,
  connect_failed: true,
  dns_failed: true,
  tls_failed: true,
  blocked: false,
  reset: true,
  invalid_response: false,
  cancelled: false,
};

export class Health {
  readonly #destinationId: DestinationId;
  #max: number;
  #limit: number;
  #spacingMs = 0;
  readonly #hold = new Hold();
  #failingSince: number | null;
  #failureCount: number;

  constructor(destinationId: DestinationId, maxInFlight: number, stored: DestinationHealth | null, at: Instant) {
    this.#destinationId = destinationId;
    this.#max = maxInFlight;
    this.#limit = maxInFlight;
    this.#hold.extend(stored?.heldUntil ?? 0, at);
    this.#failingSince = stored?.failingSince ?? null;
    this.#failureCount = stored?.failureCount ?? 0;
  }

  /** How many attempts may be on the wire: `maxInFlight`, fewer while the destination fails. */
  get inFlightLimit(): number {
    return this.#limit;
  }

  /** Least milliseconds between two starts. */
  get spacingMs(): number {
    return this.#spacingMs;
  }

  /** For how many ms the receiver wants nothing; forced attempts go out all the same. 0: no hold. */
  heldMs(at: Instant): number {
    return this.#hold.leftMs(at);
  }

  /** Whether anything has failed since the last success. */
  get isFailing(): boolean {
    return this.#failingSince !== null;
  }

  /** What has failed since the last success; null: nothing. */
  streak(): FailureStreak | null {
    return this.#failingSince === null ? null : { failingSince: this.#failingSince, failureCount: this.#failureCount };
  }

  /**
   * Learns from a result. `isLate`: the receiver has answered later attempts since, so it says nothing of how it is
   * now. Returns what to store, if anything that outlives a restart has changed.
   */
  note(
    result: AttemptResult,
    event: { endedAt: number; heldUntil: number; isLate?: boolean },
    at: Instant,
  ): DestinationHealth | null {
    if (result.outcome === 'cancelled') return null;
    if (result.outcome === 'succeeded') return this.#noteSuccess(at);
    if (isOverload(result) && event.isLate !== true) this.#slowDown();
    this.#hold.extend(event.heldUntil, at);
    this.#failingSince ??= event.endedAt;
    this.#failureCount++;
    return this.#toStore(at);
  }

  /** No success for `failingAfterMs`, and enough failures to be sure. 0 turns it off. */
  isFailingFor(failingAfterMs: number, now: number): boolean {
    if (failingAfterMs === 0 || this.#failingSince === null || this.#failureCount < FAILURES_BEFORE_PAUSE) return false;
    return now - this.#failingSince >= failingAfterMs;
  }

  /** Somebody says that the destination is well again. */
  reset(): void {
    this.#limit = this.#max;
    this.#spacingMs = 0;
    this.#failingSince = null;
    this.#failureCount = 0;
  }

  /** The destination has another url: what is known is known of the receiver that it had. */
  forget(): void {
    this.reset();
    this.#hold.end();
  }

  setMaxInFlight(max: number): void {
    this.#limit = this.#limit === this.#max ? max : Math.min(this.#limit, max);
    this.#max = max;
  }

  /** There is nothing to remember. */
  isNeutral(at: Instant): boolean {
    const isUnhindered = this.#limit === this.#max && this.#spacingMs === 0;
    return isUnhindered && this.#failingSince === null && this.heldMs(at) === 0;
  }

  #noteSuccess(at: Instant): DestinationHealth | null {
    this.#limit = Math.min(this.#max, this.#limit + 1);
    this.#spacingMs = this.#spacingMs <= SPACING_FIRST_MS ? 0 : this.#spacingMs / 2;
    if (this.#failingSince === null) return null;
    this.#failingSince = null;
    this.#failureCount = 0;
    return this.#toStore(at);
  }

  #slowDown(): void {
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
    this.#spacingMs = Math.min(SPACING_MAX_MS, this.#spacingMs === 0 ? SPACING_FIRST_MS : this.#spacingMs * 2);
  }

  #toStore(at: Instant): DestinationHealth {
    return {
      destinationId: this.#destinationId,
      failingSince: this.#failingSince,
      failureCount: this.#failureCount,
      // A hold that is over is not worth a row.
      heldUntil: this.heldMs(at) > 0 ? this.#hold.until : null,
    };
  }
}

function isOverload(result: AttemptResult): boolean {
  const code = result.responseCode;
  return IS_OVERLOAD[result.outcome] || code === 429 || (code !== null && code >= 500);
}

/**
 * Until when a receiver wants nothing. It asked for so long, not for a time of day: the hold is over as soon as one of
 * the clocks says so, for one that is set back by an hour would hold the destination an hour longer.
 */
class Hold {
  #until = 0;
  /** Monotonic ms. */
  #endsAt = 0;

  /** Unix ms. */
  get until(): number {
    return this.#until;
  }

  leftMs({ now, monotonic }: Instant): number {
    return Math.max(0, Math.min(this.#until - now, this.#endsAt - monotonic));
  }

  end(): void {
    this.#until = 0;
    this.#endsAt = 0;
  }

  extend(until: number, at: Instant): void {
    const heldMs = until - at.now;
    if (heldMs <= this.leftMs(at)) return;
    this.#until = until;
    this.#endsAt = at.monotonic + heldMs;
  }
}
