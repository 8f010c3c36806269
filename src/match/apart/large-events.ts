// The events of one environment that take too long to match on the event loop: matched on the environment's own
// thread, one after the other as they came, so that they keep nobody waiting but each other. Whoever asks why an event
// goes where it goes is answered on the same thread, after the events that wait.
import { ApiError } from '../../model/error.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { IndexedMatcher } from '../indexed.ts';
import type { MatchEntry, MatchScope } from '../matcher.ts';
import { Mirror } from './mirror.ts';
import { listPatternsFor } from '../pattern-index.ts';

const WAITING_MAX = 1_000;
const WAITING_BYTES_MAX = 32 * 1024 * 1024;
const WAIT_MS_MAX = 10_000;
/** How often changes of the subscriptions may overtake the thread before we say 503. */
const TRIES_MAX = 5;
/** Each may hold 256 KiB, and the answer 2 MiB. */
const EXPLAINING_MAX = 16;
/** The thread and its copy of the subscriptions are kept so long without work. */
const IDLE_MS = 60_000;

type LargeEvent = {
  type: string;
  bytes: Uint8Array;
  scope: MatchScope;
  /** Called when what was found is what is to be found at that moment. */
  onLate: () => void;
};

type ExplainedEvent = Pick<LargeEvent, 'type' | 'bytes'>;

type Waiting = {
  bytes: number;
  arrivedAt: number;
  begin: () => Promise<void>;
  reject: (error: unknown) => void;
};

export type LargeEventsOptions = { clock: Clock; onFault: (error: unknown) => void };

export class LargeEvents {
  readonly #subscriptions: IndexedMatcher;
  readonly #options: LargeEventsOptions;
  #mirror: Mirror | null = null;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #explaining: Waiting[] = [];
  #isWorking = false;
  /** The patterns that are being matched, until one of their subscriptions changes. */
  #unchanged: ReadonlySet<string> | null = null;
  #idle: Timer | null = null;

  /** `subscriptions`: what is to be matched, as it is at any time; `changed` tells of every change. */
  constructor(subscriptions: IndexedMatcher, options: LargeEventsOptions) {
    this.#subscriptions = subscriptions;
    this.#options = options;
  }

  added(entry: MatchEntry): void {
    this.#mirror?.add(entry);
    this.#noteChange(entry);
  }

  removed(entry: MatchEntry): void {
    this.#mirror?.remove(entry);
    this.#noteChange(entry);
  }

  /** Rejects with ApiError `unavailable`. */
  match(event: LargeEvent): Promise<readonly MatchEntry[]> {
    const { length } = event.bytes;
    if (this.#waiting.length >= WAITING_MAX || this.#waitingBytes + length > WAITING_BYTES_MAX) {
      return Promise.reject(tooMany());
    }
    this.#waitingBytes += length;
    return this.#wait(this.#waiting, length, () => this.#matchUnchanged(event));
  }

  /** The JSON of why subscriptions want an event or do not. Rejects with ApiError `unavailable`, `rate_limited`. */
  explain(event: ExplainedEvent): Promise<Uint8Array> {
    if (this.#explaining.length >= EXPLAINING_MAX) return Promise.reject(explainingTooMany());
    return this.#wait(this.#explaining, 0, () => this.#explain(event));
  }

  /** Ends the thread. What waits is answered with `unavailable`. */
  async close(): Promise<void> {
    this.#idle?.cancel();
    for (const { reject } of [...this.#waiting, ...this.#explaining]) reject(stopped());
    [this.#waiting, this.#explaining] = [[], []];
    await this.#endMirror();
  }

  #wait<T>(queue: Waiting[], bytes: number, find: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const begin = (): Promise<void> => find().then(resolve, reject);
      queue.push({ bytes, arrivedAt: this.#options.clock.monotonic(), begin, reject });
      if (!this.#isWorking) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    this.#idle?.cancel();
    for (let next; (next = this.#waiting.shift() ?? this.#explaining.shift()) !== undefined;) {
      this.#waitingBytes -= next.bytes;
      if (this.#options.clock.monotonic() - next.arrivedAt > WAIT_MS_MAX) next.reject(tooMany());
      else await next.begin();
    }
    this.#isWorking = false;
    this.#idle = this.#options.clock.setTimer(() => void this.#endMirror(), IDLE_MS);
  }

  async #explain(event: ExplainedEvent): Promise<Uint8Array> {
    const patterns = [...listPatternsFor(event.type), ...this.#subscriptions.listNear(event.type)];
    const answer = await this.#ask(patterns, (mirror) => mirror.explain(event));
    assertAnswered(answer);
    return answer.json;
  }

  async #matchUnchanged(event: LargeEvent): Promise<readonly MatchEntry[]> {
    const patterns = listPatternsFor(event.type);
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const answer = await this.#ask(patterns, (mirror) => {
        this.#unchanged = new Set(patterns);
        return mirror.match(event);
      });
      if (this.#unchanged === null) continue;
      assertAnswered(answer);
      event.onLate();
      return answer.ids.map((id) => this.#subscriptions.get(id)!);
    }
    throw changing();
  }

  async #ask<Answer>(patterns: readonly string[], ask: (mirror: Mirror) => Promise<Answer>): Promise<Answer> {
    const mirror = (this.#mirror ??= this.#startMirror());
    try {
      await mirror.include(patterns, this.#subscriptions.entries());
      return await ask(mirror);
    } catch (error) {
      this.#options.onFault(error);
      throw stopped();
    }
  }

  async #endMirror(): Promise<void> {
    const mirror = this.#mirror;
    // Forgotten first: until its thread has ended it would still take events.
    this.#mirror = null;
    await mirror?.end();
  }

  #startMirror(): Mirror {
    const mirror: Mirror = new Mirror(this.#options.clock, () => {
      if (this.#mirror === mirror) this.#mirror = null;
    });
    return mirror;
  }

  #noteChange({ pattern }: MatchEntry): void {
    if (this.#unchanged?.has(pattern) === true) this.#unchanged = null;
  }
}

function assertAnswered<Answer extends object>(
  answer: Answer | { tooMuchWork: true } | { fault: string },
): asserts answer is Answer {
  if ('fault' in answer) throw new Error(`matching a large event failed: ${answer.fault}`);
  if ('tooMuchWork' in answer) throw tooMuch();
}

function explainingTooMany(): ApiError {
  return new ApiError('rate_limited', 'too many events are being explained; try again', { retryAfterSeconds: 1 });
}

function tooMany(): ApiError {
  return unavailable('too many events that take long to match wait for each other; try again later', 10);
}

function changing(): ApiError {
  return unavailable('subscriptions change too fast to match this event; try again', 1);
}

function stopped(): ApiError {
  return unavailable('this event could not be matched; try again', 1);
}

function tooMuch(): ApiError {
  return unavailable(
    'the filters that may want this event take too long on a body like this; simplify those with [*] and $contains',
    60,
  );
}

function unavailable(message: string, retryAfterSeconds: number): ApiError {
  return new ApiError('unavailable', message, { retryAfterSeconds });
}
