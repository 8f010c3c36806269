// What the service has counted, step by step, and how things are just now.
import type { CallOptions } from '../deadline.ts';
import type { DueOf } from '../due.ts';
import type { QueryOf, Schema } from '../shapes.ts';
import type { Transport } from '../transport.ts';

export type StatsSeries = Schema<'Stats'>;
export type StatsNow = Schema<'StatsNow'>;
export type StatsQuery = Omit<QueryOf<'readStats'>, 'cursor'>;

const SERIES = {
  step: 'string',
  data: [{ at: 'string', events_accepted: 'number', attempts: { '*': 'number' } }],
} as const satisfies DueOf<StatsSeries>;
const NOW = {
  events_per_second: 'number',
  attempts_per_second: 'number',
  success_rate: 'number?',
  in_flight: 'number',
  pending: 'number',
  retrying: 'number',
  held: 'number',
  dead_24h: 'number',
  destinations: { active: 'number', paused: 'number', failing: 'number' },
  troubles: [{ destination_id: 'string', name: 'string?', state: 'string', summary: 'string' }],
} as const satisfies DueOf<StatsNow>;

export class Stats {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Every step of the range, those in which nothing happened too. */
  get(query: StatsQuery = {}, options?: CallOptions): Promise<StatsSeries> {
    return this.#transport.call({ method: 'GET', path: '/v1/stats', query, due: SERIES }, options);
  }

  /** The last minute, and what is in trouble. */
  now(options?: CallOptions): Promise<StatsNow> {
    return this.#transport.call({ method: 'GET', path: '/v1/stats/now', due: NOW }, options);
  }
}
