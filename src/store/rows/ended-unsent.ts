// Deliveries that a maintenance step has ended, by destination: for whoever counts them.
import { formatId, type DestinationId } from '../../model/id.ts';
import type { EndedUnsent } from '../../model/observer.ts';

export class EndedTally {
  readonly #byDestination = new Map<DestinationId, EndedUnsent>();

  add(destination: Uint8Array, environment: number): void {
    const destinationId = formatId('dst', destination);
    this.#byDestination.getOrInsert(destinationId, { environment, destinationId, count: 0 }).count++;
  }

  list(): EndedUnsent[] {
    return [...this.#byDestination.values()];
  }
}
