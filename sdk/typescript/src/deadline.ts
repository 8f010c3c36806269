// How long a call may take in all, waits between its tries included, and the caller's own signal: whichever is first.
import { TimeoutError } from './errors.ts';

/** Of every call: `timeoutMs` is for all of it, retries and waits included; above 0, and 24 days at most. */
export type CallOptions = { signal?: AbortSignal | undefined; timeoutMs?: number | undefined };

/** What a platform's timer can count; after more it would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Throws TypeError for what is no number above 0. */
export function boundTimeout(timeoutMs: number): number {
  if (typeof timeoutMs === 'number' && timeoutMs > 0) return Math.min(timeoutMs, TIMER_MS_MAX);
  throw new TypeError('timeoutMs is a number of milliseconds above 0');
}

export class Deadline {
  readonly #beginsAt = performance.now();
  readonly #endsAt: number;
  readonly #signal: AbortSignal | undefined;

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    this.#endsAt = this.#beginsAt + timeoutMs;
    this.#signal = signal;
  }

  get remainingMs(): number {
    return Math.max(0, this.#endsAt - performance.now());
  }

  get elapsedMs(): number {
    return performance.now() - this.#beginsAt;
  }

  /** Throws what the caller aborted with, if it did. */
  throwIfAborted(): void {
    this.#signal?.throwIfAborted();
  }

  /** Runs it with a signal that aborts when the caller does, or after so long: then it throws TimeoutError. */
  async within<T>(milliseconds: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limitMs = Math.min(milliseconds, this.remainingMs);
    const timer = new AbortController();
    const timeout = setTimeout(() => timer.abort(), limitMs);
    try {
      return await work(this.#signal === undefined ? timer.signal : AbortSignal.any([this.#signal, timer.signal]));
    } catch (error) {
      this.throwIfAborted();
      if (!timer.signal.aborted) throw error;
      throw new TimeoutError(`no answer within ${inWords(limitMs)}`, { cause: error });
    } finally {
      clearTimeout(timeout);
    }
  }

  wait(milliseconds: number): Promise<void> {
    return sleep(milliseconds, this.#signal);
  }
}

/** As people say it: `300 ms`, `60 s`. */
export function inWords(milliseconds: number): string {
  return milliseconds < 10_000 ? `${Math.round(milliseconds)} ms` : `${Math.round(milliseconds / 1_000)} s`;
}

/** Rejects with the signal's reason as soon as it aborts. */
export function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = (): void => {
      clearTimeout(timeout);
      reject(signal?.reason as Error);
    };
    const end = (): void => {
      signal?.removeEventListener('abort', stop);
      resolve();
    };
    const timeout = setTimeout(end, Math.min(milliseconds, TIMER_MS_MAX));
    signal?.addEventListener('abort', stop, { once: true });
  });
}
