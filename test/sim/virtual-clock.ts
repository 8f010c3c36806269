// Time that passes only when it is told to: timers run in order, and everything that a timer set going is settled
// before the next one runs. So days pass in seconds, and the same seed always gives the same run.
import type { Clock, Timer } from '../../src/runtime/clock.ts';

/** 2026-01-01T00:00:00Z: where the wall clock starts. */
const START = Date.UTC(2026, 0, 1);

type Entry = { at: number; order: number; callback: (() => void) | null };

export class VirtualClock implements Clock {
  /** Timers that have run; a service with nothing to do should add hardly any. */
  fired = 0;
  #monotonic = 0;
  #offset = START;
  #latest = 0;
  #order = 0;
  /** A binary heap by (at, order). */
  readonly #entries: Entry[] = [];

  now(): number {
    return Math.floor(this.#offset + this.#monotonic);
  }

  monotonic(): number {
    return this.#monotonic;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    // As in Node no timer is shorter than 1 ms.
    const entry: Entry = { at: this.#monotonic + Math.max(1, delayMs), order: this.#order++, callback };
    this.#push(entry);
    return { cancel: () => (entry.callback = null) };
  }

  /** Nothing arrives from outside: a turn has no more than what is settled. */
  afterTurn(callback: () => void): void {
    queueMicrotask(callback);
  }

  /** The wall clock is set by an operator or NTP; the monotonic one does not notice. */
  setWallClock(byMs: number): void {
    this.#latest = this.latest();
    this.#offset += byMs;
  }

  /** The latest that the wall clock has ever shown: what was due then may still be going on. */
  latest(): number {
    return Math.max(this.#latest, this.now());
  }

  /** Lets time pass, with all that happens in it. */
  async run(durationMs: number): Promise<void> {
    const end = this.#monotonic + durationMs;
    await settle();
    while (await this.#step(end));
    this.#monotonic = end;
  }

  /** Runs until `isDone`, looking after every timer; false: it was not within `limitMs`. */
  async runUntil(isDone: () => boolean, limitMs: number): Promise<boolean> {
    const end = this.#monotonic + limitMs;
    await settle();
    while (!isDone()) {
      if (!(await this.#step(end))) return false;
    }
    return true;
  }

  /** Lets time pass until a promise is settled, and gives what it gives. */
  async runFor<T>(promise: Promise<T>, limitMs = 600_000): Promise<T> {
    let isSettled = false;
    const done = () => (isSettled = true);
    promise.then(done, done);
    if (!(await this.runUntil(() => isSettled, limitMs))) throw new Error(`not settled after ${limitMs} virtual ms`);
    return promise;
  }

  /** Runs the first timer, if it is due by `end`. */
  async #step(end: number): Promise<boolean> {
    while (this.#entries.length > 0 && this.#entries[0]!.callback === null) this.#pop();
    const next = this.#entries[0];
    if (next === undefined || next.at > end) return false;
    this.#pop();
    this.#monotonic = Math.max(this.#monotonic, next.at);
    this.fired++;
    next.callback!();
    await settle();
    return true;
  }

  #push(entry: Entry): void {
    const entries = this.#entries;
    let index = entries.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isEarlier(entry, entries[parent]!)) break;
      entries[index] = entries[parent]!;
      index = parent;
    }
    entries[index] = entry;
  }

  #pop(): void {
    const entries = this.#entries;
    const last = entries.pop()!;
    if (entries.length === 0) return;
    let index = 0;
    for (let child = 1; child < entries.length; child = 2 * index + 1) {
      if (child + 1 < entries.length && isEarlier(entries[child + 1]!, entries[child]!)) child++;
      if (!isEarlier(entries[child]!, last)) break;
      entries[index] = entries[child]!;
      index = child;
    }
    entries[index] = last;
  }
}

function isEarlier(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** A turn of the event loop: every promise that can settle has. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
