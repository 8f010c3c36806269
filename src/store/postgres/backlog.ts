// How many unfinished deliveries each destination has, in this process's memory: counted once at open, then moved by
// every transaction of ours. A counter in the database would be a row that every transaction waits for.
//
// Of several nodes each sees only its own changes since it counted: deliveries that another node ends are missing. So
// each counts again now and then, whatever changes meanwhile, and once more before a delivery is born dead, for nothing
// may die of a backlog that is not there (`countSuspects`).
import { SHARD_COUNT, formatId, idBytes, idShard, type DestinationId } from '../../model/id.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { DestinationBacklog, Store } from '../store.ts';
import { isOnly, statement, statementOfEveryShard } from './wire/statement.ts';
import type { Transactions, Tx } from './wire/transaction.ts';

type Entry = { environment: number; count: number };

/**
 * Of so many shards at a time. From an index alone ten million unfinished deliveries take a few seconds: those of all
 * shards at once would take longer than a statement may, where there are some times as many.
 */
const SHARDS_A_COUNT = 16;
const COUNT = statementOfEveryShard<{ destination_id: Uint8Array; environment: number; count: number }>(
  'backlog_count',
  `SELECT d.destination_id, t.environment, d.count
   FROM (SELECT shard, destination_id, count(*) AS count FROM open_deliveries
         WHERE shard BETWEEN $1::int2 AND $2::int2 GROUP BY shard, destination_id) AS d
   JOIN destinations t ON t.id = d.destination_id
   WHERE t.deleted_at IS NULL`,
);

/**
 * Others' events wait in the transaction that counts, so no more than this is counted there. A higher limit is a fuse
 * against a full disk, and need not be exact.
 */
const LIMIT_COUNTED_MAX = 100_000;
/** An accept that read the configuration before a deletion ends long before there have been so many more of them. */
const DROPPED_MAX = 10_000;
/** What was found to be full is believed for so long. */
const BELIEVED_MS = 1_000;

const COUNT_ONE = statement<{ count: number }>(
  'backlog_count_one',
  `SELECT count(*) AS count FROM
     (SELECT FROM open_deliveries
      WHERE shard = $1::int2 AND ${isOnly('destination_id', '$2::uuid')}
      ORDER BY destination_id LIMIT $3::int4) AS counted`,
);

/** Counts those of these destinations anew that memory takes for full. */
export async function countSuspects(
  tx: Tx,
  { backlog, backlogMax, clock, foundFullAt }: CountContext,
  suspects: Iterable<DestinationId>,
): Promise<void> {
  if (backlogMax > LIMIT_COUNTED_MAX) return;
  for (const destination of suspects) {
    if (backlog.countOf(destination) < backlogMax) continue;
    const believedAt = foundFullAt.get(destination) ?? Number.NEGATIVE_INFINITY;
    if (clock.monotonic() - believedAt < BELIEVED_MS) continue;
    const [row] = await tx.run(COUNT_ONE, [idShard(destination), idBytes(destination), backlogMax]);
    backlog.correct(destination, row!.count);
    if (backlog.countOf(destination) < backlogMax) foundFullAt.delete(destination);
    else foundFullAt.set(destination, clock.monotonic());
  }
}

export type CountContext = {
  backlog: Backlog;
  /** Beyond this many unfinished deliveries of a destination new ones are born dead. */
  backlogMax: number;
  clock: Clock;
  /** When each destination was last counted and found full, monotonic ms; forgotten with every recount. */
  foundFullAt: Map<DestinationId, number>;
};

/** What is there takes the place of what memory thought: other nodes finish deliveries too. */
export async function recountBacklog(backlog: Backlog, read: Transactions['read']): Promise<void> {
  for (let first = 0; first < SHARD_COUNT; first += SHARDS_A_COUNT) {
    const last = first + SHARDS_A_COUNT - 1;
    const rows = await read((tx) => tx.run(COUNT, [first, last]));
    const counts = rows.map(({ destination_id: id, ...row }) => ({ ...row, destination: formatId('dst', id) }));
    backlog.replace({ first, last }, counts);
  }
}

