// One attempt from payload to recorded result: the part of dispatch that waits for the network and the store.
import { Aborter } from '../attempt/abort.ts';
import type { AttemptRequest, Perform } from '../attempt/perform.ts';
import type { Mode } from '../model/api-key.ts';
import type { AttemptResult, AttemptTrigger } from '../model/attempt.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import type { DestinationWithKeys } from '../model/destination.ts';
import { idTime } from '../model/id.ts';
import { boundRetryAfter } from '../record/backoff.ts';
import { isGone, isManualAttempt } from '../record/decide.ts';
import type { Recorder } from '../record/recorder.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ClockTrust } from '../runtime/clock-trust.ts';
import type { Decision } from '../store/store.ts';
import type { Attempting, DestinationQueue } from './destination-queue.ts';
import type { Ownership } from './ownership.ts';
import type { Payloads } from './payloads.ts';

export type FinishedAttempt = {
  delivery: OpenDelivery;
  trigger: AttemptTrigger;
  result: AttemptResult;
  /** null: another writer had finished the delivery. */
  decision: Decision | null;
};

export interface Runner {
  /** False while results cannot be stored, or our lease has run out. */
  mayRun(): boolean;
  /** `onWireFree` is called when the request has ended. Resolves with when to look for the delivery again. */
  attempt(queue: DestinationQueue, attempting: Attempting, onWireFree: () => void): Promise<{ dueAt: number | null }>;
  /** Aborts requests whose results shall not be recorded: whoever sends to the destination next sends them again. */
  abandon(attempts: Attempting[]): void;
}

const HTTP_TOO_MANY_REQUESTS = 429;

export type RunnerOptions = {
  perform: Perform;
  recorder: Recorder;
  payloads: Payloads;
  ownership: Ownership;
  clock: Clock;
  /** While the clock is in doubt no destination has failed for too long by it. */
  clockTrust: ClockTrust;
  modeOf: (environment: number) => Mode;
  bodyRetentionMs: number;
  /** 0: destinations are never paused for failing. */
  failingAfterMs: number;
  onFinished: (finished: FinishedAttempt) => void;
};

export function createRunner(options: RunnerOptions): Runner {
  return new AttemptRunner(options);
}

class AttemptRunner implements Runner {
  readonly #options: RunnerOptions;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  mayRun(): boolean {
    return this.#options.recorder.isWriting() && this.#options.ownership.isAlive();
  }

  async attempt(queue: DestinationQueue, attempting: Attempting, onWireFree: () => void) {
    const { delivery } = attempting;
    if (this.#isLost(queue, attempting)) return { dueAt: null };
    const found = this.#options.payloads.get(delivery.eventId);
    const payload = found instanceof Uint8Array ? found : await found;
    // The last look before a request goes out: much may have changed while its body was read.
    if (payload === null || this.#isLost(queue, attempting)) return { dueAt: null };
    // Without a lease nothing is sent. It may yet be renewed, or the queue be dropped: until then it stays due.
    if (!this.#options.ownership.mayStart(queue.id)) return { dueAt: delivery.dueAt };
    if (queue.isHeldBack(delivery, this.#options.clock.now())) return { dueAt: delivery.dueAt };
    const result = await this.#send(queue, attempting, payload);
    if (attempting.isAbandoned && result.outcome === 'cancelled') return { dueAt: null };
    const recording = this.#record(queue, delivery, result);
    onWireFree();
    return recording;
  }

  abandon(attempts: Attempting[]): void {
    for (const attempting of attempts) {
      attempting.isAbandoned = true;
      attempting.abort?.();
    }
  }

  /** Nobody will send this one any more, or somebody else will. */
  #isLost(queue: DestinationQueue, { delivery, isAbandoned }: Attempting): boolean {
    const { clock, bodyRetentionMs } = this.#options;
    // Past its retention the body may still be in memory, but the delivery has expired all the same.
    const isExpired = idTime(delivery.eventId) <= clock.now() - bodyRetentionMs;
    return isAbandoned || queue.isOver || isExpired;
  }

  #send(queue: DestinationQueue, attempting: Attempting, payload: Uint8Array): Promise<AttemptResult> {
    const { perform, clock, modeOf } = this.#options;
    const { delivery } = attempting;
    const { destination } = queue;
    const aborter = new Aborter();
    attempting.abort = () => aborter.abort();
    queue.send(attempting, { now: clock.now(), monotonic: clock.monotonic() });
    const request: AttemptRequest = {
      environment: destination.environment,
      mode: modeOf(destination.environment),
      url: destination.url,
      headers: destination.headers,
      keys: keysInForce(destination, clock.now()),
      eventId: delivery.eventId,
      deliveryId: delivery.id,
      attempt: delivery.attemptCount + 1,
      payload,
      timeoutMs: queue.schedule.timeoutMs,
    };
    return perform(request, aborter);
  }

  async #record(queue: DestinationQueue, delivery: OpenDelivery, result: AttemptResult) {
    const { recorder, ownership, clockTrust, failingAfterMs, onFinished } = this.#options;
    const trigger = isManualAttempt(delivery) ? 'manual' : 'schedule';
    const endedAt = Math.round(result.startedAt + result.durationMs);
    const isTooMany = result.responseCode === HTTP_TOO_MANY_REQUESTS;
    const heldUntil = isTooMany ? boundRetryAfter(result.retryAfterAt, endedAt) : 0;
    const health = queue.health.note(result, { endedAt, heldUntil });
    const isFailing = queue.health.isFailingFor(failingAfterMs, endedAt) && clockTrust.isSettled();
    const isPausing = isFailing || isGone(result);
    if (isPausing) queue.expectPause(true);
    const { decision } = await recorder.record({
      delivery,
      trigger,
      result,
      schedule: queue.schedule,
      health,
      pauseDestination: isFailing ? 'failing' : null,
      isOurs: () => !queue.isLost && ownership.isAlive(),
    });
    if (isPausing && (decision === null || decision.pauseDestination === null)) queue.expectPause(false);
    onFinished({ delivery, trigger, result, decision });
    return { dueAt: decision?.dueAt ?? null };
  }
}

function keysInForce({ signingKeys }: DestinationWithKeys, now: number): Uint8Array[] {
  return signingKeys.filter(({ expiresAt }) => expiresAt === null || expiresAt > now).map(({ secret }) => secret);
}
