// Postrider's API as far as an import needs it: the one file that calls it.
import { RequestError } from './http-client.ts';
import type { HttpClient } from './http-client.ts';

const PAGE_ROWS = 100;
/** Of a creation whose answer was lost. */
const TRIES_MAX = 5;

export type Destination = {
  id: string;
  headers: Record<string, string>;
  metadata: Record<string, unknown>;
};
export type DestinationFields = {
  url: string;
  name: string | null;
  rate_per_second: number | null;
  headers: Record<string, string>;
  metadata: Record<string, unknown>;
  signature_style: 'svix';
};
type DestinationPatch = Partial<DestinationFields> & { status?: 'active' | 'paused' };
export type SubscriptionFields = { event_type: string; filter: Record<string, string> | null };
export type Subscription = SubscriptionFields & { id: string };

type Page<Row> = { data: Row[]; next_cursor: string | null };

export class PostriderApi {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** All of the key's environment, newest first. */
  destinations(): AsyncGenerator<Destination> {
    return this.#rows('/v1/destinations?');
  }

  subscriptions(destinationId: string): AsyncGenerator<Subscription> {
    return this.#rows(`/v1/subscriptions?destination_id=${destinationId}&`);
  }

  async readDestination(id: string): Promise<Destination> {
    return (await this.#http.get(`/v1/destinations/${id}`)) as Destination;
  }

  /**
   * Makes one destination, also where an answer is lost: then `isIt` says of the newest ones whether it was made.
   * A subscription may be asked for twice, a destination not.
   */
  async createDestination(
    fields: DestinationFields & { signing_secret: string },
    isIt: (destination: Destination) => boolean,
  ): Promise<Destination> {
    for (let tries = 1; ; tries += 1) {
      try {
        return (await this.#http.sendOnce({ method: 'POST', path: '/v1/destinations', body: fields })) as Destination;
      } catch (error) {
        if (!(error instanceof RequestError) || !error.isPassing || tries === TRIES_MAX) throw error;
      }
      // `get` waits until the service is there again.
      const newest = (await this.#http.get(`/v1/destinations?limit=${PAGE_ROWS}`)) as Page<Destination>;
      const made = newest.data.find(isIt);
      if (made !== undefined) return made;
    }
  }

  async updateDestination(id: string, patch: DestinationPatch): Promise<void> {
    await this.#http.send({ method: 'PATCH', path: `/v1/destinations/${id}`, body: patch });
  }

  async subscribe(destinationId: string, fields: SubscriptionFields): Promise<void> {
    const body = { destination_id: destinationId, ...fields };
    await this.#http.send({ method: 'POST', path: '/v1/subscriptions', body });
  }

  async unsubscribe(id: string): Promise<void> {
    try {
      await this.#http.send({ method: 'DELETE', path: `/v1/subscriptions/${id}` });
    } catch (error) {
      if (!(error instanceof RequestError && error.code === 'subscription_not_found')) throw error;
    }
  }

  async *#rows<Row>(path: string): AsyncGenerator<Row> {
    let cursor: string | null = null;
    do {
      const from: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = (await this.#http.get(`${path}limit=${PAGE_ROWS}${from}`)) as Page<Row>;
      yield* page.data;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }
}
