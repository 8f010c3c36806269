// Deliveries that a maintenance step has ended, by destination and reason: for whoever counts them.
import type { DeadReason } from '../../model/delivery.ts';
import { formatId } from '../../model/id.ts';
import type { EndedUnsent } from '../../model/observer.ts';

export class EndedTally {
  readonly #ended = new Map<string, EndedUnsent>();

  /** `deadReason` null: it had arrived once, and so did not end `dead`. */
  add(destination: Uint8Array, environment: number, deadReason: DeadReason | null): void {
    if (deadReason === null) return;
    const destinationId = formatId('dst', destination);
    const none = { environment, destinationId, deadReason, count: 0 };
    this.#ended.getOrInsert(destinationId + deadReason, none).count++;
  }

  list(): EndedUnsent[] {
    return [...this.#ended.values()];
  }
}
