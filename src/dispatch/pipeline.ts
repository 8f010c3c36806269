// One attempt as one pipeline. Each step takes what the step before returned; what is not sent leaves early.
//
//   started ─▶ checkStillWanted ─▶ loadPayload ─▶ lastLook ─▶ send ─▶ noteHealth ─▶ decide and record ─▶ settled
//                     └───────────────┴───────────────┴─▶ not sent: when to look for the delivery again
import type { AttemptRequest, Perform } from '../attempt/perform.ts';
import type { AttemptResult } from '../model/attempt.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import { keysInForce, type DestinationHealth } from '../model/destination.ts';
import { idTime } from '../model/id.ts';
import type { Observer } from '../model/observer.ts';
import { boundRetryAfter } from '../model/retry-policy.ts';
import { isGone } from '../model/transitions.ts';
import type { Recorder } from '../record/recorder.ts';
import type { ClockTrust } from '../runtime/clock-trust.ts';
import { instantOf, type Clock, type Instant } from '../runtime/clock.ts';
import type { DestinationQueue } from './destination-queue.ts';
import type { AttemptUnderWay } from './in-flight.ts';
import type { Ownership } from '../model/ownership.ts';
import type { Payload, Payloads } from './payloads.ts';

type PipelineOptions = {
  perform: Perform;
  recorder: Pick<Recorder, 'record' | 'isWriting'>;
  payloads: Pick<Payloads, 'get'>;
  ownership: Pick<Ownership, 'isAlive' | 'mayStart'>;
  clock: Clock;
  /** While the clock is in doubt no destination has failed for too long by it. */
  clockTrust: Pick<ClockTrust, 'isSettled'>;
  bodyRetentionMs: number;
  /** 0: destinations are never paused for failing. */
  failingAfterMs: number;
  observer: Pick<Required<Observer>, 'attempted'>;
  /** What an attempt's request carries, from what its event came with. Absent: no traces are asked for. */
  traceparentOf?: ((delivery: OpenDelivery, traceparent: string | null) => string | null) | undefined;
};

/** `dueAt`: when the delivery is to be looked for in the store again; null: it is not ours to look for. */
type NotSent = { result: null; dueAt: number | null };
type Sent = { result: AttemptResult; payload: Payload };

/** `health`: what to store; null: nothing has changed. */
type Noted = { health: DestinationHealth | null; isFailing: boolean };

const NOTHING_NOTED: Noted = { health: null, isFailing: false };
const NOT_OURS: NotSent = { result: null, dueAt: null };
const HTTP_TOO_MANY_REQUESTS = 429;

export class AttemptPipeline {
  readonly #options: PipelineOptions;

  constructor(options: PipelineOptions) {
    this.#options = options;
  }

  /** False while results cannot be stored, or our lease has run out. */
  mayRun(): boolean {
    return this.#options.recorder.isWriting() && this.#options.ownership.isAlive();
  }

