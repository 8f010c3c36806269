// Whom to look at next, and when: a binary heap of destinations by time, with one timer for the earliest.
// Each item is in it once at most, so it is as large as there are destinations with work.
import type { Clock, Timer } from '../runtime/clock.ts';
import { NEVER } from './instant.ts';

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
