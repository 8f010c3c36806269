// Who may start the next attempt: how many may be under way over all destinations (Slots), whose turn it is of those
// that are ready (ReadyQueues: max-min fairness, the destination with the fewest attempts on the wire comes first), and
// when to look at the others again (WakeHeap).
//
// Slots are scarce when more than half are taken. Then a destination gets no more of them than it has earned by answers
// (in-flight.ts), and of those that have failed since their last success and answer nothing all together get an eighth.
// Newcomers, of which nothing is known, get one each while there is room for these probes beside them. Neither get the
// last sixteenth: however many receivers hang, known or not, those that have answered find slots.
//
// Test mode must not hold up live events, whatever its receivers do: they may hang just after they have answered, too.
// So its destinations never have more than three quarters of the slots together, and their shares are parts of those.
import assert from 'node:assert/strict';
import type { Mode } from '../model/api-key.ts';
import { NEVER, type Clock, type Timer } from '../runtime/clock.ts';

const PLENTIFUL_PART = 1 / 2;
const PROBES_PART = 1 / 8;
const UNEARNED_PART = 15 / 16;
const TEST_PART = 3 / 4;
/** Results that wait to be stored count too: what we learn must not pile up in memory. */
const UNSETTLED_PER_SLOT = 2;

/**
 * What a destination may have of scarce slots. `earner`: the next one, by what it has answered; `newcomer`: its first
 * one, as nothing is known of it; `prober`: one only to find out whether it answers again; `other`: none.
 */
export type Standing = 'earner' | 'newcomer' | 'prober' | 'other';

/** A destination, as it is when it starts an attempt. */
export type Taker = { readonly mode: Mode; readonly standing: Standing };

export class Slots {
  readonly #max: number;
  #onWire = 0;
  readonly #of: Record<Mode, ModeSlots>;
  #unsettled = 0;
  #onWireFree: (() => void) | null = null;

  constructor(max: number) {
    this.#max = max;
    this.#of = { live: new ModeSlots(max), test: new ModeSlots(Math.floor(max * TEST_PART)) };
  }

  get onWire(): number {
    return this.#onWire;
  }

  isFree(): boolean {
    return this.#onWire < this.#max && this.#unsettled < UNSETTLED_PER_SLOT * this.#max;
  }

  /** Whether the next may be had by such a destination. */
  areFor({ mode, standing }: Taker): boolean {
    const { onWire, onWireAs, max } = this.#of[mode];
    if (onWire >= max) return false;
    if (standing === 'earner' || this.#onWire < this.#max * PLENTIFUL_PART) return true;
    const left = max * UNEARNED_PART - this.#unearned();
    // Newcomers leave room for the probes: those would have what is kept for earners otherwise.
    if (standing === 'newcomer') return left > Math.max(0, max * PROBES_PART - onWireAs.prober);
    return standing === 'prober' && onWireAs.prober < Math.max(1, max * PROBES_PART) && left > 0;
  }

  /** The mode that has fewer: of equal destinations, one of that mode comes first. */
  modeWithFewer(): Mode {
    return this.#of.test.onWire < this.#of.live.onWire ? 'test' : 'live';
  }

  take({ mode, standing }: Taker): void {
    assert(this.isFree(), 'an attempt has started without a free slot');
    this.#onWire++;
    this.#unsettled++;
    this.#of[mode].add(standing, 1);
  }

  /** The request has ended; its result is still to be stored. */
  leaveWire({ mode, standing }: Taker): void {
    assert(this.#onWire > 0, 'more requests have ended than were started');
    this.#onWire--;
    this.#of[mode].add(standing, -1);
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

  #unearned(): number {
    return this.#onWire - this.#of.live.onWireAs.earner - this.#of.test.onWireAs.earner;
  }
}

class ModeSlots {
  readonly max: number;
  onWire = 0;
  /** By what they had been started as. */
  readonly onWireAs: Record<Standing, number> = { earner: 0, newcomer: 0, prober: 0, other: 0 };

  constructor(max: number) {
    this.max = max;
  }

  add(standing: Standing, count: 1 | -1): void {
    this.onWire += count;
    this.onWireAs[standing] += count;
  }
}

export type ReadyPlace<Item> = {
  /** Among whom it is, and which bucket of theirs holds it; null and -1: it is not ready. Set only here. */
  readyAmong: Standing | null;
  readyBucket: number;
  /** Its neighbours in that bucket. */
  readyBefore: Item | null;
  readyAfter: Item | null;
};

type ReadyItem<Item> = {
  readonly mode: Mode;
  readonly place: ReadyPlace<Item>;
  /** How many attempts are on its wire. */
  readonly inFlight: { readonly count: number };
};

export type SharedSlots = Pick<Slots, 'areFor' | 'modeWithFewer'>;

/** Of the destinations that could start an attempt now, the one with the fewest on the wire. */
export class ReadyQueues<T extends ReadyItem<T>> {
  readonly #of: Record<Mode, Record<Standing, Buckets<T>>> = { live: createQueues(), test: createQueues() };

  /** Puts an item where its count says, or (null) takes it out. */
  update(item: T, among: ReadyPlace<T>['readyAmong']): void {
    const { place, mode } = item;
    const bucket = among === null ? -1 : item.inFlight.count;
    if (among === place.readyAmong && bucket === place.readyBucket) return;
    if (place.readyAmong !== null) this.#of[mode][place.readyAmong].delete(item, place.readyBucket);
    if (among !== null) this.#of[mode][among].add(item, bucket);
    place.readyAmong = among;
    place.readyBucket = bucket;
  }

  /** The next in turn; it stays until `update` moves it. A newcomer and a prober have nothing on the wire. */
  first(slots: SharedSlots): T | null {
    // By the end of its request it is no newcomer any more.
    const newcomer = this.#firstAmong('newcomer', slots);
    if (newcomer !== null) return newcomer;
    const earner = this.#firstAmong('earner', slots);
    if (earner?.inFlight.count === 0) return earner;
    return this.#firstAmong('prober', slots) ?? earner ?? this.#firstAmong('other', slots);
  }

  #firstAmong(standing: Standing, slots: SharedSlots): T | null {
    const live = this.#firstOf({ mode: 'live', standing }, slots);
    const test = this.#firstOf({ mode: 'test', standing }, slots);
    if (live === null || test === null) return live ?? test;
    const difference = live.inFlight.count - test.inFlight.count;
    if (difference === 0) return slots.modeWithFewer() === 'live' ? live : test;
    return difference < 0 ? live : test;
  }

  #firstOf(taker: Taker, slots: SharedSlots): T | null {
    const first = this.#of[taker.mode][taker.standing].first();
    return first !== null && slots.areFor(taker) ? first : null;
  }
}

