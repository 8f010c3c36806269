// The trouble of destinations that outlives a restart.
import type { DestinationHealth } from '../../../../model/destination.ts';
import { toHealth, type HealthRow } from '../../../rows/stats-rows.ts';
import type { Read, WriteContext } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { DELETE_HEALTH } from '../configuration/destinations.ts';

const SELECT_ALL = statement<HealthRow>(`
  SELECT t.id AS destination_id, h.failing_since, h.failure_count, h.held_until
  FROM destination_health h JOIN destinations t ON t.key = h.destination
  WHERE t.deleted_at IS NULL`);

// A destination deleted meanwhile gets none. Reports come one after the other here, so none is older than what is
// stored; on PostgreSQL, where batches are written side by side, a row says when it was reported.
const UPSERT = statement(`
  INSERT INTO destination_health (destination, failing_since, failure_count, held_until)
  SELECT key, ?2, ?3, ?4 FROM destinations WHERE key = ?1 AND deleted_at IS NULL
  ON CONFLICT (destination) DO UPDATE
  SET failing_since = excluded.failing_since, failure_count = excluded.failure_count,
      held_until = excluded.held_until`);

export const readHealth: Read<'readHealth'> = ({ sql }) => sql(SELECT_ALL).all().map(toHealth);

/** To be called inside a transaction. */
export function writeHealth(context: WriteContext, health: DestinationHealth): void {
  const { destinationId, failingSince, failureCount, heldUntil } = health;
  const destination = context.findDestinationKey(destinationId);
  if (destination === null) return;
  const { sql } = context;
  if (failingSince === null && failureCount === 0 && heldUntil === null) sql(DELETE_HEALTH).run(destination);
  else sql(UPSERT).run(destination, failingSince, failureCount, heldUntil === null ? null : Math.round(heldUntil));
}
