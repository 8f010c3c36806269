// How an attempt on the wire is stopped from outside.

/** What an attempt sees of it; an AbortSignal has the same. */
export type Abort = Omit<Aborter, 'abort'>;

/** An AbortController and its signal in one, at a tenth of the cost: every attempt needs one, hardly any uses it. */
export class Aborter {
  aborted = false;
  #listeners: (() => void)[] = [];

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const index = this.#listeners.indexOf(listener);
    if (index >= 0) this.#listeners.splice(index, 1);
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
