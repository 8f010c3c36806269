// How many unfinished deliveries each destination has, in this process's memory: counted once at open, then moved by
// every transaction of ours. A counter in the database would be a row that every transaction waits for.
//
// Of several nodes each sees only its own changes since it counted, so each counts again now and then, whatever changes
// meanwhile. The limit is a fuse against one customer's silence filling the disk: it need not be exact by then.
import { formatId, idShard } from '../../model/id.ts';
import type { DestinationId } from '../../model/id.ts';
import type { DestinationBacklog } from '../store.ts';
import { statementOfEveryShard } from './wire/statement.ts';
import type { Tx } from './wire/transaction.ts';

export interface Backlog {
  /** With what transactions under way have taken. */
  countOf(destination: DestinationId): number;
  /** One transaction's changes. What it adds counts at once, so that two at a time share the room there is. */
  begin(): BacklogChange;
  /** A deleted destination's unfinished deliveries have ended, in whatever form: they count no more. */
  drop(destination: DestinationId): void;
  /** `shards`: only of these. */
  countByEnvironment(shards?: readonly number[]): { environment: number; count: number }[];
  /** The largest, in that order; none below `min`. `shards`: only of these. */
  findLargest(request: { min: number; limit: number; shards?: readonly number[] }): DestinationBacklog[];
  /** What was counted anew takes the place of what we thought. */
  replace(counts: readonly BacklogCount[]): void;
}

export interface BacklogChange {
  add(destination: DestinationId, environment: number, change: number): void;
  settle(isCommitted: boolean): void;
}

type Entry = { environment: number; count: number };

// From an index alone: ten million unfinished deliveries take a few seconds.
const COUNT = statementOfEveryShard<{ destination_id: Uint8Array; environment: number; count: number }>(
  'backlog_count',
  `SELECT d.destination_id, t.environment, d.count
   FROM (SELECT shard, destination_id, count(*) AS count FROM open_deliveries GROUP BY shard, destination_id) AS d
   JOIN destinations t ON t.id = d.destination_id
   WHERE t.deleted_at IS NULL`,
);

type BacklogCount = { destination: DestinationId; environment: number; count: number };

/** Counts what is there. */
export async function loadBacklog(tx: Tx): Promise<Backlog> {
  const backlog = createBacklog();
  backlog.replace(await countBacklog(tx));
  return backlog;
}

export async function countBacklog(tx: Tx): Promise<BacklogCount[]> {
  const rows = await tx.run(COUNT);
  return rows.map(({ destination_id: id, environment, count }) => {
    return { destination: formatId('dst', id), environment, count };
  });
}

function createBacklog(): Backlog {
  const entries = new Map<DestinationId, Entry>();
  // Ids are never used twice, so what comes late for a dropped one can be told apart for ever.
  const dropped = new Set<DestinationId>();

  const move = (destination: DestinationId, environment: number, change: number): void => {
    if (dropped.has(destination)) return;
    const entry = entries.get(destination) ?? { environment, count: 0 };
    entry.count += change;
    if (entry.count <= 0) entries.delete(destination);
    else entries.set(destination, entry);
  };

  const begin = (): BacklogChange => {
    const taken: [DestinationId, number, number][] = [];
    const given: [DestinationId, number, number][] = [];
    return {
      add(destination, environment, change) {
        if (change > 0) move(destination, environment, change);
        (change > 0 ? taken : given).push([destination, environment, change]);
      },
      settle(isCommitted) {
        if (isCommitted) for (const one of given) move(...one);
        else for (const [destination, environment, change] of taken) move(destination, environment, -change);
      },
    };
  };

  return {
    countOf: (destination) => entries.get(destination)?.count ?? 0,
    begin,
    drop(destination) {
      entries.delete(destination);
      dropped.add(destination);
    },
    countByEnvironment(shards) {
      const wanted = shards === undefined ? null : new Set(shards);
      const counts = new Map<number, number>();
      for (const [destination, { environment, count }] of entries) {
        if (wanted !== null && !wanted.has(idShard(destination))) continue;
        counts.set(environment, (counts.get(environment) ?? 0) + count);
      }
      return [...counts].map(([environment, count]) => ({ environment, count }));
    },
    findLargest({ min, limit, shards }) {
      const wanted = shards === undefined ? null : new Set(shards);
      const large: DestinationBacklog[] = [];
      for (const [destinationId, { environment, count }] of entries) {
        if (count < min || wanted?.has(idShard(destinationId)) === false) continue;
        large.push({ destinationId, environment, unfinished: count });
      }
      return large.sort((a, b) => b.unfinished - a.unfinished).slice(0, limit);
    },
    replace(counts) {
      entries.clear();
      for (const { destination, environment, count } of counts) move(destination, environment, count);
    },
  };
}
