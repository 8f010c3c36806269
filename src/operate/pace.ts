// How fast an operation gives each destination more to do: a token bucket each, of a quarter of a second.
import type { DestinationId } from '../model/id.ts';

type Bucket = { tokens: number; countedAt: number };

export class Pace {
  readonly #perSecond: number;
  readonly #capacity: number;
  /** Of the destinations that it has met, which are no more than the environment has. */
  readonly #buckets = new Map<DestinationId, Bucket>();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#capacity = Math.max(1, perSecond / 4);
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
    return ((this.#capacity - this.#refreshed(id, at).tokens) / this.#perSecond) * 1000;
  }

  #refreshed(id: DestinationId, at: number): Bucket {
    const bucket = this.#buckets.get(id) ?? { tokens: this.#capacity, countedAt: at };
    const elapsedMs = at - bucket.countedAt;
    bucket.tokens = Math.min(this.#capacity, bucket.tokens + (elapsedMs / 1000) * this.#perSecond);
    bucket.countedAt = at;
    this.#buckets.set(id, bucket);
    return bucket;
  }
}
