// The simulated network: what answers at a destination's URL, and the log of all that reached it. The log knows
// nothing of the service: what it says is held against what the service claims.
import type { AttemptRequest } from '../../src/attempt/perform.ts';
import type { Abort } from '../../src/attempt/connection.ts';
import type { AttemptResult, Outcome } from '../../src/model/attempt.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import type { SeededRandom } from './seeded-random.ts';

/** What a receiver does with one request. */
export type Reply = {
  afterMs: number;
  /** null: no complete response. */
  code: number | null;
  outcome?: Outcome;
  retryAfterMs?: number;
};

export type Behaviour = (request: AttemptRequest, random: SeededRandom) => Reply;

export type Exchange = {
  url: string;
  deliveryId: string;
  eventId: string;
  attempt: number;
  payload: Uint8Array;
  /** Monotonic ms. */
  startedAt: number;
  endedAt: number | null;
  result: AttemptResult | null;
};

const NEVER = Number.POSITIVE_INFINITY;

const quick = (random: SeededRandom): number => random.between(1, 30);
const ok: Behaviour = (_request, random) => ({ afterMs: quick(random), code: random.pick([200, 201, 202, 204]) });
const answer =
  (code: number): Behaviour =>
  (_request, random) => ({ afterMs: quick(random), code });

export const BEHAVIOURS = {
  ok,
  slow: (_request, random) => ({ afterMs: random.between(500, 12_000), code: 200 }),
  hangs: () => ({ afterMs: NEVER, code: null }),
  refuses: (_request, random) => ({ afterMs: quick(random), code: null, outcome: 'connect_failed' }),
  resets: (_request, random) => ({ afterMs: random.between(1, 3_000), code: null, outcome: 'reset' }),
  fails: answer(500),
  dislikes: answer(404),
  gone: answer(410),
  busy: (_request, random) => ({ afterMs: quick(random), code: 429, retryAfterMs: random.between(1, 600) * 1_000 }),
  unavailable: (_request, random) => ({
    afterMs: quick(random),
    code: 503,
    retryAfterMs: random.between(1, 60) * 1_000,
  }),
  /** Refuses each delivery twice, then takes it. */
  picky: (request, random) => (request.attempt <= 2 ? answer(404) : ok)(request, random),
} as const satisfies Record<string, Behaviour>;

export type BehaviourName = keyof typeof BEHAVIOURS;

const FLAPS = ['ok', 'ok', 'slow', 'hangs', 'refuses', 'resets', 'fails', 'dislikes', 'busy'] as const;

/** Something else each time. */
export const flapping: Behaviour = (request, random) => BEHAVIOURS[random.pick(FLAPS)](request, random);

export class Receivers {
  readonly log: Exchange[] = [];
  onStart: (exchange: Exchange) => void = () => undefined;
  onEnd: (exchange: Exchange, result: AttemptResult) => void = () => undefined;
  readonly #behaviours = new Map<string, Behaviour>();
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  set(url: string, behaviour: Behaviour): void {
    this.#behaviours.set(url, behaviour);
  }

  /** The `perform` of one process: its clock stops with it, and then nobody hears the answers. */
  performOn(clock: Clock) {
    return (request: AttemptRequest, abort?: Abort): Promise<AttemptResult> => {
      const { url, deliveryId, eventId, attempt, payload } = request;
      const startedAt = clock.monotonic();
      const exchange: Exchange = { url, deliveryId, eventId, attempt, payload, startedAt, endedAt: null, result: null };
      const startedWall = clock.now();
      this.log.push(exchange);
      this.onStart(exchange);
      const reply = this.#behaviours.get(url)!(request, this.#random);
      return new Promise((resolve) => {
        const end = (how: Reply): void => {
          if (exchange.endedAt !== null) return;
          timer.cancel();
          exchange.endedAt = clock.monotonic();
          exchange.result = toResult(how, {
            startedAt: startedWall,
            durationMs: exchange.endedAt - startedAt,
            now: clock.now(),
          });
          this.onEnd(exchange, exchange.result);
          resolve(exchange.result);
        };
        const isInTime = reply.afterMs < request.timeoutMs;
        const late: Reply = { afterMs: request.timeoutMs, code: null, outcome: 'timed_out' };
        const timer = clock.setTimer(() => end(isInTime ? reply : late), Math.min(reply.afterMs, request.timeoutMs));
        abort?.addEventListener('abort', () => end({ afterMs: 0, code: null, outcome: 'cancelled' }));
      });
    };
  }
}

function toResult(reply: Reply, at: { startedAt: number; durationMs: number; now: number }): AttemptResult {
  const { code, retryAfterMs } = reply;
  const isSuccess = code !== null && code >= 200 && code < 300;
  return {
    outcome: reply.outcome ?? (isSuccess ? 'succeeded' : 'bad_status'),
    startedAt: at.startedAt,
    durationMs: Math.round(at.durationMs),
    responseCode: code,
    responseHeaders: code === null ? null : [['date', 'whenever']],
    responseBody: code === null ? null : new Uint8Array([code & 0xff]),
    responseBodyTruncated: false,
    error: isSuccess ? null : 'simulated',
    retryAfterAt: retryAfterMs === undefined ? null : at.now + retryAfterMs,
  };
}
