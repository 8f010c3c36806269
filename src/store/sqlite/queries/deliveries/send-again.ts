// The two ways an operator sends a delivery again: a forced attempt, and a fresh schedule for a dead one.
import type { OpenDelivery } from '../../../../model/delivery.ts';
import { formatId, idBytes, idTime } from '../../../../model/id.ts';
import { sendAgain, type SendAgain, type SendAgainRefusal } from '../../../../model/transitions.ts';
import { isUnfinished } from '../../../rows/codec.ts';
import { toDelivery, toOpenDeliveryAlone, toState, type StateRow } from '../../../rows/delivery-rows.ts';
import type { SendAgainRequest, SendAgainResult } from '../../../store.ts';
import type { Write, WriteContext } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { SELECT_DELIVERY, SELECT_OPEN, STATE_COLUMNS, writeState } from './delivery-rows.ts';

type SendableRow = StateRow & {
  environment: number;
  event_id: Uint8Array;
  destination: number;
  deleted_at: number | null;
  has_body: number;
};

const SELECT_SENDABLE = statement<SendableRow>(`
  SELECT d.environment, d.event_id, d.destination, ${STATE_COLUMNS}, t.deleted_at,
         EXISTS (SELECT 1 FROM event_bodies b WHERE b.event_id = d.event_id) AS has_body
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.id = ? AND d.environment = ?`);

export const retryDelivery: Write<'retryDelivery'> = (context, request) => send(context, 'retry', request);

export const replayDead: Write<'replayDead'> = (context, request) => send(context, 'replay_dead', request);

function send(context: WriteContext, how: SendAgain, request: SendAgainRequest): SendAgainResult {
  return context.write(() => {
    const sent = sendOneAgain(context, how, request);
    if (typeof sent === 'string' && sent !== 'unchanged') return { result: sent };
    const delivery = toDelivery(context.sql(SELECT_DELIVERY).get(idBytes(request.id), request.environment)!);
    return { result: 'scheduled', delivery, open: sent === 'unchanged' ? null : sent };
  });
}

/** To be called inside a transaction. `unchanged`: it waits forced already. */
export function sendOneAgain(
  context: WriteContext,
  how: SendAgain,
  request: SendAgainRequest,
): OpenDelivery | SendAgainRefusal | 'unchanged' {
  const { sql, backlog } = context;
  const id = idBytes(request.id);
  const row = sql(SELECT_SENDABLE).get(id, request.environment);
  if (row === undefined) return 'not_found';
  const next = sendAgain(how, toState(row), {
    isDestinationDeleted: row.deleted_at !== null,
    isTooOld: row.has_body === 0 || idTime(formatId('evt', row.event_id)) < request.bodyCutoff,
    now: request.now,
  });
  if (typeof next === 'string') return next;
  writeState(context, id, next, request.now);
  if (!isUnfinished(row.status)) backlog.add(row.destination, row.environment, 1);
  return toOpenDeliveryAlone(sql(SELECT_OPEN).get(id)!);
}
