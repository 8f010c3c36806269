// The matcher of the service: the event loop belongs to everybody, so matching may take only a little of it. An event
// that takes more is matched on a thread of its environment's own; many that take little wait for the next turn.
import type { SubscriptionId } from '../model/id.ts';
import { IndexedMatcher } from './indexed.ts';
import { LargeEvents, type LargeEventsOptions } from './apart/large-events.ts';
import { EVERYTHING, TooMuchWork, Work, type MatchBody, type MatchEntry, type MatchScope } from './matcher.ts';

/** Of one event on the event loop: 2 ms; 13 to 20 on a busy core, the parsing of 256 KiB included. */
const EVENT_STEPS_MAX = 200_000;
/** In one turn of the event loop, after which no further event of the environment is begun in it. */
const TURN_STEPS_MAX = 200_000;
const BYTES_PARSED_PER_STEP = 4;
/** Turns are told apart only when they cost something. */
const STEPS_NOT_COUNTED = 20_000;

type Found = readonly MatchEntry[] | Promise<readonly MatchEntry[]>;

/** The subscriptions of one environment. */
export type Matcher = Omit<BoundedMatcher, 'close'>;

export type Matching = ReturnType<typeof createMatching>;

export function createMatching(options: LargeEventsOptions) {
  const matchers: BoundedMatcher[] = [];
  return {
    /** For one environment; it lives until `close`. */
    createMatcher: (): Matcher => {
      const matcher = new BoundedMatcher(options);
      matchers.push(matcher);
      return matcher;
    },
    async close(): Promise<void> {
      await Promise.all(matchers.map((matcher) => matcher.close()));
    },
  };
}

export class BoundedMatcher {
  readonly #options: LargeEventsOptions;
  readonly #indexed = new IndexedMatcher();
  readonly #largeEvents: LargeEvents;
  #turnSteps = 0;
  #isTurnEnding = false;
  /** Begun in the next turns, in the order of the calls. */
  readonly #waiting: (() => void)[] = [];

  constructor(options: LargeEventsOptions) {
    this.#options = options;
    this.#largeEvents = new LargeEvents(this.#indexed, options);
  }

  /** Adds a subscription, or replaces the one with its id. */
  add(entry: MatchEntry): void {
    this.remove(entry.id);
    this.#indexed.add(entry);
    this.#largeEvents.added(entry);
  }

  /** Removes a subscription and returns it; undefined: it is not here. */
  remove(id: SubscriptionId): MatchEntry | undefined {
    const removed = this.#indexed.remove(id);
    if (removed !== undefined) this.#largeEvents.removed(removed);
    return removed;
  }

  /**
   * The subscriptions that an event goes to, by id ascending. The body is parsed at most once, and only if some filter
   * needs it. An array holds for the moment of the call; what a promise brings, for the moment when `onLate` is called,
   * just before. It may reject with ApiError `unavailable`.
   */
  match(type: string, body: MatchBody, scope: MatchScope = EVERYTHING, onLate = (): void => {}): Found {
    const matchNow = (): Found => this.#matchNow(type, body, scope, onLate);
    if (this.#waiting.length === 0 && this.#turnSteps < TURN_STEPS_MAX) return matchNow();
    // Runs in its turn, up to the first promise.
    const matchLater = async (): Promise<readonly MatchEntry[]> => {
      const found = matchNow();
      if (!(found instanceof Promise)) onLate();
      return found;
    };
    return new Promise((resolve) => this.#waiting.push(() => resolve(matchLater())));
  }

  /**
   * The JSON of the answer to `POST /v1/explain`. Costs the event loop nothing; rejects with ApiError `rate_limited` or
   * `unavailable`, also where it would take too long.
   */
  explain(type: string, bytes: Uint8Array): Promise<Uint8Array> {
    return this.#largeEvents.explain({ type, bytes });
  }

  close(): Promise<void> {
    return this.#largeEvents.close();
  }

  #matchNow(type: string, body: MatchBody, scope: MatchScope, onLate: () => void): Found {
    const work = new Work(EVENT_STEPS_MAX);
    const parse = (): unknown => {
      work.spend(body.bytes.length / BYTES_PARSED_PER_STEP);
      return body.parse();
    };
    try {
      return this.#indexed.match(work, type, { parse }, scope);
    } catch (error) {
      if (!(error instanceof TooMuchWork)) throw error;
      return this.#largeEvents.match({ type, bytes: body.bytes, scope, onLate });
    } finally {
      this.#turnSteps += work.spent;
      if (this.#turnSteps > STEPS_NOT_COUNTED) this.#endTurn();
    }
  }

  #endTurn(): void {
    if (this.#isTurnEnding) return;
    this.#isTurnEnding = true;
    this.#options.clock.afterTurn(() => {
      this.#isTurnEnding = false;
      this.#turnSteps = 0;
      while (this.#turnSteps < TURN_STEPS_MAX) {
        const begin = this.#waiting.shift();
        if (begin === undefined) return;
        begin();
      }
    });
  }
}
