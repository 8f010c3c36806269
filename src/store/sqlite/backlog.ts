// How many unfinished deliveries each destination has, kept exact in the writer's memory: counted once at open,
// then moved by every writing method when its transaction has committed.
import { PENDING, RETRYING } from '../rows/codec.ts';
import { prepare, type Database } from './file/database.ts';

type Entry = { environment: number; count: number };

// From the index alone: ten million unfinished deliveries take a second or two, their rows would take a minute.
const COUNT_OF_STATUS = `
  SELECT destination, count(*) AS count FROM deliveries WHERE status = ? GROUP BY destination`;

const SELECT_LIVE = 'SELECT key, environment FROM destinations WHERE deleted_at IS NULL';

export function loadBacklog(db: Database): Backlog {
  const live = prepare<{ key: number; environment: number }>(db, SELECT_LIVE).all();
  const backlog = new Backlog();
  const environmentOf = new Map(live.map((row) => [row.key, row.environment]));
  const countOfStatus = prepare<{ destination: number; count: number }>(db, COUNT_OF_STATUS);
  for (const status of [PENDING, RETRYING]) {
    for (const { destination, count } of countOfStatus.iterate(status)) {
      const environment = environmentOf.get(destination);
      if (environment !== undefined) backlog.add(destination, environment, count);
    }
  }
  backlog.settle(true);
  return backlog;
}

export class Backlog {
  readonly #entries = new Map<number, Entry>();
  readonly #added = new Map<number, Entry>();
  readonly #dropped = new Set<number>();

  /** With what the transaction under way has added so far. */
  countOf(destination: number): number {
    return (this.#entries.get(destination)?.count ?? 0) + (this.#added.get(destination)?.count ?? 0);
  }

  add(destination: number, environment: number, change: number): void {
    const entry = this.#added.get(destination);
    if (entry === undefined) this.#added.set(destination, { environment, count: change });
    else entry.count += change;
  }

  /** Its unfinished deliveries have ended, in whatever form: they count no more. */
  drop(destination: number): void {
    this.#dropped.add(destination);
  }

  /** After the transaction: makes its changes count, or forgets them. */
  settle(isCommitted: boolean): void {
    if (isCommitted) {
      for (const [destination, entry] of this.#added) this.#apply(destination, entry);
      for (const destination of this.#dropped) this.#entries.delete(destination);
    }
    this.#added.clear();
    this.#dropped.clear();
  }

  countByEnvironment(): { environment: number; count: number }[] {
    const counts = new Map<number, number>();
    for (const { environment, count } of this.#entries.values()) {
      counts.set(environment, (counts.get(environment) ?? 0) + count);
    }
    return [...counts].map(([environment, count]) => ({ environment, count }));
  }

  /** The largest, in that order; none below `min`. */
  findLargest({ min, limit }: { min: number; limit: number }): (Entry & { destination: number })[] {
    const large = [...this.#entries].filter(([, { count }]) => count >= min);
    large.sort(([, a], [, b]) => b.count - a.count);
    return large.slice(0, limit).map(([destination, entry]) => ({ destination, ...entry }));
  }

  #apply(destination: number, { environment, count }: Entry): void {
    const entry = this.#entries.get(destination);
    const total = (entry?.count ?? 0) + count;
    if (total === 0) this.#entries.delete(destination);
    else if (entry === undefined) this.#entries.set(destination, { environment, count: total });
    else entry.count = total;
  }
}
