// What an operation's step does to deliveries that are there: as send-again.ts does to one, for many at once. A
// delivery that somebody else moves meanwhile is left as they leave it.
import type { OpenDelivery } from '../../../../model/delivery.ts';
import { formatId, idTime } from '../../../../model/id.ts';
import { sendAgain } from '../../../../model/transitions.ts';
import { isUnfinished } from '../../../rows/codec.ts';
import { toOpenDeliveryAlone, toState } from '../../../rows/delivery-rows.ts';
import type { OperationStep } from '../../../store.ts';
import type { BacklogChange } from '../../backlog.ts';
import type { WriteContext } from '../../context.ts';
import type { Tx } from '../../wire/transaction.ts';
import { keyOf } from '../deliveries/delivery-tables.ts';
import { SELECT_MANY_DONE, SELECT_MANY_OPEN, completeRows } from '../deliveries/select-delivery.ts';
import { moveOpen, reopen, type Move } from '../deliveries/send-again.ts';
import { selectWithBody } from '../events/event-rows.ts';

/** Those that are to be sent now. */
export async function sendManyAgain(
  tx: Tx,
  { horizons }: WriteContext,
  change: BacklogChange,
  step: OperationStep,
): Promise<OpenDelivery[]> {
  if (step.sendAgain === null) return [];
  const moves = await decideMoves(tx, horizons, step.sendAgain, step);
  const [finished, open] = [moves.filter(isOfFinished), moves.filter((move) => !isOfFinished(move))];
  const [reopened, moved] = await Promise.all([
    reopen(tx, finished, change),
    Promise.all(open.map((move) => moveOpen(tx, move))),
  ]);
  return [...reopened, ...moved.flat()].map(toOpenDeliveryAlone);
}

async function decideMoves(
  tx: Tx,
  horizons: WriteContext['horizons'],
  { how, ids }: NonNullable<OperationStep['sendAgain']>,
  { operation, bodyCutoff, now }: OperationStep,
): Promise<Move[]> {
  const select = how === 'replay_dead' ? SELECT_MANY_DONE : SELECT_MANY_OPEN;
  const rows = await completeRows(tx, horizons, await tx.batch(select, ids.map(keyOf), [operation.environment]));
  const eventIds = rows.map((row) => formatId('evt', row.event_id));
  const withBody = await selectWithBody(tx, horizons, eventIds);
  return rows.flatMap((row) => {
    const eventId = formatId('evt', row.event_id);
    // What a forced attempt had kept is not read: one that waits forced already stays as it is.
    const next = sendAgain(how, toState({ ...row, scheduled_at: null, fallback_status: null }), {
      isDestinationDeleted: row.deleted_at !== null,
      isTooOld: !withBody.has(eventId) || idTime(eventId) < bodyCutoff,
      now,
    });
    return typeof next === 'string' ? [] : [{ row, next, now }];
  });
}

function isOfFinished({ row }: Move): boolean {
  return !isUnfinished(row.status);
}
