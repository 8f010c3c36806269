// Writes a move of a delivery that no attempt belongs to (transitions.ts): the row stands where the move says.
import type { DeliveryState } from '../../../../model/delivery.ts';
import { toStateRow } from '../../../rows/delivery-rows.ts';
import type { WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';

// No `rev` is compared: the row was read in this transaction, and the only writer is here.
const WRITE_STATE = `
  UPDATE deliveries
  SET status = ?1, dead_reason = ?2, completed_at = ?3, due_at = ?4, scheduled_at = ?5, fallback_status = ?6,
      schedule_position = ?7, updated_at = ?8, rev = rev + 1
  WHERE id = ?9`;

export function createStateWriter({ db }: Pick<WriteContext, 'db'>) {
  const write = prepare(db, WRITE_STATE);
  return (id: Uint8Array, state: DeliveryState, updatedAt: number): void => {
    const row = toStateRow(state);
    const { dead_reason: deadReason, completed_at: completedAt, due_at: dueAt, scheduled_at: scheduledAt } = row;
    const { status, fallback_status: fallbackStatus, schedule_position: position } = row;
    write.run(status, deadReason, completedAt, dueAt, scheduledAt, fallbackStatus, position, updatedAt, id);
  };
}
