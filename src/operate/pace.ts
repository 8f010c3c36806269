// How fast an operation gives each destination more to do: a token bucket each, of a quarter of a second. One that does
// not keep up gets no more than it would by default: what is moved faster than it is sent is only in its own way.
import type { DestinationId } from '../model/id.ts';
import { PER_SECOND_DEFAULT } from '../model/operation.ts';

type Bucket = { tokens: number; perSecond: number; countedAt: number };

export class Pace {
  readonly #perSecond: number;
  readonly #isBehind: (id: DestinationId) => boolean;
  /** Of the destinations that it has met, which are no more than the environment has. */
  readonly #buckets = new Map<DestinationId, Bucket>();

  /** `isBehind`: what the destination has to send is late already. */
  constructor(perSecond: number, isBehind: (id: DestinationId) => boolean) {
    this.#perSecond = perSecond;
    this.#isBehind = isBehind;
  }

  /** Takes the turn of one delivery. False: it must wait. `at`: monotonic ms. */
  take(id: DestinationId, at: number): boolean {
    const bucket = this.#refreshed(id, at);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  /** Whether one more may have its turn. */
  allows(id: DestinationId, at: number): boolean {
    return this.#refreshed(id, at).tokens >= 1;
  }

  /** The turn of one that belongs to others: it may leave a debt. */
  charge(id: DestinationId, at: number): void {
    this.#refreshed(id, at).tokens -= 1;
  }

  /** Milliseconds until the destination may have as many at once as ever: small steps would each cost a commit. */
  waitMs(id: DestinationId, at: number): number {
    const { tokens, perSecond } = this.#refreshed(id, at);
    return ((capacityOf(perSecond) - tokens) / perSecond) * 1000;
  }

  #refreshed(id: DestinationId, at: number): Bucket {
    const known = this.#buckets.get(id);
    if (known?.countedAt === at) return known;
    const perSecond = this.#isBehind(id) ? Math.min(this.#perSecond, PER_SECOND_DEFAULT) : this.#perSecond;
    const capacity = capacityOf(perSecond);
    const gained = known === undefined ? capacity : ((at - known.countedAt) / 1000) * perSecond;
    const bucket = { tokens: Math.min(capacity, (known?.tokens ?? 0) + gained), perSecond, countedAt: at };
    this.#buckets.set(id, bucket);
    return bucket;
  }
}

function capacityOf(perSecond: number): number {
  return Math.max(1, perSecond / 4);
}
