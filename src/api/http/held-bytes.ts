// One budget for all that connections make us hold: bodies being received, bytes that wait to be parsed, answers that
// wait to be read. When it is used up, who has made us wait longest for the most makes room, and who asks is refused.
import type { Clock } from '../../runtime/clock.ts';

/** What is held for one connection. */
export interface Holder {
  held: number;
  /** When `held` rose from 0, or a caller that is slow last kept up; monotonic. */
  heldSince: number;
  /** Whether it is the caller that is waited for: to go on sending, or to read. */
  isWaitingForCaller(): boolean;
  /** Gives up what is held, at once. */
  yieldRoom(): void;
}

/** Who has been waited for less than this makes no room: a burst ends in refusals, not in cut connections. */
const PATIENCE_MS = 1_000;

export class HeldBytes {
  #held = 0;
  readonly #budget: number;
  readonly #clock: Clock;
  readonly #holders: () => Iterable<Holder>;

  constructor(options: { bytesBudget: number; clock: Clock; holders: () => Iterable<Holder> }) {
    this.#budget = options.bytesBudget;
    this.#clock = options.clock;
    this.#holders = options.holders;
  }

  get isOver(): boolean {
    return this.#held > this.#budget;
  }

  /** Counts bytes that are held already. False: they are too many, and could not be made room for. */
  hold(holder: Holder, bytes: number): boolean {
    if (holder.held === 0) holder.heldSince = this.#clock.monotonic();
    holder.held += bytes;
    this.#held += bytes;
    if (this.isOver && bytes > 0) this.#makeRoom();
    return !this.isOver;
  }

  release(holder: Holder, bytes: number): void {
    holder.held -= bytes;
    this.#held -= bytes;
  }

  #makeRoom(): void {
    const now = this.#clock.monotonic();
    const costOf = ({ held, heldSince }: Holder): number => held * (now - heldSince);
    const candidates = [...this.#holders()]
      .filter((holder) => now - holder.heldSince >= PATIENCE_MS && holder.held > 0 && holder.isWaitingForCaller())
      .sort((a, b) => costOf(a) - costOf(b));
    while (this.isOver && candidates.length > 0) candidates.pop()!.yieldRoom();
  }
}
