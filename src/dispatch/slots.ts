// Who may start the next attempt: how many may be under way over all destinations (Slots), and whose turn it is
// (ReadyQueues: max-min fairness, the destination with the fewest attempts on the wire comes first).
import assert from 'node:assert/strict';

/** The last quarter of the slots is for destinations that have hardly anything on the wire. */
const SHARED_PART = 3 / 4;
const SCARCE_IN_FLIGHT_MAX = 2;
/** Results that wait to be stored count too: what we learn must not pile up in memory. */
const UNSETTLED_PER_SLOT = 2;

export class Slots {
  readonly #max: number;
  #onWire = 0;
  #unsettled = 0;
  #onWireFree: (() => void) | null = null;

  constructor(max: number) {
    this.#max = max;
  }

  get onWire(): number {
    return this.#onWire;
  }

  isFree(): boolean {
    return this.#onWire < this.#max && this.#unsettled < UNSETTLED_PER_SLOT * this.#max;
  }

  /** `inFlightCount`: what the destination that would take a slot has on the wire. */
  mayTake(inFlightCount: number): boolean {
    return this.#onWire < this.#max * SHARED_PART || inFlightCount <= SCARCE_IN_FLIGHT_MAX;
  }

  take(): void {
    assert(this.isFree(), 'an attempt has started without a free slot');
    this.#onWire++;
    this.#unsettled++;
  }

  /** The request has ended; its result is still to be stored. */
  leaveWire(): void {
    assert(this.#onWire > 0, 'more requests have ended than were started');
    this.#onWire--;
    if (this.#onWire === 0) this.#onWireFree?.();
  }

  settle(): void {
    assert(this.#unsettled > this.#onWire, 'an attempt was settled before it had left the wire');
    this.#unsettled--;
  }

  /** Resolves when nothing is on the wire any more. To be called once, when nothing more is started. */
  wireFree(): Promise<void> {
    if (this.#onWire === 0) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onWireFree = resolve;
    return promise;
  }
}

export type ReadyPlace = {
  /** Which bucket holds it; -1: none. Set only here. */
  readyBucket: number;
};

type ReadyItem = {
  readonly place: ReadyPlace;
  /** How many attempts are on its wire. */
  readonly inFlight: { readonly count: number };
};

/** Of the destinations that could start an attempt now, the one with the fewest on the wire. */
export class ReadyQueues<T extends ReadyItem> {
  // One set for each number of attempts on the wire. A Set keeps insertion order, so equals take turns.
  readonly #buckets: Set<T>[] = [];
  #lowest = 0;

  /** Puts an item where its count says, or takes it out. */
  update(item: T, isReady: boolean): void {
    const bucket = isReady ? item.inFlight.count : -1;
    if (bucket === item.place.readyBucket) return;
    if (item.place.readyBucket >= 0) this.#buckets[item.place.readyBucket]!.delete(item);
    item.place.readyBucket = bucket;
    if (bucket < 0) return;
    while (this.#buckets.length <= bucket) this.#buckets.push(new Set());
    this.#buckets[bucket]!.add(item);
    this.#lowest = Math.min(this.#lowest, bucket);
  }

  /** The next in turn, and how many it has on the wire; it stays until `update` moves it. */
  first(): T | null {
    for (; this.#lowest < this.#buckets.length; this.#lowest++) {
      for (const item of this.#buckets[this.#lowest]!) return item;
    }
    this.#lowest = 0;
    return null;
  }
}
