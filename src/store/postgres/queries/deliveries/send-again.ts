// The two ways an operator sends a delivery again: a forced attempt, and a fresh schedule for a dead one.
import type { OpenState } from '../../../../model/delivery.ts';
import { formatId, idTime } from '../../../../model/id.ts';
import { sendAgain, type SendAgain } from '../../../../model/transitions.ts';
import { isUnfinished } from '../../../rows/codec.ts';
import { stateValues, toDelivery, toOpenDelivery, toState } from '../../../rows/delivery-rows.ts';
import type { SendAgainRequest, SendAgainResult } from '../../../store.ts';
import type { BacklogChange } from '../../backlog.ts';
import { writeToHandOver, type Write, type WriteContext } from '../../context.ts';
import { Overtaken } from '../../wire/errors.ts';
import { statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { ALL_OPEN, TAKE_DONE, insertOpen, keyOf, toMovedRow, type OpenStored } from './delivery-tables.ts';
import { hasBody } from '../events/event-rows.ts';
import { selectDelivery, type CompleteRow } from './select-delivery.ts';

const MOVE_OPEN = statement<OpenStored>(
  'open_deliveries_move',
  `UPDATE open_deliveries d
   SET status = $4::int2, dead_reason = $5::int2, completed_at = $6::int8, due_at = $7::int8, scheduled_at = $8::int8,
       fallback_status = $9::int2, schedule_position = $10::int4,
       updated_at = greatest(updated_at, $11::int8), rev = rev + 1
   WHERE d.shard = $1::int2 AND d.id = $2 AND d.rev = $3::int4
   RETURNING ${ALL_OPEN}`,
);

// In one statement, so that a delivery on its way from one table to the other is in exactly one of them.
const HAS_MOVED = statement<unknown>(
  'deliveries_has_moved',
  `SELECT 1 FROM open_deliveries WHERE shard = $1::int2 AND id = $2 AND rev > $3::int4
   UNION ALL SELECT 1 FROM done_deliveries WHERE shard = $1::int2 AND id = $2 AND rev > $3::int4`,
);

export const retryDelivery: Write<'retryDelivery'> = (context, request) => send(context, 'retry', request);

export const replayDead: Write<'replayDead'> = (context, request) => send(context, 'replay_dead', request);

function send({ write, backlog, horizons }: WriteContext, how: SendAgain, request: SendAgainRequest) {
  return writeToHandOver(backlog, write, async (tx, change): Promise<SendAgainResult> => {
    const row = await selectDelivery(tx, horizons, request);
    if (row === null) return tx.refuse({ result: 'not_found' });
    // What a forced attempt had kept is not read: one that waits forced already stays as it is.
    const state = toState({ ...row, scheduled_at: null, fallback_status: null });
    const eventId = formatId('evt', row.event_id);
    const next = sendAgain(how, state, {
      isDestinationDeleted: row.deleted_at !== null,
      isTooOld: idTime(eventId) < request.bodyCutoff || !(await hasBody(tx, horizons, eventId)),
      now: request.now,
    });
    if (next === 'unchanged') return tx.refuse({ result: 'scheduled', delivery: toDelivery(row), open: null });
    if (typeof next === 'string') return tx.refuse({ result: next });
    const move = { row, next, now: request.now };
    const [stored] = await (isUnfinished(row.status) ? moveOpen(tx, move) : reopen(tx, [move], change));
    // Somebody has moved it since it was read: the transaction is tried anew.
    if (stored === undefined) throw new Overtaken();
    const delivery = toDelivery({ ...row, ...stored });
    tx.provedBy(HAS_MOVED, [...keyOf(delivery.id), row.rev]);
    return { result: 'scheduled', delivery, open: toOpenDelivery(stored, delivery.destinationId) };
  });
}

export type Move = { row: CompleteRow; next: OpenState; now: number };

/** No row: somebody moved the delivery since it was read. */
export function moveOpen(tx: Tx, { row, next, now }: Move): Promise<OpenStored[]> {
  return tx.run(MOVE_OPEN, [...keyOf(formatId('dlv', row.id)), row.rev, ...stateValues(next), now]);
}

/** Back from the finished to the unfinished: those that nobody has moved since they were read, in any order. */
export async function reopen(tx: Tx, moves: readonly Move[], change: BacklogChange): Promise<OpenStored[]> {
  const moveOf = new Map(moves.map((move) => [move.row.id.toHex(), move]));
  const seen = moves.map(({ row }) => [...keyOf(formatId('dlv', row.id)), row.rev] as const);
  const done = await tx.batch(TAKE_DONE, seen);
  const stored = done.map((row) => {
    const { next, now } = moveOf.get(row.id.toHex())!;
    change.add(formatId('dst', row.destination_id), row.environment, 1);
    return toMovedRow(row, next, now) as OpenStored;
  });
  void insertOpen(tx, stored);
  return stored;
}
