// Subscriptions: which events a destination gets.
import type { CallOptions } from '../deadline.ts';
import { encode } from '../json-text.ts';
import { List } from '../list.ts';
import type { Input, QueryOf, Schema } from '../shapes.ts';
import { pathOf, type Transport } from '../transport.ts';

export type Subscription = Schema<'Subscription'>;
export type SubscriptionInput = Input<Schema<'SubscriptionInput'>>;
export type SubscriptionQuery = QueryOf<'listSubscriptions'>;

export class Subscriptions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Of an identical one the service answers with the one that is there; so this is safe to repeat. */
  create(input: SubscriptionInput, options?: CallOptions): Promise<Subscription> {
    const body = encode(input);
    const call = {
      method: 'POST',
      path: '/v1/subscriptions',
      body,
      isRepeatable: true,
      due: { id: 'string' },
    } as const;
    return this.#transport.call(call, options);
  }

  list(query: SubscriptionQuery = {}, options?: CallOptions): List<Subscription> {
    return new List(query, (page) =>
      this.#transport.call(
        { method: 'GET', path: '/v1/subscriptions', query: { ...query, ...page }, due: { data: 'object' } },
        options,
      ),
    );
  }

  get(id: string, options?: CallOptions): Promise<Subscription> {
    return this.#transport.call({ method: 'GET', path: pathOf('subscriptions', id), due: { id: 'string' } }, options);
  }

  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#transport.delete(pathOf('subscriptions', id), options);
  }
}
