// A map for what comes and goes with every event. It is kept here because V8's own Map makes such work expensive: its
// table is replaced after every few additions, and the old one goes on pointing to the new one, for the sake of
// iterators. A table that has got into the old generation so keeps all its successors, and all that was in them when
// they were replaced, from minor collections: with them nearly every event's objects grow old, and only a full
// collection, which stops the service for milliseconds, frees them. And whatever text is looked up in V8's own Map or
// Set, an empty one included, is first entered among all texts of the process, where it stays as long.

/** An entry; in two lists: of its place in the table, and of all in the order they came. */
type Slot<Key, Value> = {
  readonly key: Key;
  /** null: deleted. What a deleted slot pointed to, it must not keep. */
  value: Value | null;
  next: Slot<Key, Value> | null;
  older: Slot<Key, Value> | null;
  newer: Slot<Key, Value> | null;
};

const PLACES_AT_FIRST = 8;
/** Random ones, where keys are ids; numbers are their own hash. */
const LAST_CHARACTERS = 6;

/** A hash table with chains, whose values keep the order in which their keys came. It never gets fewer places. */
export class LinkedMap<Key extends string | number, Value extends object> {
  #places = emptyPlaces<Key, Value>(PLACES_AT_FIRST);
  #oldest: Slot<Key, Value> | null = null;
  #newest: Slot<Key, Value> | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The value that came first. */
  oldest(): Value | null {
    return this.#oldest?.value ?? null;
  }

  values(): Value[] {
    const values: Value[] = [];
    for (let slot = this.#oldest; slot !== null; slot = slot.newer) values.push(slot.value!);
    return values;
  }

  has(key: Key): boolean {
    return this.#find(key) !== null;
  }

  get(key: Key): Value | undefined {
    return this.#find(key)?.value ?? undefined;
  }

  /** A key that is there keeps its place in the order. */
  set(key: Key, value: Value): void {
    const found = this.#find(key);
    if (found !== null) found.value = value;
    else this.#add(key, value);
  }

  /** False: it was not there. */
  delete(key: Key): boolean {
    const slot = this.#find(key);
    if (slot === null) return false;
    this.#leavePlace(slot);
    if (slot.older === null) this.#oldest = slot.newer;
    else slot.older.newer = slot.newer;
    if (slot.newer === null) this.#newest = slot.older;
    else slot.newer.older = slot.older;
    this.#size--;
    slot.value = slot.next = slot.older = slot.newer = null;
    return true;
  }

  #find(key: Key): Slot<Key, Value> | null {
    let slot = this.#places[this.#placeOf(key)]!;
    while (slot !== null && slot.key !== key) slot = slot.next!;
    return slot;
  }

  #add(key: Key, value: Value): void {
    if (this.#size === this.#places.length) this.#grow();
    const slot: Slot<Key, Value> = { key, value, next: null, older: this.#newest, newer: null };
    if (this.#newest === null) this.#oldest = slot;
    else this.#newest.newer = slot;
    this.#newest = slot;
    this.#enterPlace(slot);
    this.#size++;
  }

  #grow(): void {
    this.#places = emptyPlaces(this.#places.length * 2);
    for (let slot = this.#oldest; slot !== null; slot = slot.newer) this.#enterPlace(slot);
  }

  #enterPlace(slot: Slot<Key, Value>): void {
    const place = this.#placeOf(slot.key);
    slot.next = this.#places[place]!;
    this.#places[place] = slot;
  }

  #leavePlace(slot: Slot<Key, Value>): void {
    const place = this.#placeOf(slot.key);
    const first = this.#places[place]!;
    if (first === slot) {
      this.#places[place] = slot.next;
      return;
    }
    let before = first;
    while (before.next !== slot) before = before.next!;
    before.next = slot.next;
  }

  #placeOf(key: Key): number {
    return hashOf(key) & (this.#places.length - 1);
  }
}

/** `count`: a power of two. */
function emptyPlaces<Key, Value>(count: number): (Slot<Key, Value> | null)[] {
  return Array.from({ length: count }, () => null);
}

function hashOf(key: string | number): number {
  if (typeof key === 'number') return key;
  let hash = 0;
  for (let i = Math.max(0, key.length - LAST_CHARACTERS); i < key.length; i++) {
    hash = (hash * 31 + key.charCodeAt(i)) | 0;
  }
  return hash;
}
