// Erasing bodies that have reached their age, oldest first. What is still unfinished of such an event ends with it:
// there is nothing left to send.
import { firstIdBytesAt } from '../../../../model/id.ts';
import { expire } from '../../../../model/transitions.ts';
import type { StepReport } from '../../../store.ts';
import { isUnfinished } from '../../../rows/codec.ts';
import type { WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { runSteps } from './steps.ts';
import { createStateWriter } from '../deliveries/write-state.ts';

const ROWS_PER_STEP = 25;

const SELECT_OLDEST = 'SELECT event_id FROM event_bodies WHERE event_id < ? ORDER BY event_id LIMIT 1';

const SELECT_DELIVERIES = `
  SELECT d.id, d.status, d.environment, d.destination, t.deleted_at
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.event_id = ? AND d.id > ?
  ORDER BY d.id LIMIT ${ROWS_PER_STEP}`;

type DeliveryRow = {
  id: Uint8Array;
  status: number;
  environment: number;
  destination: number;
  deleted_at: number | null;
};

/** How far the walk over the deliveries of the oldest event has come; null: at their beginning. */
type Position = { eventId: Uint8Array; after: Uint8Array } | null;

const BEFORE_ALL = new Uint8Array(16);

export function createErase(context: WriteContext) {
  const { db, backlog } = context;
  const selectOldest = prepare<{ event_id: Uint8Array }>(db, SELECT_OLDEST);
  const selectDeliveries = prepare<DeliveryRow>(db, SELECT_DELIVERIES);
  const writeState = createStateWriter(context);
  const removeBody = prepare(db, 'DELETE FROM event_bodies WHERE event_id = ?');

  // An event may have more deliveries than one step should look at. The position is moved only by what is committed.
  let committed: Position = null;

  const expireDelivery = (row: DeliveryRow, now: number): number => {
    // A deleted destination's deliveries have ended by that already.
    if (!isUnfinished(row.status) || row.deleted_at !== null) return 0;
    writeState(row.id, expire(now), now);
    backlog.add(row.destination, row.environment, -1);
    return 1;
  };

  return {
    eraseBodies({ cutoff, now, budgetMs }: { cutoff: number; now: number; budgetMs: number }): StepReport {
      const end = firstIdBytesAt(cutoff);
      let position = committed;
      const eraseSome = (): number | null => {
        const event = selectOldest.get(end);
        if (event === undefined) return null;
        const { event_id: eventId } = event;
        const after =
          position !== null && Buffer.compare(position.eventId, eventId) === 0 ? position.after : BEFORE_ALL;
        const rows = selectDeliveries.all(eventId, after);
        const expired = rows.reduce((sum, row) => sum + expireDelivery(row, now), 0);
        if (rows.length === ROWS_PER_STEP) {
          position = { eventId, after: rows.at(-1)!.id };
          return expired;
        }
        position = null;
        removeBody.run(eventId);
        return expired + 1;
      };
      const report = runSteps(context, budgetMs, [eraseSome]);
      committed = position;
      return report;
    },
  };
}
