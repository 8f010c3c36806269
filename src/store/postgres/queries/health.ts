// The trouble of destinations that outlives a restart.
import type { DestinationHealth } from '../../../model/destination.ts';
import { formatId, idBytes, idShard } from '../../../model/id.ts';
import type { ReadContext } from '../context.ts';
import { batchStatement, statementOfEveryShard } from '../statement.ts';
import type { BatchRow } from '../statement.ts';
import type { Tx } from '../transaction.ts';

type HealthRow = {
  destination_id: Uint8Array;
  failing_since: number | null;
  failure_count: number;
  held_until: number | null;
};

// There are as many rows as destinations with trouble, and whoever owns some asks once at its start
const SELECT_ALL = statementOfEveryShard<HealthRow>(
  'destination_health_all',
  `SELECT h.destination_id, h.failing_since, h.failure_count, h.held_until
   FROM destination_health h JOIN destinations t ON t.id = h.destination_id
   WHERE t.deleted_at IS NULL AND (h.failing_since IS NOT NULL OR h.failure_count > 0 OR h.held_until IS NOT NULL)`,
);

// A destination deleted meanwhile gets none. Batches are written side by side, so an older one may come later.
const UPSERT = batchStatement<never>(
  'destination_health_upsert',
  { destination_id: 'uuid', failing_since: 'int8', failure_count: 'int4', held_until: 'int8' },
  ({ rows, shard, next }) => `
    INSERT INTO destination_health AS h (shard, destination_id, failing_since, failure_count, held_until, reported_at)
    SELECT ${shard}, r.destination_id, r.failing_since, r.failure_count, r.held_until, $${next}::int8
    FROM ${rows}
    WHERE EXISTS (SELECT 1 FROM destinations t WHERE t.id = r.destination_id AND t.deleted_at IS NULL)
    ON CONFLICT (destination_id, shard) DO UPDATE
    SET failing_since = excluded.failing_since, failure_count = excluded.failure_count,
        held_until = excluded.held_until, reported_at = excluded.reported_at
    WHERE h.reported_at <= excluded.reported_at`,
);

export function createHealthReads({ read }: ReadContext) {
  return {
    readHealth: (): Promise<DestinationHealth[]> =>
      read(async (tx) =>
        (await tx.run(SELECT_ALL)).map((row) => ({
          destinationId: formatId('dst', row.destination_id),
          failingSince: row.failing_since,
          failureCount: row.failure_count,
          heldUntil: row.held_until,
        })),
      ),
  };
}

export function writeHealth(tx: Tx, health: readonly DestinationHealth[], now: number): Promise<unknown> {
  // A row can be written once in a statement; the last report counts.
  const last = new Map(health.map((one) => [one.destinationId, one]));
  const sorted = [...last.values()].sort((a, b) => (a.destinationId < b.destinationId ? -1 : 1));
  return tx.batch(UPSERT, sorted.map(toRow), [now]);
}

function toRow({ destinationId, failingSince, failureCount, heldUntil }: DestinationHealth): BatchRow {
  const until = heldUntil === null ? null : Math.round(heldUntil);
  return [idShard(destinationId), idBytes(destinationId), failingSince, failureCount, until];
}
