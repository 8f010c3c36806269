// The two ways an operator sends a delivery again: a forced attempt, and a fresh schedule for a dead one.
import { FORCED_DUE_AT } from '../../../model/delivery.ts';
import { formatId, idBytes, idTime } from '../../../model/id.ts';
import type { SendAgainRequest, SendAgainResult } from '../../store.ts';
import { DEAD, PENDING, RETRYING, isUnfinished } from '../../rows/codec.ts';
import type { WriteContext } from '../context.ts';
import { prepare } from '../database.ts';
import { toDelivery, toOpenDeliveryAlone } from '../../rows/delivery-rows.ts';
import { SELECT_DELIVERY, SELECT_OPEN } from './select-delivery.ts';
import type { DeliveryRow, OpenRowWithDestination } from '../../rows/delivery-rows.ts';

type SendableRow = {
  environment: number;
  event_id: Uint8Array;
  destination: number;
  status: number;
  due_at: number | null;
  deleted_at: number | null;
  has_body: number;
};

const SELECT_SENDABLE = `
  SELECT d.environment, d.event_id, d.destination, d.status, d.due_at, t.deleted_at,
         EXISTS (SELECT 1 FROM event_bodies b WHERE b.event_id = d.event_id) AS has_body
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.id = ? AND d.environment = ?`;

// How it had ended (dead_reason, completed_at) stays in the row, for the attempt may fail.
const FORCE = `
  UPDATE deliveries
  SET fallback_status = status, scheduled_at = due_at, status = ${RETRYING}, due_at = ${FORCED_DUE_AT},
      rev = rev + 1, updated_at = ?
  WHERE id = ?`;

const START_AFRESH = `
  UPDATE deliveries
  SET status = ${PENDING}, schedule_position = 0, due_at = ?1, dead_reason = NULL, completed_at = NULL,
      rev = rev + 1, updated_at = ?1
  WHERE id = ?2`;

type Refusal = 'not_found' | 'too_old' | 'destination_deleted';

export function createSendAgainWrites({ db, write, backlog }: WriteContext) {
  const selectSendable = prepare<SendableRow>(db, SELECT_SENDABLE);
  const selectDelivery = prepare<DeliveryRow>(db, SELECT_DELIVERY);
  const selectOpen = prepare<OpenRowWithDestination>(db, SELECT_OPEN);
  const force = prepare(db, FORCE);
  const startAfresh = prepare(db, START_AFRESH);

  const findRefusal = (row: SendableRow, bodyCutoff: number): Refusal | null => {
    if (row.deleted_at !== null) return 'destination_deleted';
    if (row.has_body === 0 || idTime(formatId('evt', row.event_id)) < bodyCutoff) return 'too_old';
    return null;
  };

  const scheduled = (request: SendAgainRequest, isChanged: boolean): SendAgainResult => {
    const id = idBytes(request.id);
    const delivery = toDelivery(selectDelivery.get(id, request.environment)!);
    return { result: 'scheduled', delivery, open: isChanged ? toOpenDeliveryAlone(selectOpen.get(id)!) : null };
  };

  return {
    retryDelivery(request: SendAgainRequest): SendAgainResult {
      return write(() => {
        const id = idBytes(request.id);
        const row = selectSendable.get(id, request.environment);
        if (row === undefined) return { result: 'not_found' };
        const refusal = findRefusal(row, request.bodyCutoff);
        if (refusal !== null) return { result: refusal };
        if (row.due_at === FORCED_DUE_AT) return scheduled(request, false);
        force.run(request.now, id);
        if (!isUnfinished(row.status)) backlog.add(row.destination, row.environment, 1);
        return scheduled(request, true);
      });
    },

    replayDead(request: SendAgainRequest): SendAgainResult {
      return write(() => {
        const id = idBytes(request.id);
        const row = selectSendable.get(id, request.environment);
        if (row === undefined) return { result: 'not_found' };
        const refusal = findRefusal(row, request.bodyCutoff);
        if (refusal === 'destination_deleted') return { result: refusal };
        if (row.status !== DEAD) return { result: 'not_found' };
        if (refusal !== null) return { result: refusal };
        startAfresh.run(request.now, id);
        backlog.add(row.destination, row.environment, 1);
        return scheduled(request, true);
      });
    },
  };
}
