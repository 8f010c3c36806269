// How many reads are worked on at once, and begun in a turn. What a read will find is not known before: a thousand of
// them together may find more than there is memory for, and then it is too late to refuse them. Those that wait cost
// little.
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../runtime/clock.ts';

const READS_AT_ONCE = 32;

export class ReadsAtOnce {
  readonly #clock: Pick<Clock, 'afterTurn'>;
  readonly #working = new Set<ServerResponse>();
  readonly #waiting: { response: ServerResponse; begin: () => void }[] = [];
  #begunInTurn = 0;

  constructor(clock: Pick<Clock, 'afterTurn'>) {
    this.#clock = clock;
  }

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
    while (this.#waiting.length > 0 && this.#working.size < READS_AT_ONCE && this.#begunInTurn < READS_AT_ONCE) {
      const { response, begin } = this.#waiting.shift()!;
      if (response.closed || response.destroyed) continue;
      this.#working.add(response);
      this.#countInTurn();
      begin();
    }
  }

  /**
   * The store's thread finds answers while this thread writes earlier ones. If each answered read made way for the next
   * at once, thousands of reads would be answered in one turn of the event loop, and no other request in it.
   */
  #countInTurn(): void {
    if (this.#begunInTurn++ > 0) return;
    this.#clock.afterTurn(() => {
      this.#begunInTurn = 0;
      this.#go();
    });
  }
}
