// How many reads are worked on at once. What a read will find is not known before: a thousand of them together may find
// more than there is memory for, and then it is too late to refuse them. Those that wait cost little.
import type { ServerResponse } from 'node:http';

const READS_AT_ONCE = 32;

export class ReadsAtOnce {
  readonly #working = new Set<ServerResponse>();
  readonly #waiting: { response: ServerResponse; begin: () => void }[] = [];

  /** Calls `begin` when it is this request's turn. A caller that has left by then gets none. */
  enter(response: ServerResponse, begin: () => void): void {
    response.once('close', () => this.leave(response));
    this.#waiting.push({ response, begin });
    this.#go();
  }

  /** The answer is known. */
  leave(response: ServerResponse): void {
    if (this.#working.delete(response)) this.#go();
  }

  #go(): void {
    while (this.#working.size < READS_AT_ONCE && this.#waiting.length > 0) {
      const { response, begin } = this.#waiting.shift()!;
      if (response.closed || response.destroyed) continue;
      this.#working.add(response);
      begin();
    }
  }
}
