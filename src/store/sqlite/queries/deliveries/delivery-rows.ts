// The statements about deliveries that several queries share: a row as operators see it, one as dispatching sees it,
// and where a move leaves it.
import type { DeliveryState } from '../../../../model/delivery.ts';
import { stateValues, type DeliveryRow, type OpenRowWithDestination } from '../../../rows/delivery-rows.ts';
import type { WriteContext } from '../../context.ts';
import { statement } from '../../file/database.ts';

export const SELECT_DELIVERY = statement<DeliveryRow>(`
  SELECT d.id, d.event_id, e.type AS event_type, t.id AS destination_id, d.subscription_id, d.status, d.dead_reason,
         d.origin, d.attempt_count, d.response_codes, d.due_at, d.updated_at, d.completed_at,
         d.fallback_status, t.status AS is_paused, t.deleted_at, h.held_until
  FROM deliveries d
  JOIN destinations t ON t.key = d.destination
  JOIN events e ON e.environment = d.environment AND e.id = d.event_id
  LEFT JOIN destination_health h ON h.destination = d.destination
  WHERE d.id = ? AND d.environment = ?`);

export const STATE_COLUMNS = `
  d.status, d.dead_reason, d.completed_at, d.due_at, d.scheduled_at, d.fallback_status, d.schedule_position`;

export const OPEN_COLUMNS = `d.id, d.environment, d.event_id, d.rev, d.attempt_count, ${STATE_COLUMNS}`;

export const SELECT_OPEN = statement<OpenRowWithDestination>(`
  SELECT ${OPEN_COLUMNS}, t.id AS destination_id
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.id = ?`);

// No `rev` is compared, as on PostgreSQL: the row was read in this transaction, and the only writer is here.
const WRITE_STATE = statement(`
  UPDATE deliveries
  SET status = ?1, dead_reason = ?2, completed_at = ?3, due_at = ?4, scheduled_at = ?5, fallback_status = ?6,
      schedule_position = ?7, updated_at = max(updated_at, ?8), rev = rev + 1
  WHERE id = ?9`);

/** Writes a move of a delivery that no attempt belongs to (transitions.ts): the row stands where the move says. */
export function writeState({ sql }: WriteContext, id: Uint8Array, state: DeliveryState, updatedAt: number): void {
  sql(WRITE_STATE).run(...stateValues(state), updatedAt, id);
}
