// Deliveries, and those of them that are dead: what became of an event at one destination, and another try.
import type { CallOptions } from '../deadline.ts';
import { List } from '../list.ts';
import type { Input, QueryOf, Schema } from '../shapes.ts';
import { pathOf, type Transport } from '../transport.ts';
import { bulkCall } from './operations.ts';

export type Delivery = Schema<'Delivery'>;
/** With `retries`: every attempt that is kept, oldest first. */
export type DeliveryWithRetries = Schema<'DeliveryWithRetries'>;
export type Attempt = Schema<'Attempt'>;
export type DeliveryQuery = QueryOf<'listDeliveries'>;
export type DlqQuery = Omit<DeliveryQuery, 'status'>;
export type DlqReplay = Input<Schema<'DlqReplayInput'>>;

export class Deliveries {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: DeliveryQuery = {}, options?: CallOptions): List<Delivery> {
    return new List(query, (page) =>
      this.#transport.call(
        { method: 'GET', path: '/v1/deliveries', query: { ...query, ...page }, due: { data: 'object' } },
        options,
      ),
    );
  }

  get(id: string, options?: CallOptions): Promise<DeliveryWithRetries> {
    return this.#transport.call({ method: 'GET', path: pathOf('deliveries', id), due: { retries: 'object' } }, options);
  }

  /** Every attempt, oldest first. */
  async attempts(id: string, options?: CallOptions): Promise<Attempt[]> {
    return (await this.get(id, options)).retries;
  }

  /** One attempt now, outside the schedule, whatever the delivery's status. */
  retry(id: string, options?: CallOptions): Promise<Delivery> {
    return this.#transport.call(
      { method: 'POST', path: pathOf('deliveries', id, 'retry'), due: { id: 'string' } },
      options,
    );
  }
}

export class Dlq {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: DlqQuery = {}, options?: CallOptions): List<Delivery> {
    return new List(query, (page) =>
      this.#transport.call(
        { method: 'GET', path: '/v1/dlq', query: { ...query, ...page }, due: { data: 'object' } },
        options,
      ),
    );
  }

  /** Gives a dead delivery a fresh schedule. */
  replay(deliveryId: string, options?: CallOptions): Promise<Delivery> {
    return this.#transport.call(
      { method: 'POST', path: pathOf('dlq', deliveryId, 'replay'), due: { id: 'string' } },
      options,
    );
  }

  /** Gives all that the filter selects a fresh schedule, as an operation; with `dry_run` only says how many. */
  replayAll(input: DlqReplay & { dry_run: true }, options?: CallOptions): Promise<Schema<'DryRun'>>;
  replayAll(input?: DlqReplay & { dry_run?: false | null }, options?: CallOptions): Promise<Schema<'Operation'>>;
  replayAll(input: DlqReplay = {}, options?: CallOptions): Promise<Schema<'DryRun'> | Schema<'Operation'>> {
    return this.#transport.call(bulkCall('/v1/dlq/replay', input), options);
  }
}
