// What became known of each destination since it was last stored: when an attempt ended, when one succeeded, what the
// last failure was. Bounded by the destinations that were attempted in the meantime.
import type { DestinationActivity } from '../model/condition.ts';
import type { DestinationId } from '../model/id.ts';
import type { FinishedAttempt, Observer } from '../model/observer.ts';

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
