// One step of an operation: what it does to deliveries and how far it has come are one transaction, so that a crash
// leaves neither a delivery that was met twice nor one that was not met. Of two nodes that take the same step one finds
// at its end that the other was first, and takes back what it did.
import { formatId, idBytes, idTime, type DestinationId } from '../../../../model/id.ts';
import { advance } from '../../../../model/operation.ts';
import { SUCCEEDED } from '../../../rows/codec.ts';
import { progressOf, type ReplayOutcome } from '../../../rows/operation-rows.ts';
import type { OperationStep, OperationStepResult } from '../../../store.ts';
import type { BacklogChange } from '../../backlog.ts';
import { withPartitions } from '../../bisect.ts';
import { writeToHandOver, type Read, type Write, type WriteContext } from '../../context.ts';
import { statementOfEveryShard } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { readConfigVersion } from '../configuration/environments.ts';
import { timesOf } from '../deliveries/delivery-tables.ts';
import { selectWithBody } from '../events/event-rows.ts';
import { insertDeliveries } from '../events/insert-deliveries.ts';
import { selectOperation, writeOperation } from './operations.ts';
import { sendManyAgain } from './send-many.ts';

// A forced attempt may be waiting of a delivery that had succeeded.
const SELECT_SUCCEEDED = statementOfEveryShard<{ destination_id: Uint8Array }>(
  'deliveries_succeeded_of_event',
  `(SELECT destination_id FROM done_deliveries
    WHERE event_id = $1 AND environment = $2::int4 AND status = ${SUCCEEDED})
   UNION ALL
   (SELECT destination_id FROM open_deliveries
    WHERE event_id = $1 AND environment = $2::int4 AND fallback_status = ${SUCCEEDED})`,
);

export const readSucceeded: Read<'readSucceeded'> = ({ read }, { environment, eventId }) =>
  read(async (tx) => {
    const rows = await tx.run(SELECT_SUCCEEDED, [idBytes(eventId), environment]);
    return [...new Set(rows.map((row): DestinationId => formatId('dst', row.destination_id)))];
  });

export const advanceOperation: Write<'advanceOperation'> = (context, step) => {
  const { write, backlog, partitions } = context;
  const made = (step.replays?.events ?? []).flatMap(({ deliveries }) => deliveries.map(({ id }) => id));
  return withPartitions(partitions, timesOf(made), () =>
    writeToHandOver(backlog, write, (tx, change) => takeStep(tx, context, change, step)),
  );
};

async function takeStep(
  tx: Tx,
  context: WriteContext,
  change: BacklogChange,
  step: OperationStep,
): Promise<OperationStepResult> {
  const { operation, replays, position, end, now } = step;
  const { id, environment, rev } = operation;
  const [current, version] = await Promise.all([
    selectOperation(tx, environment, id),
    readConfigVersion(tx, environment),
  ]);
  if (current === null || current.rev !== rev || current.finishedAt !== null) return tx.refuse({ result: 'overtaken' });
  if (replays !== null && replays.configVersion < version) return tx.refuse({ result: 'stale' });
  const [open, replayed] = await Promise.all([
    sendManyAgain(tx, context, change, step),
    replayAll(tx, context, change, step),
  ]);
  const advanced = advance(current, { progress: progressOf(step, { open, ...replayed }), position, end, now });
  await writeOperation(tx, current, advanced);
  return { result: 'advanced', operation: advanced, open, ...replayed };
}

async function replayAll(
  tx: Tx,
  context: WriteContext,
  change: BacklogChange,
  { operation, replays, bodyCutoff, now: dueAt }: OperationStep,
): Promise<ReplayOutcome> {
  if (replays === null) return { backlogFull: [], tooOld: [] };
  const { environment } = operation;
  const ids = replays.events.map(({ id }) => id);
  const withBody = await selectWithBody(tx, context.horizons, ids);
  const isReplayed = (id: (typeof ids)[number]): boolean => withBody.has(id) && idTime(id) >= bodyCutoff;
  const events = replays.events
    .filter(({ id }) => isReplayed(id))
    .map(({ id: eventId, deliveries }) => ({ environment, eventId, origin: 'replay' as const, dueAt, deliveries }));
  const backlogFull = await insertDeliveries(tx, context, change, events);
  return { backlogFull: backlogFull.flat(), tooOld: ids.filter((id) => !isReplayed(id)) };
}
