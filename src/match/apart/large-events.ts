// The events of one environment that take too long to match on the event loop: matched on the environment's own
// thread, one after the other as they came, so that they keep nobody waiting but each other.
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
/** The thread and its copy of the subscriptions are kept so long without work. */
const IDLE_MS = 60_000;

type LargeEvent = {
  type: string;
  bytes: Uint8Array;
  scope: MatchScope;
  /** Called when what was found is what is to be found at that moment. */
  onLate: () => void;
};

type Waiting = {
  event: LargeEvent;
  arrivedAt: number;
  resolve: (entries: readonly MatchEntry[]) => void;
  reject: (error: unknown) => void;
};

export type LargeEventsOptions = { clock: Clock; onFault: (error: unknown) => void };

export class LargeEvents {
  readonly #subscriptions: IndexedMatcher;
  readonly #options: LargeEventsOptions;
  #mirror: Mirror | null = null;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
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
    return new Promise((resolve, reject) => {
      this.#waiting.push({ event, arrivedAt: this.#options.clock.monotonic(), resolve, reject });
      this.#waitingBytes += length;
      if (!this.#isWorking) void this.#work();
    });
  }

  /** Ends the thread. What waits is answered with `unavailable`. */
  async close(): Promise<void> {
    this.#idle?.cancel();
    for (const { reject } of this.#waiting) reject(stopped());
    this.#waiting = [];
    await this.#endMirror();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    this.#idle?.cancel();
    for (let next; (next = this.#waiting.shift()) !== undefined;) {
      this.#waitingBytes -= next.event.bytes.length;
      await this.#answer(next);
    }
    this.#isWorking = false;
    this.#idle = this.#options.clock.setTimer(() => void this.#endMirror(), IDLE_MS);
  }

  async #answer({ event, arrivedAt, resolve, reject }: Waiting): Promise<void> {
    try {
      if (this.#options.clock.monotonic() - arrivedAt > WAIT_MS_MAX) throw tooMany();
      resolve(await this.#matchUnchanged(event));
    } catch (error) {
      reject(error);
    }
  }

  async #matchUnchanged(event: LargeEvent): Promise<readonly MatchEntry[]> {
    const patterns = listPatternsFor(event.type);
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const answer = await this.#ask(patterns, event);
      if (this.#unchanged === null) continue;
      if ('fault' in answer) throw new Error(`matching a large event failed: ${answer.fault}`);
      if ('tooMuchWork' in answer) throw tooMuch();
      event.onLate();
      return answer.ids.map((id) => this.#subscriptions.get(id)!);
    }
    throw changing();
  }

  async #ask(patterns: readonly string[], event: LargeEvent) {
    const mirror = (this.#mirror ??= this.#startMirror());
    try {
      await mirror.include(patterns, this.#subscriptions.entries());
      this.#unchanged = new Set(patterns);
      return await mirror.ask(event);
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