  /** From its start, which is now, to the end of the request. Rejects where there is no payload or socket just now. */
  async send(queue: DestinationQueue, attempt: AttemptUnderWay, startedAt: Instant): Promise<Sent | NotSent> {
    const { clock, payloads } = this.#options;
    if (!this.#isStillWanted(queue, attempt, startedAt.now)) return NOT_OURS;
    const found = payloads.get(attempt.delivery.eventId);
    const isAwaited = found instanceof Promise;
    const payload = isAwaited ? await found : found;
    const at = isAwaited ? instantOf(clock) : startedAt;
    const refusal = this.#lastLook(queue, attempt, at);
    if (payload === null) return NOT_OURS;
    if (refusal !== null) return refusal;
    const result = await this.#request(queue, attempt, { payload, at });
    if (result.outcome !== 'cancelled') return { result, payload };
    if (attempt.isAbandoned) return NOT_OURS;
    if (this.#options.ownership.mayStart(queue.id)) return { result, payload };
    // Called off when its connection was there: the lease had run out, perhaps while the process slept, or the shard
    // was given away. The attempt has not happened.
    return queue.isOver ? NOT_OURS : { result: null, dueAt: attempt.delivery.dueAt };
  }

  /** From the end of the request to its stored result. Resolves with when to look for the delivery again. */
  async record(
    queue: DestinationQueue,
    attempt: AttemptUnderWay,
    { result, payload }: Sent,
  ): Promise<{ dueAt: number | null }> {
    const { recorder, ownership, observer } = this.#options;
    const { delivery, trigger } = attempt;
    // How it ended says nothing of the receiver that the destination has now.
    const isOfFormerUrl = attempt.sentTo !== null && attempt.sentTo !== queue.destination.url;
    const recoveredFrom = result.outcome === 'succeeded' && !isOfFormerUrl ? queue.health.streak() : null;
    const { health, isFailing } = isOfFormerUrl ? NOTHING_NOTED : this.#noteHealth(queue, attempt, result);
    const isPausing = isFailing || (isGone(result) && !isOfFormerUrl);
    if (isPausing) queue.setPausing(true);
    const { decision } = await recorder.record({
      delivery,
      trigger,
      result,
      isOfFormerUrl,
      schedule: queue.schedule,
      health,
      pauseDestination: isFailing ? 'failing' : null,
      isOurs: () => queue.state !== 'lost' && ownership.isAlive(),
    });
    if (isPausing && (decision === null || decision.pauseDestination === null)) queue.setPausing(false);
    const { eventType, traceparent } = payload;
    observer.attempted({ delivery, eventType, trigger, result, decision, traceparent, recoveredFrom });
    return { dueAt: decision?.dueAt ?? null };
  }

  /** False: nobody will send this delivery any more, or another node will. */
  #isStillWanted(queue: DestinationQueue, { delivery, isAbandoned }: AttemptUnderWay, now: number): boolean {
    // Past its retention the body may still be in memory, but the delivery has expired all the same.
    const isExpired = idTime(delivery.eventId) <= now - this.#options.bodyRetentionMs;
    return !isAbandoned && !queue.isOver && !isExpired;
  }

  /** Before a request goes out, for much may have changed while its body was read. Null: it may. */
  #lastLook(queue: DestinationQueue, attempt: AttemptUnderWay, at: Instant): NotSent | null {
    const { ownership } = this.#options;
    const { delivery } = attempt;
    if (!this.#isStillWanted(queue, attempt, at.now)) return NOT_OURS;
    // Without a lease nothing is sent. The lease may yet be renewed, or the queue be released: until then it stays due.
    const mayBeSent = ownership.mayStart(queue.id) && !queue.isHeldBack(delivery, at);
    return mayBeSent ? null : { result: null, dueAt: delivery.dueAt };
  }

  #request(
    queue: DestinationQueue,
    attempt: AttemptUnderWay,
    { payload, at }: { payload: Payload; at: Instant },
  ): Promise<AttemptResult> {
    const { perform, ownership, traceparentOf } = this.#options;
    const { delivery } = attempt;
    const { destination } = queue;
    queue.send(attempt, at);
    const request: AttemptRequest = {
      environment: destination.environment,
      mode: queue.mode,
      url: destination.url,
      headers: destination.headers,
      signatureStyle: destination.signatureStyle,
      keys: keysInForce(destination, at.now),
      eventId: delivery.eventId,
      deliveryId: delivery.id,
      attempt: delivery.attemptCount + 1,
      payload: payload.bytes,
      traceparent: traceparentOf?.(delivery, payload.traceparent) ?? null,
      startedAt: at,
      timeoutMs: queue.schedule.timeoutMs,
    };
    return perform(request, attempt.aborter, () => ownership.mayStart(queue.id));
  }

  #noteHealth(queue: DestinationQueue, attempt: AttemptUnderWay, result: AttemptResult): Noted {
    const endedAt = Math.round(result.startedAt + result.durationMs);
    const isTooMany = result.responseCode === HTTP_TOO_MANY_REQUESTS;
    const heldUntil = isTooMany ? boundRetryAfter(result.retryAfterAt, endedAt) : 0;
    const { clock, clockTrust, failingAfterMs } = this.#options;
    const isLate = queue.inFlight.isLeftBehind(attempt);
    const isAnswer = result.responseCode !== null && result.outcome !== 'timed_out';
    const at = instantOf(clock);
    if (isAnswer) queue.noteAnswer(attempt, at);
    const health = queue.health.note(result, { endedAt, heldUntil, isLate }, at);
    return { health, isFailing: queue.health.isFailingFor(failingAfterMs, endedAt) && clockTrust.isSettled() };
  }
}
