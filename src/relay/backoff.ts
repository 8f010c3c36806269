// How long to wait after something failed: longer each time, never beyond a bound, at least as long as was asked for.
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';

const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** Of what a service may ask for: whoever reads the log is to see that the relay is alive. */
const ASKED_MS_MAX = 60_000;

export class Backoff {
  readonly #clock: Clock;
  readonly #random: Random;
  #failures = 0;
  #failingSince = 0;
  #endsAt = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  get pauseMs(): number {
    return Math.max(0, this.#endsAt - this.#clock.monotonic());
  }

  /** Since the first failure of this row of failures. */
  get failingForMs(): number {
    return this.#failures === 0 ? 0 : this.#clock.monotonic() - this.#failingSince;
  }

  /** Returns the pause. Requests that fail together are one failure. */
  fail(askedMs: number | null): number {
    if (this.pauseMs > 0) return this.pauseMs;
    const now = this.#clock.monotonic();
    if (this.#failures === 0) this.#failingSince = now;
    const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(this.#failures++, 10));
    const own = longest * (0.5 + this.#random.fraction() / 2);
    this.#endsAt = now + Math.max(own, Math.min(askedMs ?? 0, ASKED_MS_MAX));
    return this.pauseMs;
  }

  /** Returns whether there had been failures. */
  succeed(): boolean {
    const hadFailed = this.#failures > 0;
    this.#failures = 0;
    return hadFailed;
  }
}