export type BacklogChange = ReturnType<Backlog['begin']>;

export class Backlog {
  readonly #entries = new Map<DestinationId, Entry>();
  /** What comes late for a dropped one is told apart by its id, which is never used again. */
  readonly #dropped = new Set<DestinationId>();
  /** What transactions have taken that have not ended yet. */
  readonly #underWay = new Map<DestinationId, number>();

  /** With what transactions under way have taken. */
  countOf(destination: DestinationId): number {
    return this.#entries.get(destination)?.count ?? 0;
  }

  /** One transaction's changes. What it adds counts at once, so that two at a time share the room there is. */
  begin() {
    const taken: [DestinationId, number, number][] = [];
    const given: [DestinationId, number, number][] = [];
    return {
      add: (destination: DestinationId, environment: number, change: number): void => {
        if (change > 0) {
          this.#move(destination, environment, change);
          this.#addUnderWay(destination, change);
        }
        (change > 0 ? taken : given).push([destination, environment, change]);
      },
      settle: (isCommitted: boolean): void => {
        for (const [destination, , change] of taken) this.#addUnderWay(destination, -change);
        if (isCommitted) for (const one of given) this.#move(...one);
        else for (const [destination, environment, change] of taken) this.#move(destination, environment, -change);
      },
    };
  }

  /** A deleted destination's unfinished deliveries have ended, in whatever form: they count no more. */
  drop(destination: DestinationId): void {
    this.#entries.delete(destination);
    this.#dropped.add(destination);
    if (this.#dropped.size > DROPPED_MAX) this.#dropped.delete(this.#dropped.values().next().value!);
  }

  /** `shards`: only of these. */
  countByEnvironment(shards?: readonly number[]): { environment: number; count: number }[] {
    const wanted = shards === undefined ? null : new Set(shards);
    const counts = new Map<number, number>();
    for (const [destination, { environment, count }] of this.#entries) {
      if (wanted?.has(idShard(destination)) === false) continue;
      counts.set(environment, (counts.get(environment) ?? 0) + count);
    }
    return [...counts].map(([environment, count]) => ({ environment, count }));
  }

  /** The largest, in that order; none below `min`. `shards`: only of these. */
  findLargest({ min, limit, shards }: Parameters<Store['findBacklogs']>[0]): DestinationBacklog[] {
    const wanted = shards === undefined ? null : new Set(shards);
    const large: DestinationBacklog[] = [];
    for (const [destinationId, { environment, count }] of this.#entries) {
      if (count < min || wanted?.has(idShard(destinationId)) === false) continue;
      large.push({ destinationId, environment, unfinished: count });
    }
    return large.sort((a, b) => b.unfinished - a.unfinished).slice(0, limit);
  }

  /** What was counted in these shards takes the place of what we thought. */
  replace(
    shards: { first: number; last: number },
    counts: readonly { destination: DestinationId; environment: number; count: number }[],
  ): void {
    for (const destination of this.#entries.keys()) {
      const shard = idShard(destination);
      if (shard >= shards.first && shard <= shards.last) this.#entries.delete(destination);
    }
    for (const { destination, environment, count } of counts) this.#move(destination, environment, count);
  }

  /** The same of one destination, where it is less; transactions under way have taken some that were not counted. */
  correct(destination: DestinationId, count: number): void {
    const entry = this.#entries.get(destination);
    const counted = count + (this.#underWay.get(destination) ?? 0);
    if (entry !== undefined) this.#move(destination, entry.environment, Math.min(0, counted - entry.count));
  }

  #move(destination: DestinationId, environment: number, change: number): void {
    if (this.#dropped.has(destination)) return;
    const entry = this.#entries.get(destination) ?? { environment, count: 0 };
    entry.count += change;
    if (entry.count <= 0) this.#entries.delete(destination);
    else this.#entries.set(destination, entry);
  }

  #addUnderWay(destination: DestinationId, change: number): void {
    const count = (this.#underWay.get(destination) ?? 0) + change;
    if (count <= 0) this.#underWay.delete(destination);
    else this.#underWay.set(destination, count);
  }
}
