// The two ways an operator sends a delivery again: a forced attempt, and a fresh schedule for a dead one.
import { formatId, idBytes, idTime } from '../../../../model/id.ts';
import { sendAgain } from '../../../../model/transitions.ts';
import type { SendAgain } from '../../../../model/transitions.ts';
import { isUnfinished } from '../../../rows/codec.ts';
import { toDelivery, toOpenDeliveryAlone, toState } from '../../../rows/delivery-rows.ts';
import type { DeliveryRow, OpenRowWithDestination, StateRow } from '../../../rows/delivery-rows.ts';
import type { SendAgainRequest, SendAgainResult } from '../../../store.ts';
import type { WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { SELECT_DELIVERY, SELECT_OPEN, STATE_COLUMNS } from './select-delivery.ts';
import { createStateWriter } from './write-state.ts';

type SendableRow = StateRow & {
  environment: number;
  event_id: Uint8Array;
  destination: number;
  deleted_at: number | null;
  has_body: number;
};

const SELECT_SENDABLE = `
  SELECT d.environment, d.event_id, d.destination, ${STATE_COLUMNS}, t.deleted_at,
         EXISTS (SELECT 1 FROM event_bodies b WHERE b.event_id = d.event_id) AS has_body
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.id = ? AND d.environment = ?`;

export function createSendAgainWrites(context: WriteContext) {
  const { db, write, backlog } = context;
  const selectSendable = prepare<SendableRow>(db, SELECT_SENDABLE);
  const selectDelivery = prepare<DeliveryRow>(db, SELECT_DELIVERY);
  const selectOpen = prepare<OpenRowWithDestination>(db, SELECT_OPEN);
  const writeState = createStateWriter(context);

  const scheduled = (request: SendAgainRequest, isChanged: boolean): SendAgainResult => {
    const id = idBytes(request.id);
    const delivery = toDelivery(selectDelivery.get(id, request.environment)!);
    return { result: 'scheduled', delivery, open: isChanged ? toOpenDeliveryAlone(selectOpen.get(id)!) : null };
  };

  const send = (how: SendAgain, request: SendAgainRequest): SendAgainResult =>
    write(() => {
      const id = idBytes(request.id);
      const row = selectSendable.get(id, request.environment);
      if (row === undefined) return { result: 'not_found' };
      const next = sendAgain(how, toState(row), {
        isDestinationDeleted: row.deleted_at !== null,
        isTooOld: row.has_body === 0 || idTime(formatId('evt', row.event_id)) < request.bodyCutoff,
        now: request.now,
      });
      if (next === 'unchanged') return scheduled(request, false);
      if (typeof next === 'string') return { result: next };
      writeState(id, next, request.now);
      if (!isUnfinished(row.status)) backlog.add(row.destination, row.environment, 1);
      return scheduled(request, true);
    });

  return {
    retryDelivery: (request: SendAgainRequest): SendAgainResult => send('retry', request),
    replayDead: (request: SendAgainRequest): SendAgainResult => send('replay_dead', request),
  };
}
