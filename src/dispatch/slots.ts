// Who may start the next attempt: how many may be under way over all destinations (Slots), and whose turn it is
// (ReadyQueues: max-min fairness, the destination with the fewest attempts on the wire comes first).
//
// Slots are scarce when more than half are taken. Then a destination gets no more of them than it has earned by answers
// (window.ts): however many receivers hang, those that answer find slots, and so do newcomers.
import assert from 'node:assert/strict';

const PLENTIFUL_PART = 1 / 2;
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

  areScarce(): boolean {
    return this.#onWire >= this.#max * PLENTIFUL_PART;
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

export type ReadyPlace<Item> = {
  /** Among whom it is, and which bucket of theirs holds it; null and -1: it is not ready. Set only here. */
  readyAmong: 'earners' | 'others' | null;
  readyBucket: number;
  /** Its neighbours in that bucket. */
  readyBefore: Item | null;
  readyAfter: Item | null;
};

type ReadyItem<Item> = {
  readonly place: ReadyPlace<Item>;
  /** How many attempts are on its wire. */
  readonly inFlight: { readonly count: number };
};

/** Of the destinations that could start an attempt now, the one with the fewest on the wire. */
export class ReadyQueues<T extends ReadyItem<T>> {
  /** The next start of `earners` keeps to what they have earned. */
  readonly #among = { earners: new Buckets<T>(), others: new Buckets<T>() };

  /** Puts an item where its count says, or (null) takes it out. */
  update(item: T, among: ReadyPlace<T>['readyAmong']): void {
    const { place } = item;
    const bucket = among === null ? -1 : item.inFlight.count;
    if (among === place.readyAmong && bucket === place.readyBucket) return;
    if (place.readyAmong !== null) this.#among[place.readyAmong].delete(item, place.readyBucket);
    if (among !== null) this.#among[among].add(item, bucket);
    place.readyAmong = among;
    place.readyBucket = bucket;
  }

  /** The next in turn; it stays until `update` moves it. `areScarce`: slots are for those who have earned them. */
  first(areScarce: boolean): T | null {
    return this.#among.earners.first() ?? (areScarce ? null : this.#among.others.first());
  }
}

/**
 * One list for each number of attempts on the wire; whoever comes goes to its end, so equals take turns. Lists of the
 * items themselves: every start and every answer moves one, and a Set that has one item now and then makes a table anew
 * each time, each of which keeps alive what comes after it.
 */
class Buckets<T extends ReadyItem<T>> {
  readonly #buckets: { first: T | null; last: T | null }[] = [];
  #lowest = 0;

  delete({ place }: T, at: number): void {
    const bucket = this.#buckets[at]!;
    const { readyBefore: before, readyAfter: after } = place;
    if (before === null) bucket.first = after;
    else before.place.readyAfter = after;
    if (after === null) bucket.last = before;
    else after.place.readyBefore = before;
    place.readyBefore = null;
    place.readyAfter = null;
  }

  add(item: T, at: number): void {
    while (this.#buckets.length <= at) this.#buckets.push({ first: null, last: null });
    const bucket = this.#buckets[at]!;
    item.place.readyBefore = bucket.last;
    if (bucket.last === null) bucket.first = item;
    else bucket.last.place.readyAfter = item;
    bucket.last = item;
    this.#lowest = Math.min(this.#lowest, at);
  }

  first(): T | null {
    for (; this.#lowest < this.#buckets.length; this.#lowest++) {
      const { first } = this.#buckets[this.#lowest]!;
      if (first !== null) return first;
    }
    this.#lowest = 0;
    return null;
  }
}
