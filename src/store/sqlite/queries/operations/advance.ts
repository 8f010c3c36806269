// One step of an operation: what it does to deliveries and how far it has come are one transaction, so that a crash
// leaves neither a delivery that was met twice nor one that was not met.
import type { OpenDelivery } from '../../../../model/delivery.ts';
import { formatId, idBytes, type DestinationId } from '../../../../model/id.ts';
import { advance } from '../../../../model/operation.ts';
import { SUCCEEDED } from '../../../rows/codec.ts';
import { progressOf, toOperation, type ReplayOutcome } from '../../../rows/operation-rows.ts';
import type { OperationStep } from '../../../store.ts';
import type { Read, Write, WriteContext } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { readCounters } from '../configuration/environments.ts';
import { sendOneAgain } from '../deliveries/send-again.ts';
import { replayOne } from '../events/accept.ts';
import { SELECT_OPERATION, writeOperation } from './operations.ts';

// A forced attempt may be waiting of a delivery that had succeeded.
const SELECT_SUCCEEDED = statement<{ id: Uint8Array }>(`
  SELECT t.id FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.event_id = ? AND d.environment = ? AND (d.status = ${SUCCEEDED} OR d.fallback_status = ${SUCCEEDED})`);

export const readSucceeded: Read<'readSucceeded'> = ({ sql }, { environment, eventId }) => {
  const rows = sql(SELECT_SUCCEEDED).all(idBytes(eventId), environment);
  return [...new Set(rows.map(({ id }): DestinationId => formatId('dst', id)))];
};

export const advanceOperation: Write<'advanceOperation'> = (context, step) => {
  const { sql, write, diskReserve } = context;
  const { operation, replays, position, end, now } = step;
  const { id, environment, rev } = operation;
  if (replays !== null) diskReserve.assertRoom();
  return write(() => {
    const row = sql(SELECT_OPERATION).get(idBytes(id), environment);
    if (row === undefined || row.rev !== rev || row.finished_at !== null) return { result: 'overtaken' };
    if (replays !== null && replays.configVersion < readCounters(sql, environment).config_version) {
      return { result: 'stale' };
    }
    const open = sendAllAgain(context, step);
    const replayed = replayAll(context, step);
    const progress = progressOf(step, { open, ...replayed });
    const advanced = advance(toOperation(row), { progress, position, end, now });
    writeOperation(context, advanced);
    return { result: 'advanced', operation: advanced, open, ...replayed };
  });
};

function sendAllAgain(context: WriteContext, { operation, sendAgain, bodyCutoff, now }: OperationStep): OpenDelivery[] {
  const { environment } = operation;
  const sent = (sendAgain?.ids ?? []).map((id) =>
    sendOneAgain(context, sendAgain!.how, { environment, id, now, bodyCutoff }),
  );
  return sent.filter((one) => typeof one !== 'string');
}

function replayAll(context: WriteContext, { operation, replays, bodyCutoff, now }: OperationStep) {
  const { environment } = operation;
  const made: ReplayOutcome = { backlogFull: [], tooOld: [] };
  for (const { id: eventId, deliveries } of replays?.events ?? []) {
    const replayed = replayOne(context, { environment, eventId, deliveries, now, bodyCutoff });
    if (replayed.result === 'replayed') made.backlogFull.push(...replayed.backlogFull);
    else made.tooOld.push(eventId);
  }
  return made;
}
