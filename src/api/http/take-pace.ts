// Whether a caller takes the answers that wait for it. One that only drips must not hold memory for ever, and one on a
// slow line must get a long answer to its end: so what counts is how much was taken, not how long it took in all.
import type { Socket } from 'node:net';

/** In so long ... */
const TAKE_WITHIN_MS = 30_000;
/** ... a caller takes at least this much of what waits for it, or all. About 70 kbit/s. */
const TAKE_BYTES = 256 * 1024;

type Pace = 'nothing waits' | 'took enough' | 'may go on' | 'too slow';

export class TakePace {
  readonly #socket: Pick<Socket, 'writableLength' | 'bytesWritten'>;
  /** Since when something has been waiting, or enough was last taken; monotonic. */
  #since: number | null = null;
  #takenBefore = 0;

  constructor(socket: Pick<Socket, 'writableLength' | 'bytesWritten'>) {
    this.#socket = socket;
  }

  /** To be asked again and again, at intervals well below `TAKE_WITHIN_MS`. */
  judge(now: number): Pace {
    const waiting = this.#socket.writableLength;
    if (waiting === 0) {
      this.#since = null;
      return 'nothing waits';
    }
    const taken = this.#socket.bytesWritten - waiting;
    if (this.#since === null || taken - this.#takenBefore >= TAKE_BYTES) {
      this.#since = now;
      this.#takenBefore = taken;
      return 'took enough';
    }
    return now - this.#since < TAKE_WITHIN_MS ? 'may go on' : 'too slow';
  }
}
