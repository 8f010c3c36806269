// A clock that stands still until a test moves it.
import type { Clock, Timer } from '../../src/runtime/clock.ts';

export class ManualClock implements Clock {
  /** Of every timer so far. */
  readonly delaysMs: number[] = [];
  #time = 0;
  /** Today: verifiers of signatures know no other. */
  readonly #startedAt = Date.now();
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  now(): number {
    return this.#startedAt + this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    this.delaysMs.push(delayMs);
    const timer = { at: this.#time + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  afterTurn(callback: () => void): void {
    queueMicrotask(callback);
  }

  /** Calls what is due on the way, in order. */
  advance(ms: number): void {
    const end = this.#time + ms;
    for (;;) {
      const next = [...this.#timers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#time = Math.max(this.#time, next.at);
      this.#timers.delete(next);
      next.callback();
    }
    this.#time = end;
  }

  get timerCount(): number {
    return this.#timers.size;
  }
}
