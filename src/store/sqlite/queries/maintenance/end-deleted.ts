// Writes into rows what reads show of a deleted destination's unfinished deliveries.
import { endByDeletion } from '../../../../model/transitions.ts';
import { toEnding, type DeliveryRow } from '../../../rows/delivery-rows.ts';
import { EndedTally } from '../../../rows/ended-unsent.ts';
import type { Write } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { writeState } from '../deliveries/delivery-rows.ts';
import { runSteps } from './steps.ts';

const ROWS_PER_STEP = 25;

const SELECT_UNSETTLED = statement<{ key: number; id: Uint8Array; environment: number; deleted_at: number }>(`
  SELECT key, id, environment, deleted_at FROM destinations WHERE deleted_at IS NOT NULL AND is_settled = 0 LIMIT 1`);

type OpenRow = Pick<DeliveryRow, 'id' | 'updated_at' | 'completed_at' | 'fallback_status'>;

const SELECT_OPEN = statement<OpenRow>(`
  SELECT id, updated_at, completed_at, fallback_status
  FROM deliveries WHERE status <= 1 AND destination = ? LIMIT ${ROWS_PER_STEP}`);

const SETTLE = statement('UPDATE destinations SET is_settled = 1 WHERE key = ?');

export const endDeletedDeliveries: Write<'endDeletedDeliveries'> = (context, { budgetMs }) => {
  const { sql } = context;
  const tally = new EndedTally();
  const endSome = (): number | null => {
    const destination = sql(SELECT_UNSETTLED).get();
    if (destination === undefined) return null;
    const open = sql(SELECT_OPEN).all(destination.key);
    for (const row of open) {
      const ended = endByDeletion({ ...toEnding(row), updatedAt: row.updated_at }, destination.deleted_at);
      writeState(context, row.id, ended, ended.updatedAt);
      tally.add(destination.id, destination.environment, ended.deadReason);
    }
    if (open.length < ROWS_PER_STEP) sql(SETTLE).run(destination.key);
    return open.length;
  };
  return { ...runSteps(context, budgetMs, [endSome]), ended: tally.list() };
};
