// Requests by which a destination is tried out: made as an attempt is, at once, whatever its state, and kept nowhere.
import { Aborter } from '../attempt/connection.ts';
import { NoDescriptors } from '../attempt/descriptors.ts';
import type { Perform } from '../attempt/perform.ts';
import type { Mode } from '../model/api-key.ts';
import type { TestAttempt } from '../model/attempt.ts';
import { keysInForce, type DestinationWithKeys } from '../model/destination.ts';
import { ApiError, cannotConnect } from '../model/error.ts';
import { idShard, type DestinationId } from '../model/id.ts';
import { resolveSchedule } from '../model/retry-policy.ts';
import { instantOf, type Clock } from '../runtime/clock.ts';
import type { Ids } from '../runtime/ids.ts';
import { buildPayload } from './payloads.ts';

/** Of one destination. */
const INTERVAL_MS = 1_000;
/** Of one environment, on the wire at once: each may take a minute and hold its body and 64 KiB of a response. */
const AT_ONCE_MAX = 10;

type TestEvent = { type: string; body: Uint8Array };

type TestRequestsOptions = {
  perform: Perform;
  clock: Clock;
  ids: Ids;
  modeOf: (environment: number) => Mode;
  /** Where other nodes test too: whether none of them has just done so; then none does for so long. */
  reserve: ((request: { destinationId: DestinationId; forMs: number }) => Promise<boolean>) | null;
};

export class TestRequests {
  readonly #options: TestRequestsOptions;
  /** When the last began, monotonic; the oldest first. Those of the last second, no more. */
  readonly #begunAt = new Map<DestinationId, number>();
  readonly #underWay = new Map<number, Set<Aborter>>();
  #isStopped = false;

  constructor(options: TestRequestsOptions) {
    this.#options = options;
  }

  /** Rejects with ApiError `rate_limited` or `unavailable`; a receiver that fails is a result. */
  async send(destination: DestinationWithKeys, event: TestEvent): Promise<TestAttempt> {
    if (this.#isStopped) throw new ApiError('unavailable', 'this node is being stopped', { retryAfterSeconds: 1 });
    const underWay = this.#underWay.getOrInsert(destination.environment, new Set());
    if (underWay.size >= AT_ONCE_MAX) throw tooMany('too many tests are under way; wait for their answers');
    this.#takeTurn(destination.id);
    const aborter = new Aborter();
    underWay.add(aborter);
    try {
      const { reserve } = this.#options;
      if (reserve !== null && !(await reserve({ destinationId: destination.id, forMs: INTERVAL_MS }))) throw tooSoon();
      return await this.#perform(destination, event, aborter);
    } finally {
      underWay.delete(aborter);
    }
  }

  /** Ends what is under way: nobody waits for a test. */
  stop(): void {
    this.#isStopped = true;
    for (const underWay of this.#underWay.values()) for (const aborter of underWay) aborter.abort();
  }

  #takeTurn(id: DestinationId): void {
    const now = this.#options.clock.monotonic();
    for (const [destination, begunAt] of this.#begunAt) {
      if (now - begunAt < INTERVAL_MS) break;
      this.#begunAt.delete(destination);
    }
    if (this.#begunAt.has(id)) throw tooSoon();
    this.#begunAt.set(id, now);
  }

  async #perform(destination: DestinationWithKeys, event: TestEvent, aborter: Aborter): Promise<TestAttempt> {
    const { perform, clock, ids, modeOf } = this.#options;
    const { id, environment, url, headers, signatureStyle, retryPolicy } = destination;
    const startedAt = instantOf(clock);
    const { now } = startedAt;
    const eventId = ids.next('evt');
    const payload = buildPayload({ id: eventId, type: event.type, occurredAt: now, traceparent: null }, event.body);
    let sentHeaders: readonly string[] = [];
    const { retryAfterAt: _, ...result } = await perform(
      {
        environment,
        mode: modeOf(environment),
        url,
        headers,
        signatureStyle,
        keys: keysInForce(destination, now),
        eventId,
        deliveryId: ids.next('dlv', idShard(id)),
        attempt: 1,
        payload,
        traceparent: null,
        startedAt,
        timeoutMs: resolveSchedule(retryPolicy).timeoutMs,
        onTestHeaders: (sent) => (sentHeaders = sent),
      },
      aborter,
    ).catch(refuse);
    return { ...result, attempt: 1, trigger: 'manual', sentHeaders, sentBody: payload };
  }
}

function refuse(error: unknown): never {
  if (!(error instanceof NoDescriptors)) throw error;
  throw cannotConnect();
}

function tooSoon(): ApiError {
  return tooMany('a destination is tested once a second at most; try again');
}

function tooMany(message: string): ApiError {
  return new ApiError('rate_limited', message, { retryAfterSeconds: 1 });
}
