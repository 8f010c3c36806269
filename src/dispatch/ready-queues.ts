// Max-min fairness: of the destinations that could start an attempt now, the one with the fewest on the wire.

export type ReadyPlace = {
  /** Which bucket holds it; -1: none. Set only here. */
  readyBucket: number;
};

type ReadyItem = {
  readonly place: ReadyPlace;
  /** How many attempts are on its wire. */
  readonly inFlight: { readonly count: number };
};

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
