// Writes into rows what reads show of a deleted destination's unfinished deliveries.
import type { StepReport } from '../../store.ts';
import { DEAD, deadReasonCode } from '../../rows/codec.ts';
import type { WriteContext } from '../context.ts';
import { prepare } from '../database.ts';
import { runSteps } from './steps.ts';

const ROWS_PER_STEP = 25;

const SELECT_UNSETTLED = `
  SELECT key, deleted_at FROM destinations WHERE deleted_at IS NOT NULL AND is_settled = 0 LIMIT 1`;

const END = `
  UPDATE deliveries
  SET status = ${DEAD}, dead_reason = ${deadReasonCode.numberOf('destination_deleted')}, completed_at = ?1,
      due_at = NULL, scheduled_at = NULL, fallback_status = NULL, rev = rev + 1, updated_at = max(updated_at, ?1)
  WHERE id IN (SELECT id FROM deliveries WHERE status <= 1 AND destination = ?2 LIMIT ${ROWS_PER_STEP})`;

export function createEndDeleted(context: WriteContext) {
  const { db } = context;
  const selectUnsettled = prepare<{ key: number; deleted_at: number }>(db, SELECT_UNSETTLED);
  const end = prepare(db, END);
  const settle = prepare(db, 'UPDATE destinations SET is_settled = 1 WHERE key = ?');

  const endSome = (): number | null => {
    const destination = selectUnsettled.get();
    if (destination === undefined) return null;
    const ended = Number(end.run(destination.deleted_at, destination.key).changes);
    if (ended < ROWS_PER_STEP) settle.run(destination.key);
    return ended;
  };

  return {
    endDeletedDeliveries: ({ budgetMs }: { now: number; budgetMs: number }): StepReport =>
      runSteps(context, budgetMs, [endSome]),
  };
}
