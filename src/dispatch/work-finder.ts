// Finds unfinished deliveries that are only in the store: by a sweep over all destinations of ours, at the start, after
// a takeover and twice a minute, and by what other nodes say they have stored.
import { FORCED_DUE_AT } from '../model/delivery.ts';
import type { DestinationWithKeys } from '../model/destination.ts';
import { idShard, type DestinationId } from '../model/id.ts';
import type { Store, SweepPage } from '../store/store.ts';
import type { Instant } from '../runtime/clock.ts';
import type { Ownership } from '../model/ownership.ts';
import type { Queues } from './queues.ts';

const SWEEP_PAGE = 1_000;
/** More of them wait for the next sweep. */
const UNKNOWN_MAX = 10_000;

type WorkFinderOptions = {
  store: Pick<Store, 'sweep'>;
  queues: Queues;
  ownership: Ownership;
  destinationOf: (id: DestinationId) => DestinationWithKeys | undefined;
};

export class WorkFinder {
  readonly #options: WorkFinderOptions;
  /** Destinations with work that were made on another node, too recently for the configuration here to have them. */
  readonly #unknown = new Set<DestinationId>();
  #isStopped = false;

  constructor(options: WorkFinderOptions) {
    this.#options = options;
  }

  /** Notes every destination of these shards, by default of all that are ours, that has unfinished deliveries. */
  async sweep(shards: readonly number[] | undefined = this.#options.ownership.ownedShards()): Promise<void> {
    if (shards?.length === 0) return;
    const { store, queues } = this.#options;
    const where = shards === undefined ? {} : { shards };
    let after: string | null = null;
    do {
      const page: SweepPage = await store.sweep({ after, limit: SWEEP_PAGE, ...where });
      const at = queues.instant();
      for (const { destinationId, dueAt } of page.destinations) this.note(destinationId, dueAt, at);
      after = page.next;
    } while (after !== null && !this.#isStopped);
  }

  /** The store has work of this destination. False: the destination is ours, but too new to be known here. */
  note(id: DestinationId, dueAt: number, at: Instant): boolean {
    const { queues, ownership, destinationOf } = this.#options;
    if (ownership.ownedSince(idShard(id)) === null) return true;
    if (destinationOf(id) === undefined) {
      if (this.#unknown.size < UNKNOWN_MAX) this.#unknown.add(id);
      return false;
    }
    queues.open(id, at)!.backlog.noteStored(dueAt);
    return true;
  }

  /** The configuration has the destination now: what was said of it before counts. */
  noteKnown(id: DestinationId, at: Instant): void {
    if (this.#unknown.delete(id)) this.note(id, FORCED_DUE_AT, at);
  }

  forget(id: DestinationId): void {
    this.#unknown.delete(id);
  }

  stop(): void {
    this.#isStopped = true;
  }
}
