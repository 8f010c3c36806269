// Erasing bodies that have reached their age, oldest first. What is still unfinished of such an event ends with it:
// there is nothing left to send.
import { firstIdBytesAt } from '../../../../model/id.ts';
import { expire } from '../../../../model/transitions.ts';
import { isUnfinished, ID_BYTES_MIN } from '../../../rows/codec.ts';
import { toEnding, type DeliveryRow } from '../../../rows/delivery-rows.ts';
import { EndedTally } from '../../../rows/ended-unsent.ts';
import type { Write, WriteContext } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { writeState } from '../deliveries/delivery-rows.ts';
import { runSteps } from './steps.ts';

const ROWS_PER_STEP = 25;

const SELECT_OLDEST = statement<{ event_id: Uint8Array }>(
  'SELECT event_id FROM event_bodies WHERE event_id < ? ORDER BY event_id LIMIT 1',
);

type OldRow = Pick<
  DeliveryRow,
  'id' | 'status' | 'destination_id' | 'deleted_at' | 'completed_at' | 'fallback_status'
> & { environment: number; destination: number };

const SELECT_DELIVERIES = statement<OldRow>(`
  SELECT d.id, d.status, d.environment, d.destination, d.completed_at, d.fallback_status,
         t.id AS destination_id, t.deleted_at
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.event_id = ? AND d.id > ?
  ORDER BY d.id LIMIT ${ROWS_PER_STEP}`);

const DELETE_BODY = statement('DELETE FROM event_bodies WHERE event_id = ?');

export const eraseBodies: Write<'eraseBodies'> = (context, { cutoff, now, budgetMs }) => {
  const { sql } = context;
  const end = firstIdBytesAt(cutoff);
  const ended = new EndedTally();
  // An event may have more deliveries than one step should look at. The position counts once it is committed.
  let position = context.erasing;
  const eraseSome = (): number | null => {
    const eventId = sql(SELECT_OLDEST).get(end)?.event_id;
    if (eventId === undefined) return null;
    const isGoingOn = position !== null && Buffer.compare(position.eventId, eventId) === 0;
    const rows = sql(SELECT_DELIVERIES).all(eventId, isGoingOn ? position!.after : ID_BYTES_MIN);
    const expired = rows.reduce((sum, row) => sum + expireDelivery(context, row, { now, ended }), 0);
    if (rows.length === ROWS_PER_STEP) {
      position = { eventId, after: rows.at(-1)!.id };
      return expired;
    }
    position = null;
    sql(DELETE_BODY).run(eventId);
    return expired + 1;
  };
  const report = runSteps(context, budgetMs, [eraseSome]);
  context.erasing = position;
  return { ...report, ended: ended.list() };
};

function expireDelivery(
  context: WriteContext,
  row: OldRow,
  { now, ended }: { now: number; ended: EndedTally },
): number {
  // A deleted destination's deliveries have ended by that already.
  if (!isUnfinished(row.status) || row.deleted_at !== null) return 0;
  const expired = expire(toEnding(row), now);
  writeState(context, row.id, expired, now);
  context.backlog.add(row.destination, row.environment, -1);
  ended.add(row.destination_id, row.environment, expired.deadReason);
  return 1;
}
