// Writes into rows what reads show of a deleted destination's unfinished deliveries.
import { endByDeletion } from '../../../../model/transitions.ts';
import type { StepReport } from '../../../store.ts';
import type { WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { runSteps } from './steps.ts';
import { createStateWriter } from '../deliveries/write-state.ts';

const ROWS_PER_STEP = 25;

const SELECT_UNSETTLED = `
  SELECT key, deleted_at FROM destinations WHERE deleted_at IS NOT NULL AND is_settled = 0 LIMIT 1`;

const SELECT_OPEN = `
  SELECT id, updated_at FROM deliveries WHERE status <= 1 AND destination = ? LIMIT ${ROWS_PER_STEP}`;

export function createEndDeleted(context: WriteContext) {
  const { db } = context;
  const selectUnsettled = prepare<{ key: number; deleted_at: number }>(db, SELECT_UNSETTLED);
  const selectOpen = prepare<{ id: Uint8Array; updated_at: number }>(db, SELECT_OPEN);
  const writeState = createStateWriter(context);
  const settle = prepare(db, 'UPDATE destinations SET is_settled = 1 WHERE key = ?');

  const endSome = (): number | null => {
    const destination = selectUnsettled.get();
    if (destination === undefined) return null;
    const open = selectOpen.all(destination.key);
    for (const row of open) {
      const ended = endByDeletion(row.updated_at, destination.deleted_at);
      writeState(row.id, ended, ended.updatedAt);
    }
    if (open.length < ROWS_PER_STEP) settle.run(destination.key);
    return open.length;
  };

  return {
    endDeletedDeliveries: ({ budgetMs }: { now: number; budgetMs: number }): StepReport =>
      runSteps(context, budgetMs, [endSome]),
  };
}
