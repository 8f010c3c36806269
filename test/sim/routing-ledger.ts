// Which deliveries an event must have, may have and must not have: a subscription counts for every event whose POST
// begins after its 201, and for none whose POST begins after its DELETE's 204. In between either is right.
import { isFilterFault, parseFilter } from '../../src/match/filter/parse.ts';
import { filterAccepts, patternMatches } from '../match/plainly.ts';

const NEVER = Number.POSITIVE_INFINITY;

type Known = {
  id: string;
  environment: number;
  destinationId: string;
  pattern: string;
  filter: string | null;
  /** Moments, in the order of this ledger's own count. */
  askedAt: number;
  confirmedAt: number;
  removalAskedAt: number;
  removedAt: number;
};

export type RoutedEvent = {
  environment: number;
  type: string;
  body: unknown;
  postedAt: number;
  answeredAt: number;
  subscriptionIds: string[];
};

export class RoutingLedger {
  readonly #subscriptions = new Map<string, Known>();
  #moment = 0;

  /** A point in the order of what clients send and get. */
  moment(): number {
    return ++this.#moment;
  }

  asked(subscription: Pick<Known, 'id' | 'environment' | 'destinationId' | 'pattern' | 'filter'>): void {
    const never = { confirmedAt: NEVER, removalAskedAt: NEVER, removedAt: NEVER };
    this.#subscriptions.set(subscription.id, { ...subscription, askedAt: this.moment(), ...never });
  }

  confirmed(id: string): void {
    this.#subscriptions.get(id)!.confirmedAt = this.moment();
  }

  removalAsked(ids: readonly string[]): void {
    const moment = this.moment();
    for (const id of ids) {
      const known = this.#subscriptions.get(id)!;
      known.removalAskedAt = Math.min(known.removalAskedAt, moment);
    }
  }

  removed(ids: readonly string[]): void {
    const moment = this.moment();
    for (const id of ids) this.#subscriptions.get(id)!.removedAt = moment;
  }

  idsOf(destinationId: string): string[] {
    return [...this.#subscriptions.values()]
      .filter((known) => known.destinationId === destinationId)
      .map(({ id }) => id);
  }

  /** What is wrong with an event's deliveries; null: nothing. */
  findFault(event: RoutedEvent): string | null {
    const got = new Set(event.subscriptionIds);
    if (got.size !== event.subscriptionIds.length) return 'two deliveries for one subscription';
    for (const id of got) if (!this.#subscriptions.has(id)) return `a delivery for ${id}, which there never was`;
    for (const known of this.#subscriptions.values()) {
      const { id } = known;
      const wants = known.environment === event.environment && matches(known, event.type, event.body);
      if (got.has(id) && !wants) return `a delivery for ${id}, which does not want it`;
      if (got.has(id) && known.askedAt > event.answeredAt) return `a delivery for ${id}, which is younger`;
      if (got.has(id) && known.removedAt < event.postedAt) return `a delivery for ${id}, which was deleted`;
      const isCertain = known.confirmedAt < event.postedAt && known.removalAskedAt > event.answeredAt;
      if (wants && isCertain && !got.has(id)) return `no delivery for ${id}`;
    }
    return null;
  }
}

function matches({ pattern, filter }: Known, type: string, body: unknown): boolean {
  if (!patternMatches(pattern, type)) return false;
  if (filter === null) return true;
  const parsed = parseFilter(filter);
  if (isFilterFault(parsed)) throw new Error(parsed.message);
  return filterAccepts(parsed, body);
}
