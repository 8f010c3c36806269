// Operations as operators see them: made, read, listed, cancelled, paused, resumed.
import { formatId, idBytes } from '../../../../model/id.ts';
import { act, type Operation } from '../../../../model/operation.ts';
import { ID_BYTES_MAX, operationStatusCode } from '../../../rows/codec.ts';
import { OPERATION_COLUMNS, changedValues, toOperation, type OperationRow } from '../../../rows/operation-rows.ts';
import { toPage } from '../../../rows/page.ts';
import type { Read, Write, WriteContext } from '../../context.ts';
import { Overtaken } from '../../wire/errors.ts';
import { statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';

const SELECT_ONE = statement<OperationRow>(
  'operations_one',
  `SELECT ${OPERATION_COLUMNS} FROM operations WHERE id = $1 AND environment = $2::int4`,
);

const SELECT_PAGE = statement<OperationRow>(
  'operations_page',
  `SELECT ${OPERATION_COLUMNS} FROM operations
   WHERE environment = $1::int4 AND id < $2 ORDER BY id DESC LIMIT $3::int4`,
);

const SELECT_RUNNING = statement<{ id: Uint8Array; environment: number; rev: number }>(
  'operations_running',
  `SELECT id, environment, rev FROM operations
   WHERE finished_at IS NULL AND status = ${operationStatusCode.numberOf('running')} ORDER BY id`,
);

const SELECT_EQUAL = statement<{ id: Uint8Array }>(
  'operations_equal',
  'SELECT id FROM operations WHERE environment = $1::int4 AND identity = $2 AND finished_at IS NULL',
);

const COUNT_UNFINISHED = statement<{ count: number }>(
  'operations_count_unfinished',
  'SELECT count(*) AS count FROM operations WHERE environment = $1::int4 AND finished_at IS NULL',
);

/** 'oper' as a number. */
const TURN_LOCK = 0x6f_70_65_72;

const TAKE_TURN = statement<never>('operations_take_turn', `SELECT pg_advisory_xact_lock(${TURN_LOCK})`);

const INSERT = statement<never>(
  'operations_insert',
  `INSERT INTO operations (id, environment, request, identity, created_at, created_by,
                           status, rev, position, total, done, failed, skipped, updated_at, finished_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
);

// Only as it was seen.
const UPDATE = statement<never>(
  'operations_update',
  `UPDATE operations
   SET status = $3::int2, rev = $4::int4, position = $5, total = $6::int8, done = $7::int8, failed = $8::int8,
       skipped = $9::int8, updated_at = $10::int8, finished_at = $11::int8
   WHERE id = $1 AND rev = $2::int4`,
);

/** Whether the operation has come as far, or further. */
const HAS_COME = statement<unknown>(
  'operations_has_come',
  'SELECT 1 FROM operations WHERE id = $1 AND rev >= $2::int4',
);

const DELETE_FINISHED = statement<never>(
  'operations_delete_finished',
  `DELETE FROM operations
   WHERE id = ANY (ARRAY(
     SELECT id FROM operations WHERE finished_at < $1::int8 ORDER BY finished_at LIMIT $2::int4))`,
);

export const createOperation: Write<'createOperation'> = ({ write }, { operation, identity }, { unfinishedMax }) =>
  write(async (tx) => {
    const { id, environment, request, createdAt, createdBy } = operation;
    await tx.run(TAKE_TURN);
    const [[equal], [unfinished]] = await Promise.all([
      tx.run(SELECT_EQUAL, [environment, identity]),
      tx.run(COUNT_UNFINISHED, [environment]),
    ]);
    if (equal !== undefined) return tx.refuse({ result: 'in_progress', id: formatId('op', equal.id) });
    if (unfinished!.count >= unfinishedMax) return tx.refuse({ result: 'over_limit' });
    const fixed = [idBytes(id), environment, JSON.stringify(request), identity, createdAt, idBytes(createdBy)];
    void tx.change(INSERT, [...fixed, ...changedValues(operation)]);
    tx.provedBy(HAS_COME, [idBytes(id), operation.rev]);
    return { result: 'created' };
  });

export const readOperation: Read<'readOperation'> = ({ read }, { environment, id }) =>
  read((tx) => selectOperation(tx, environment, id));

export const listOperations: Read<'listOperations'> = ({ read }, { environment, before, limit }) =>
  read(async (tx) => {
    const below = before === null ? ID_BYTES_MAX : idBytes(before);
    return toPage(await tx.run(SELECT_PAGE, [environment, below, limit + 1]), limit, toOperation);
  });

export const readRunningOperations: Read<'readRunningOperations'> = ({ look }) =>
  look(async (tx) => {
    const rows = await tx.run(SELECT_RUNNING);
    return rows.map(({ id, environment, rev }) => ({ id: formatId('op', id), environment, rev }));
  });

export const changeOperation: Write<'changeOperation'> = ({ write }, { environment, id, action, now }) =>
  write(async (tx) => {
    const before = await selectOperation(tx, environment, id);
    if (before === null) return tx.refuse('not_found');
    const after = act(before, action, now);
    if (after === 'ended' || after === before) return tx.refuse(after);
    await writeOperation(tx, before, after);
    return after;
  });

export async function selectOperation(tx: Tx, environment: number, id: Operation['id']): Promise<Operation | null> {
  const [row] = await tx.run(SELECT_ONE, [idBytes(id), environment]);
  return row === undefined ? null : toOperation(row);
}

/** Another writer may have changed it since it was read: then the transaction is tried anew. */
export async function writeOperation(tx: Tx, before: Operation, after: Operation): Promise<void> {
  tx.provedBy(HAS_COME, [idBytes(after.id), after.rev]);
  if ((await tx.change(UPDATE, [idBytes(after.id), before.rev, ...changedValues(after)])) === 0) throw new Overtaken();
}

export function deleteFinishedOperations(
  { write }: WriteContext,
  { cutoff, limit }: { cutoff: number; limit: number },
): Promise<number | null> {
  return write(async (tx) => (await tx.change(DELETE_FINISHED, [cutoff, limit])) || tx.refuse(null));
}
