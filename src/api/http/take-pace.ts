// Whether a caller takes the answers that wait for it. One that only drips must not hold memory for ever, and one on a
// slow line must get a long answer to its end: so what counts is how much was taken, not how long it took in all.
import type { Socket } from 'node:net';

/** In so long a caller takes at least so much of what waits for it, or all. */
type Limits = { withinMs: number; bytes: number };

/** About 70 kbit/s. */
const OF_ANSWERS: Limits = { withinMs: 30_000, bytes: 256 * 1024 };
/** An answer without end always waits: whoever reads any of it keeps its connection. */
export const OF_ENDLESS_ANSWERS: Limits = { withinMs: 60_000, bytes: 1 };

type Pace = 'nothing waits' | 'took enough' | 'may go on' | 'too slow';

export class TakePace {
  readonly #socket: Pick<Socket, 'writableLength' | 'bytesWritten'>;
  readonly #limits: Limits;
  /** Since when something has been waiting, or enough was last taken; monotonic. */
  #since: number | null = null;
  #takenBefore = 0;

  constructor(socket: Pick<Socket, 'writableLength' | 'bytesWritten'>, limits: Limits = OF_ANSWERS) {
    this.#socket = socket;
    this.#limits = limits;
  }

  /** To be asked again and again, at intervals well below the limit. */
  judge(now: number): Pace {
    const waiting = this.#socket.writableLength;
    const { withinMs, bytes } = this.#limits;
    if (waiting === 0) {
      this.#since = null;
      return 'nothing waits';
    }
    const taken = this.#socket.bytesWritten - waiting;
    if (this.#since === null || taken - this.#takenBefore >= bytes) {
      this.#since = now;
      this.#takenBefore = taken;
      return 'took enough';
    }
    return now - this.#since < withinMs ? 'may go on' : 'too slow';
  }
}
