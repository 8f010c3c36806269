// How many attempts a destination has shown that it can have on the wire at once, earned as a TCP sender's window is
// (RFC 5681, 3.1): a few at first; one more with each answer while more are wanted, which doubles it in the time that
// an answer takes; forgotten when it was not used. So a receiver that takes requests and never answers holds a few
// slots, whatever its `max_in_flight` is.

/** What may be on the wire before anything was answered. */
const FIRST = 20;
/** What was in use so long ago, or up to twice as long, still counts. */
const REMEMBERED_MS = 1_000;

export class Window {
  /** The most that were on the wire when an answer came: in this stretch of time, and in the one before. */
  #peak = 0;
  #peakBefore = 0;
  #beganAt = 0;

  /** A request was answered. `count`: with it so many were on the wire. `isWanted`: more deliveries wait. */
  noteAnswer(count: number, isWanted: boolean, monotonic: number): void {
    const earned = this.earned(monotonic);
    const isFull = isWanted && 2 * count > earned;
    this.#peak = Math.max(this.#peak, count, isFull ? earned + 1 : 0);
  }

  /** What it may have of slots that are scarce: at least one. */
  earned(monotonic: number): number {
    this.#turn(monotonic);
    return Math.max(1, this.#peak, this.#peakBefore);
  }

  /** What it may have while there are slots for everybody. */
  size(monotonic: number): number {
    return Math.max(FIRST, this.earned(monotonic));
  }

  #turn(monotonic: number): void {
    const passed = monotonic - this.#beganAt;
    if (passed < REMEMBERED_MS) return;
    this.#peakBefore = passed < 2 * REMEMBERED_MS ? this.#peak : 0;
    this.#peak = 0;
    this.#beganAt = monotonic;
  }
}