function createQueues<T extends ReadyItem<T>>(): Record<Standing, Buckets<T>> {
  return { earner: new Buckets(), newcomer: new Buckets(), prober: new Buckets(), other: new Buckets() };
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

// Whom to look at next, and when: a binary heap of destinations by time, with one timer for the earliest.
// Each item is in it once at most, so it is as large as there are destinations with work.

export type HeapPlace = {
  /** Monotonic ms at which to be looked at; Infinity: not by time. Set only by the heap, like the index. */
  wakeAt: number;
  /** -1: not in the heap. */
  heapIndex: number;
};

export class WakeHeap<T extends { readonly place: HeapPlace }> {
  readonly #items: T[] = [];
  #timer: Timer | null = null;
  #timerAt = NEVER;
  #isStopped = false;
  readonly #clock: Clock;
  readonly #onDue: (items: T[]) => void;

  constructor(clock: Clock, onDue: (items: T[]) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Sets when `item` is looked at next, in place of any earlier call; Infinity: never by time. */
  schedule(item: T, at: number): void {
    if (item.place.wakeAt === at || this.#isStopped) return;
    item.place.wakeAt = at;
    if (at === NEVER) return this.#remove(item);
    if (item.place.heapIndex < 0) item.place.heapIndex = this.#items.push(item) - 1;
    this.#siftDown(this.#siftUp(item.place.heapIndex));
    this.#arm();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #arm(): void {
    const firstAt = this.#items[0]?.place.wakeAt ?? NEVER;
    // A timer that is too early finds nothing due and is set again: cheaper than moving it every time.
    if (firstAt >= this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = firstAt;
    this.#timer = this.#clock.setTimer(() => this.#fire(), Math.ceil(firstAt - this.#clock.monotonic()));
  }

  #fire(): void {
    this.#timer = null;
    this.#timerAt = NEVER;
    const now = this.#clock.monotonic();
    const due: T[] = [];
    for (let first = this.#items[0]; first !== undefined && first.place.wakeAt <= now; first = this.#items[0]) {
      first.place.wakeAt = NEVER;
      this.#remove(first);
      due.push(first);
    }
    if (due.length > 0) this.#onDue(due);
    this.#arm();
  }

  #remove(item: T): void {
    const index = item.place.heapIndex;
    if (index < 0) return;
    item.place.heapIndex = -1;
    const last = this.#items.pop()!;
    if (last === item) return;
    this.#place(last, index);
    this.#siftDown(this.#siftUp(index));
  }

  #siftUp(start: number): number {
    const item = this.#items[start]!;
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#items[parent]!.place.wakeAt <= item.place.wakeAt) break;
      this.#place(this.#items[parent]!, index);
      index = parent;
    }
    this.#place(item, index);
    return index;
  }

  #siftDown(start: number): void {
    const items = this.#items;
    const item = items[start]!;
    let index = start;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && items[child + 1]!.place.wakeAt < items[child]!.place.wakeAt) child++;
      if (items[child]!.place.wakeAt >= item.place.wakeAt) break;
      this.#place(items[child]!, index);
      index = child;
    }
    this.#place(item, index);
  }

  #place(item: T, index: number): void {
    this.#items[index] = item;
    item.place.heapIndex = index;
  }
}
