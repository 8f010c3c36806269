// What matching is about, and what it may cost. indexed.ts finds the subscriptions that want an event, fast;
// bounded.ts, the service's, lets it do on a thread what would hold up the event loop; test/match/linear.ts is
// obviously right, and tests hold the others to it.
import type { DestinationId, SubscriptionId } from '../model/id.ts';
import type { Filter } from './filter/filter.ts';

/** A subscription, as far as matching knows it. */
export type MatchEntry = {
  readonly id: SubscriptionId;
  readonly destinationId: DestinationId;
  /** An event type or a pattern, well-formed. */
  readonly pattern: string;
  /** Null: every body. */
  readonly filter: Filter | null;
};

export type MatchBody = {
  /** As posted: JSON, an object. */
  readonly bytes: Uint8Array;
  /** The value as parseBody reads it. */
  parse(): unknown;
};

export type MatchScope = {
  /** Where there are more than this, one more is found: nobody wants them all, and memory must hold what is found. */
  max: number;
  /** Only subscriptions of these destinations; absent: of all. */
  destinationIds?: ReadonlySet<string> | undefined;
};

export const EVERYTHING: MatchScope = { max: Number.POSITIVE_INFINITY };

/** A function that calls another once, when its result is first wanted. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

/** Sorts in place. */
export function sortById(entries: MatchEntry[]): MatchEntry[] {
  return entries.sort((a, b) => (a.id < b.id ? -1 : 1));
}

// What matching an event costs, counted while it goes on: nobody can tell beforehand what filters that callers wrote
// make of a body that callers wrote, and the event loop belongs to everybody.

/** Thrown in the middle of matching when it takes more than it may. */
export class TooMuchWork extends Error {}

/** A number of steps that may be spent. A step is the look at one value: some 10 ns, 50 at worst. */
export class Work {
  readonly #stepsMax: number;
  #left: number;

  constructor(stepsMax: number) {
    this.#stepsMax = stepsMax;
    this.#left = stepsMax;
  }

  get spent(): number {
    return this.#stepsMax - this.#left;
  }

  /** Throws TooMuchWork when there are not so many left. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooMuchWork('matching takes more steps than it may');
  }
}
