// Idempotency keys that a transaction without an end was found to hold lately: their next events do not keep the others
// of their batch waiting again.
import type { Clock } from '../../../../runtime/clock.ts';
import type { NewEvent } from '../../../store.ts';

/** As long as callers go on trying. One that is free again meanwhile costs its event nothing but a transaction. */
const SUSPECT_FOR_MS = 10_000;
/** At most 5 MB. */
const SUSPECTS_MAX = 10_000;

export class LockedKeys {
  readonly #clock: Clock;
  /** By name, until when (monotonic ms), oldest first. */
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(event: NewEvent): void {
    const name = nameOfKey(event);
    if (name === null) return;
    this.#until.delete(name);
    this.#until.set(name, this.#clock.monotonic() + SUSPECT_FOR_MS);
    if (this.#until.size > SUSPECTS_MAX) this.#until.delete(this.#until.keys().next().value!);
  }

  isSuspect(event: NewEvent): boolean {
    if (this.#until.size === 0) return false;
    this.#forgetOld();
    const name = nameOfKey(event);
    return name !== null && this.#until.has(name);
  }

  #forgetOld(): void {
    const now = this.#clock.monotonic();
    for (const [name, until] of this.#until) {
      if (until > now) return;
      this.#until.delete(name);
    }
  }
}

/** Null: the event has no key. */
function nameOfKey({ environment, idempotencyKey: key }: NewEvent): string | null {
  return key === null ? null : nameOf({ environment, key });
}

export function nameOf({ environment, key }: { environment: number; key: string }): string {
  return `${environment} ${key}`;
}
