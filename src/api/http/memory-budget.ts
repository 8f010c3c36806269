// One budget for all that connections make the service keep in memory: bodies being received, bytes that wait to be
// parsed, answers that wait to be read. When the budget is used up, the connection that has been waited for longest
// with the most gives way, and new requests are refused.
import type { Clock } from '../../runtime/clock.ts';

/** A connection, as far as the budget knows it. */
export interface MemoryUser {
  charged: number;
  /** When `charged` rose from 0, or a caller that is slow last kept up; monotonic. */
  chargedSince: number;
  /** Whether it is the caller that is waited for: to go on sending, or to read. */
  isWaitingForCaller(): boolean;
  /** Frees at once what is charged to it. */
  yieldRoom(): void;
}

/** Who has been waited for less than this makes no room: a burst ends in refusals, not in cut connections. */
const PATIENCE_MS = 1_000;

export class MemoryBudget {
  #charged = 0;
  readonly #budget: number;
  readonly #clock: Clock;
  readonly #users: () => Iterable<MemoryUser>;

  constructor(options: { bytesBudget: number; clock: Clock; users: () => Iterable<MemoryUser> }) {
    this.#budget = options.bytesBudget;
    this.#clock = options.clock;
    this.#users = options.users;
  }

  get isOver(): boolean {
    return this.#charged > this.#budget;
  }

  /** Counts bytes that are in memory already. False: they are too many, and no room could be made for them. */
  charge(user: MemoryUser, bytes: number): boolean {
    if (user.charged === 0) user.chargedSince = this.#clock.monotonic();
    user.charged += bytes;
    this.#charged += bytes;
    if (this.isOver && bytes > 0) this.#makeRoom();
    return !this.isOver;
  }

  refund(user: MemoryUser, bytes: number): void {
    user.charged -= bytes;
    this.#charged -= bytes;
  }

  #makeRoom(): void {
    const now = this.#clock.monotonic();
    const costOf = ({ charged, chargedSince }: MemoryUser): number => charged * (now - chargedSince);
    const candidates = [...this.#users()]
      .filter((user) => now - user.chargedSince >= PATIENCE_MS && user.charged > 0 && user.isWaitingForCaller())
      .sort((a, b) => costOf(a) - costOf(b));
    while (this.isOver && candidates.length > 0) candidates.pop()!.yieldRoom();
  }
}
