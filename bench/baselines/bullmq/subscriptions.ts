// Who wants an event: asked of PostgreSQL, and kept for a second, so that most events cost no query. (The service knows
// exactly, with no cache lifetime; here an event may miss a subscription that is younger than a second.)
import type { Pool } from 'pg';

export type Subscriber = { destinationId: string; url: string; secret: string };

const KEPT_MS = 1_000;

const SELECT = `
  SELECT d.id AS "destinationId", d.url, d.secret FROM subscriptions s JOIN destinations d ON d.id = s.destination_id
  WHERE s.event_type = $1`;

export class Subscriptions {
  readonly #db: Pool;
  readonly #known = new Map<string, { found: Promise<Subscriber[]>; until: number }>();

  constructor(db: Pool) {
    this.#db = db;
  }

  of(eventType: string): Promise<Subscriber[]> {
    const known = this.#known.get(eventType);
    if (known !== undefined && known.until > Date.now()) return known.found;
    const query = this.#db.query<Subscriber>({ name: 'subscribers', text: SELECT, values: [eventType] });
    const found = query.then(({ rows }) => rows);
    this.#known.set(eventType, { found, until: Date.now() + KEPT_MS });
    return found;
  }
}
