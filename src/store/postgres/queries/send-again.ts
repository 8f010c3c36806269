// The two ways an operator sends a delivery again: a forced attempt, and a fresh schedule for a dead one.
import { FORCED_DUE_AT } from '../../../model/delivery.ts';
import { formatId, idTime } from '../../../model/id.ts';
import { DEAD, PENDING, RETRYING, isUnfinished } from '../../rows/codec.ts';
import { effectiveStatus, toDelivery, toOpenDelivery } from '../../rows/delivery-rows.ts';
import type { DeliveryRow } from '../../rows/delivery-rows.ts';
import type { SendAgainRequest, SendAgainResult } from '../../store.ts';
import type { BacklogChange } from '../backlog.ts';
import type { WriteContext } from '../context.ts';
import { writeCounted } from '../context.ts';
import { Overtaken } from '../errors.ts';
import { statement } from '../statement.ts';
import type { Tx } from '../transaction.ts';
import { ALL_OPEN, TAKE_DONE, insertOpen, keyOf } from './delivery-tables.ts';
import type { OpenStored, StoredDelivery } from './delivery-tables.ts';
import { hasBody } from './event-rows.ts';
import { selectDelivery } from './select-delivery.ts';

// How it had ended (dead_reason, completed_at) stays in the row, for the attempt may fail.
const FORCE = statement<OpenStored>(
  'open_deliveries_force',
  `UPDATE open_deliveries d
   SET fallback_status = status, scheduled_at = due_at, status = ${RETRYING}, due_at = ${FORCED_DUE_AT},
       rev = rev + 1, updated_at = $4::int8
   WHERE d.shard = $1::int2 AND d.id = $2 AND d.rev = $3::int4
   RETURNING ${ALL_OPEN}`,
);

type Found = DeliveryRow & { rev: number };
type Refusal = 'not_found' | 'too_old' | 'destination_deleted';

export function createSendAgainWrites({ write, backlog, horizons }: WriteContext) {
  const find = async (tx: Tx, request: SendAgainRequest): Promise<{ row: Found; refusal: Refusal | null } | null> => {
    const row = (await selectDelivery(tx, horizons, request)) as Found | null;
    if (row === null) return null;
    if (row.deleted_at !== null) return { row, refusal: 'destination_deleted' };
    const eventId = formatId('evt', row.event_id);
    const isTooOld = idTime(eventId) < request.bodyCutoff || !(await hasBody(tx, horizons, eventId));
    return { row, refusal: isTooOld ? 'too_old' : null };
  };

  const scheduled = (row: Found, stored: OpenStored): SendAgainResult => {
    const delivery = toDelivery({ ...row, ...stored });
    return { result: 'scheduled', delivery, open: toOpenDelivery(stored, delivery.destinationId) };
  };

  return {
    retryDelivery: (request: SendAgainRequest): Promise<SendAgainResult> =>
      writeCounted(backlog, write, async (tx, change): Promise<SendAgainResult> => {
        const found = await find(tx, request);
        if (found === null) return tx.refuse({ result: 'not_found' });
        const { row, refusal } = found;
        if (refusal !== null) return tx.refuse({ result: refusal });
        if (row.due_at === FORCED_DUE_AT) {
          return tx.refuse({ result: 'scheduled', delivery: toDelivery(row), open: null });
        }
        const stored = isUnfinished(row.status)
          ? await force(tx, row, request)
          : await reopen(tx, { row, change }, (done) => forced(done, request.now));
        return scheduled(row, stored);
      }),

    replayDead: (request: SendAgainRequest): Promise<SendAgainResult> =>
      writeCounted(backlog, write, async (tx, change): Promise<SendAgainResult> => {
        const found = await find(tx, request);
        if (found === null) return tx.refuse({ result: 'not_found' });
        const { row, refusal } = found;
        if (refusal === 'destination_deleted') return tx.refuse({ result: refusal });
        if (effectiveStatus(row) !== DEAD) return tx.refuse({ result: 'not_found' });
        if (refusal !== null) return tx.refuse({ result: refusal });
        return scheduled(row, await reopen(tx, { row, change }, (done) => afresh(done, request.now)));
      }),
  };
}

async function force(tx: Tx, row: Found, { now }: SendAgainRequest): Promise<OpenStored> {
  const [stored] = await tx.run(FORCE, [...keyOf(formatId('dlv', row.id)), row.rev, now]);
  // Somebody moved it since it was read: look again.
  if (stored === undefined) throw new Overtaken();
  return stored;
}

/** Back from the finished to the unfinished. */
async function reopen(
  tx: Tx,
  { row, change }: { row: Found; change: BacklogChange },
  open: (done: StoredDelivery) => OpenStored,
): Promise<OpenStored> {
  const [done] = await tx.batch(TAKE_DONE, [[...keyOf(formatId('dlv', row.id)), row.rev]]);
  if (done === undefined) throw new Overtaken();
  const stored = open(done);
  void insertOpen(tx, [stored]);
  change.add(formatId('dst', done.destination_id), done.environment, 1);
  return stored;
}

function forced(done: StoredDelivery, now: number): OpenStored {
  return {
    ...done,
    status: RETRYING,
    fallback_status: done.status,
    scheduled_at: null,
    due_at: FORCED_DUE_AT,
    rev: done.rev + 1,
    updated_at: now,
  };
}

function afresh(done: StoredDelivery, now: number): OpenStored {
  return {
    ...done,
    status: PENDING,
    fallback_status: null,
    scheduled_at: null,
    due_at: now,
    schedule_position: 0,
    dead_reason: null,
    completed_at: null,
    rev: done.rev + 1,
    updated_at: now,
  };
}
