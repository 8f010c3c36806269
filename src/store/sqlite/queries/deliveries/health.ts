// The trouble of destinations that outlives a restart.
import type { DestinationHealth } from '../../../../model/destination.ts';
import { formatId } from '../../../../model/id.ts';
import type { ReadContext, WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';

type HealthRow = {
  id: Uint8Array;
  failing_since: number | null;
  failure_count: number;
  held_until: number | null;
};

const SELECT_ALL = `
  SELECT t.id, h.failing_since, h.failure_count, h.held_until
  FROM destination_health h JOIN destinations t ON t.key = h.destination
  WHERE t.deleted_at IS NULL`;

// A destination deleted meanwhile gets none.
const UPSERT = `
  INSERT INTO destination_health (destination, failing_since, failure_count, held_until)
  SELECT key, ?2, ?3, ?4 FROM destinations WHERE key = ?1 AND deleted_at IS NULL
  ON CONFLICT (destination) DO UPDATE
  SET failing_since = excluded.failing_since, failure_count = excluded.failure_count, held_until = excluded.held_until`;

export function createHealthReads({ db }: ReadContext) {
  const selectAll = prepare<HealthRow>(db, SELECT_ALL);
  return {
    readHealth: (): DestinationHealth[] =>
      selectAll.all().map((row) => ({
        destinationId: formatId('dst', row.id),
        failingSince: row.failing_since,
        failureCount: row.failure_count,
        heldUntil: row.held_until,
      })),
  };
}

export function createHealthWriter({ db, destinationKeys }: WriteContext): (health: DestinationHealth) => void {
  const upsert = prepare(db, UPSERT);
  const remove = prepare(db, 'DELETE FROM destination_health WHERE destination = ?');
  return ({ destinationId, failingSince, failureCount, heldUntil }) => {
    const destination = destinationKeys.keyOf(destinationId);
    if (destination === null) return;
    if (failingSince === null && failureCount === 0 && heldUntil === null) remove.run(destination);
    else upsert.run(destination, failingSince, failureCount, heldUntil === null ? null : Math.round(heldUntil));
  };
}
