// What the service has counted, step by step, and how things are just now.
import type { CallOptions } from '../deadline.ts';
import type { QueryOf, Schema } from '../shapes.ts';
import type { Transport } from '../transport.ts';

export type StatsSeries = Schema<'Stats'>;
export type StatsNow = Schema<'StatsNow'>;
export type StatsQuery = Omit<QueryOf<'readStats'>, 'cursor'>;

export class Stats {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Every step of the range, those in which nothing happened too. */
  get(query: StatsQuery = {}, options?: CallOptions): Promise<StatsSeries> {
    return this.#transport.call({ method: 'GET', path: '/v1/stats', query, due: { data: 'object' } }, options);
  }

  /** The last minute, and what is in trouble. */
  now(options?: CallOptions): Promise<StatsNow> {
    return this.#transport.call({ method: 'GET', path: '/v1/stats/now', due: { troubles: 'object' } }, options);
  }
}
