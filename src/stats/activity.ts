// What became known of each destination since it was last stored: when an attempt ended, when one succeeded, what the
// last failure was (Activity), bounded by the destinations that were attempted in the meantime; and how much happens
// just now (LastMinute).
import type { DestinationActivity } from '../model/condition.ts';
import type { DestinationId } from '../model/id.ts';
import type { FinishedAttempt, Observer, Scheduled } from '../model/observer.ts';
import type { Clock } from '../runtime/clock.ts';
import { decodeNumbers, encodeNumbers } from './counts.ts';

export type Heard = Pick<DestinationActivity, 'environment' | 'lastAttemptAt' | 'lastSuccessAt' | 'lastFailure'>;

export class Activity implements Observer {
  #heard = new Map<DestinationId, Heard>();
  /** On its way to the store. */
  #taken = new Map<DestinationId, Heard>();

  readonly attempted = ({ delivery, result }: FinishedAttempt): void => {
    const { environment, destinationId } = delivery;
    let heard = this.#heard.get(destinationId);
    if (heard === undefined) {
      heard = { environment, lastAttemptAt: null, lastSuccessAt: null, lastFailure: null };
      this.#heard.set(destinationId, heard);
    }
    const endedAt = Math.round(result.startedAt + result.durationMs);
    heard.lastAttemptAt = endedAt;
    if (result.outcome === 'succeeded') heard.lastSuccessAt = endedAt;
    else if (result.outcome !== 'cancelled') {
      const { outcome, responseCode, error } = result;
      heard.lastFailure = { at: endedAt, outcome, responseCode, error };
    }
  };

  readonly destinationDeleted = (id: DestinationId): void => {
    this.#heard.delete(id);
  };

  get(id: DestinationId): Heard | undefined {
    const taken = this.#taken.get(id);
    return taken === undefined ? this.#heard.get(id) : latest(taken, this.#heard.get(id));
  }

  /** For being stored: `forgetTaken` follows where it was, `putBack` where it could not be. */
  take(): ReadonlyMap<DestinationId, Heard> {
    this.#taken = this.#heard;
    this.#heard = new Map();
    return this.#taken;
  }

  forgetTaken(): void {
    this.#taken = new Map();
  }

  putBack(): void {
    for (const [id, before] of this.#taken) this.#heard.set(id, latest(before, this.#heard.get(id)));
    this.forgetTaken();
  }
}

/** Of two reports of one destination the later of each. */
export function latest(before: Heard, after: Heard | undefined): Heard {
  return {
    environment: before.environment,
    lastAttemptAt: after?.lastAttemptAt ?? before.lastAttemptAt,
    lastSuccessAt: after?.lastSuccessAt ?? before.lastSuccessAt,
    lastFailure: after?.lastFailure ?? before.lastFailure,
  };
}

// How much happens just now: what this process has counted in each of the last sixty seconds, and what it tells the
// others of it (a pulse), so that any node can answer for all.

const SECONDS = 60;

type Slot = { second: number; events: number; attempts: number; succeeded: number };

/** Sums over the last sixty seconds, and what there is at their end. `oldestDueAt`: Unix ms; null: none is due. */
export type Pulse = {
  events: number;
  attempts: number;
  succeeded: number;
  inFlight: number;
  oldestDueAt: number | null;
};

export class LastMinute implements Observer {
  readonly #clock: Clock;
  /** By environment, each second's in the place of the one a minute before. */
  readonly #slots = new Map<number, Slot[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly scheduled = ({ origin, event }: Scheduled): void => {
    if (origin === 'event') this.#slot(event.environment).events++;
  };

  readonly attempted = ({ delivery, result }: FinishedAttempt): void => {
    const slot = this.#slot(delivery.environment);
    slot.attempts++;
    if (result.outcome === 'succeeded') slot.succeeded++;
  };

  sum(environment: number): Omit<Pulse, 'inFlight' | 'oldestDueAt'> {
    const after = this.#second() - SECONDS;
    const sum = { events: 0, attempts: 0, succeeded: 0 };
    for (const slot of this.#slots.get(environment) ?? []) {
      if (slot.second <= after) continue;
      sum.events += slot.events;
      sum.attempts += slot.attempts;
      sum.succeeded += slot.succeeded;
    }
    return sum;
  }

  /** By the clock that is never set. */
  #second(): number {
    return Math.floor(this.#clock.monotonic() / 1000);
  }

  #slot(environment: number): Slot {
    const slots = this.#slots.getOrInsertComputed(environment, newMinute);
    const second = this.#second();
    const slot = slots[second % SECONDS]!;
    if (slot.second !== second) Object.assign(slot, { second, events: 0, attempts: 0, succeeded: 0 });
    return slot;
  }
}

function newMinute(): Slot[] {
  return Array.from({ length: SECONDS }, () => ({ second: -SECONDS, events: 0, attempts: 0, succeeded: 0 }));
}

const LAYOUT = 1;

export function encodePulse({ events, attempts, succeeded, inFlight, oldestDueAt }: Pulse): Uint8Array {
  return encodeNumbers([LAYOUT, events, attempts, succeeded, inFlight, oldestDueAt ?? 0]);
}

/** Null: of a later version of this program. */
export function decodePulse(bytes: Uint8Array): Pulse | null {
  const [layout, events = 0, attempts = 0, succeeded = 0, inFlight = 0, oldestDueAt = 0] = decodeNumbers(bytes);
  if (layout !== LAYOUT) return null;
  return { events, attempts, succeeded, inFlight, oldestDueAt: oldestDueAt === 0 ? null : oldestDueAt };
}

export function addPulses(pulses: readonly Pulse[]): Pulse {
  const due = pulses.flatMap(({ oldestDueAt }) => oldestDueAt ?? []);
  const sumOf = (name: 'events' | 'attempts' | 'succeeded' | 'inFlight'): number =>
    pulses.reduce((sum, pulse) => sum + pulse[name], 0);
  return {
    events: sumOf('events'),
    attempts: sumOf('attempts'),
    succeeded: sumOf('succeeded'),
    inFlight: sumOf('inFlight'),
    oldestDueAt: due.length === 0 ? null : Math.min(...due),
  };
}
