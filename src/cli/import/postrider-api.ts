// Postrider's API as far as an import needs it, on the client, with more patience than that has.
import {
  ApiError,
  Postrider,
  PostriderError,
  UnexpectedAnswerError,
  type Destination,
  type DestinationPatch,
  type List,
  type PageQuery,
  type Subscription,
  type SubscriptionInput,
} from '../../../sdk/typescript/src/postrider.ts';
import { Patience } from './patience.ts';
import { RequestError } from './request-error.ts';

const PAGE_ROWS = 100;
/** Of a creation whose answer was lost. */
const TRIES_MAX = 5;
const REQUEST_MS_MAX = 30_000;

export type DestinationFields = Pick<
  Destination,
  'url' | 'name' | 'rate_per_second' | 'headers' | 'metadata' | 'signature_style'
>;
export type SubscriptionFields = { event_type: string; filter: Record<string, string> | null };

type PostriderApiOptions = { url: string; key: string; onWait: (text: string) => void };

export class PostriderApi {
  readonly #client: Postrider;
  readonly #patience: Patience;

  constructor({ url, key, onWait }: PostriderApiOptions) {
    this.#client = new Postrider({ apiKey: key, baseUrl: url, maxRetries: 0, timeoutMs: REQUEST_MS_MAX });
    this.#patience = new Patience('Postrider', onWait);
  }

  /** All of the key's environment, newest first. */
  destinations(): AsyncGenerator<Destination> {
    return this.#rows((query) => this.#client.destinations.list(query));
  }

  subscriptions(destinationId: string): AsyncGenerator<Subscription> {
    return this.#rows((query) => this.#client.subscriptions.list({ ...query, destination_id: destinationId }));
  }

  readDestination(id: string): Promise<Destination> {
    return this.#ask(() => this.#client.destinations.get(id));
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
        return await this.#patience.askOnce(() => told(this.#client.destinations.create(fields)));
      } catch (error) {
        if (!(error instanceof RequestError) || !error.isPassing || tries === TRIES_MAX) throw error;
      }
      // `#ask` waits until the service is there again.
      const newest = await this.#ask(() => this.#client.destinations.list({ limit: PAGE_ROWS }).page());
      const made = newest.data.find(isIt);
      if (made !== undefined) return made;
    }
  }

  async updateDestination(id: string, patch: DestinationPatch): Promise<void> {
    await this.#ask(() => this.#client.destinations.update(id, patch));
  }

  async subscribe(destinationId: string, fields: SubscriptionFields): Promise<void> {
    const input: SubscriptionInput = { destination_id: destinationId, ...fields };
    await this.#ask(() => this.#client.subscriptions.create(input));
  }

  async unsubscribe(id: string): Promise<void> {
    try {
      await this.#ask(() => this.#client.subscriptions.delete(id));
    } catch (error) {
      if (!(error instanceof RequestError && error.code === 'subscription_not_found')) throw error;
    }
  }

  async *#rows<Row>(list: (query: PageQuery) => List<Row>): AsyncGenerator<Row> {
    let cursor: string | null = null;
    do {
      const query: PageQuery = { limit: PAGE_ROWS, cursor };
      const page = await this.#ask(() => list(query).page());
      yield* page.data;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  #ask<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    return this.#patience.ask(() => told(call()));
  }
}

/** What the client's errors are to an import. */
async function told<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof PostriderError)) throw error;
    if (!(error instanceof ApiError || error instanceof UnexpectedAnswerError)) {
      throw new RequestError(`Postrider: ${error.message}`, { status: null, code: 'no_answer' });
    }
    const { status, retryAfterSeconds: wait } = error;
    const { code, param = null } = error instanceof ApiError ? error : { code: 'not_postrider' };
    const retryAfterMs = wait === undefined ? null : wait * 1_000;
    throw new RequestError(`Postrider answers ${status}: ${error.message}`, { status, code, param, retryAfterMs });
  }
}
