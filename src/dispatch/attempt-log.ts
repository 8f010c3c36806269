// What the log says of attempts. The history is in the store, so at `info` only what somebody may have to act on gets a
// line: a delivery that ends dead, and failed attempts, as many a second as a person could read.
import type { DestinationId } from '../model/id.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Log } from '../runtime/log.ts';
import type { FinishedAttempt } from '../model/observer.ts';

/** Failed attempts of one destination that get a line within a second; the rest of them are counted. */
const FAILURES_TOLD_MAX = 10;
const WINDOW_MS = 1_000;

export class AttemptLog {
  readonly #log: Log;
  readonly #clock: Clock;
  /** Failed attempts of this second, by destination. Emptied every second, so it holds no more than one second's. */
  readonly #failures = new Map<DestinationId, number>();

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  note(finished: FinishedAttempt): void {
    const isDead = finished.decision?.status === 'dead';
    const isFailed = finished.result.outcome !== 'succeeded';
    if (isDead) this.#log.info(describe(finished), 'delivery dead');
    else if (isFailed && this.#isTold(finished.delivery.destinationId))
      this.#log.info(describe(finished), 'attempt failed');
    else if (this.#log.isLevelEnabled('debug')) this.#log.debug(describe(finished), 'attempt');
  }

  /** Says how many failed attempts of this second had no line; then a new second begins. To be called at a stop too. */
  flush(): void {
    for (const [destination, count] of this.#failures) {
      const leftOut = count - FAILURES_TOLD_MAX;
      if (leftOut > 0) this.#log.info({ destination, left_out: leftOut }, 'more attempts failed');
    }
    this.#failures.clear();
  }

  #isTold(destination: DestinationId): boolean {
    if (this.#failures.size === 0) this.#clock.setTimer(() => this.flush(), WINDOW_MS);
    const count = (this.#failures.get(destination) ?? 0) + 1;
    this.#failures.set(destination, count);
    return count <= FAILURES_TOLD_MAX;
  }
}

function describe({ delivery, trigger, result, decision }: FinishedAttempt): Record<string, unknown> {
  return {
    delivery: delivery.id,
    event: delivery.eventId,
    destination: delivery.destinationId,
    attempt: delivery.attemptCount + 1,
    trigger,
    outcome: result.outcome,
    code: result.responseCode,
    error: result.error,
    ms: Math.round(result.durationMs),
    status: decision?.status ?? 'unchanged',
    dead_reason: decision?.deadReason ?? undefined,
  };
}
