// Which destinations are paused, by environment: kept as they change, so that nobody has to look through all of them.
import type { DestinationWithKeys } from '../model/destination.ts';
import type { DestinationId } from '../model/id.ts';
import type { Observer } from '../model/observer.ts';

export class PausedDestinations implements Observer {
  readonly #byEnvironment = new Map<number, Set<DestinationId>>();

  readonly destinationChanged = ({ id, environment, status }: DestinationWithKeys): void => {
    const paused = this.#byEnvironment.getOrInsertComputed(environment, () => new Set());
    if (status === 'paused') paused.add(id);
    else paused.delete(id);
  };

  readonly destinationDeleted = (id: DestinationId): void => {
    for (const paused of this.#byEnvironment.values()) paused.delete(id);
  };

  of(environment: number): ReadonlySet<DestinationId> {
    return this.#byEnvironment.get(environment) ?? new Set();
  }
}
