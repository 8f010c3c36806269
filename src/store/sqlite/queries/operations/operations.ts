// Operations as operators see them: made, read, listed, cancelled, paused, resumed.
import { formatId, idBytes } from '../../../../model/id.ts';
import { act, type Operation } from '../../../../model/operation.ts';
import { ID_BYTES_MAX, operationStatusCode } from '../../../rows/codec.ts';
import { OPERATION_COLUMNS, changedValues, toOperation, type OperationRow } from '../../../rows/operation-rows.ts';
import { toPage } from '../../../rows/page.ts';
import type { Read, Write, WriteContext } from '../../context.ts';
import { statement } from '../../file/database.ts';

const RUNNING = operationStatusCode.numberOf('running');

export const SELECT_OPERATION = statement<OperationRow>(
  `SELECT ${OPERATION_COLUMNS} FROM operations WHERE id = ? AND environment = ?`,
);

const SELECT_PAGE = statement<OperationRow>(
  `SELECT ${OPERATION_COLUMNS} FROM operations WHERE environment = ? AND id < ? ORDER BY id DESC LIMIT ?`,
);

// The unfinished are few, and an index has just them.
const SELECT_RUNNING = statement<{ id: Uint8Array; environment: number; rev: number }>(`
  SELECT id, environment, rev FROM operations WHERE finished_at IS NULL AND status = ${RUNNING} ORDER BY id`);

const SELECT_EQUAL = statement<{ id: Uint8Array }>(
  'SELECT id FROM operations WHERE environment = ? AND identity = ? AND finished_at IS NULL',
);

const COUNT_UNFINISHED = statement<{ count: number }>(
  'SELECT count(*) AS count FROM operations WHERE environment = ? AND finished_at IS NULL',
);

const INSERT = statement(`
  INSERT INTO operations (id, environment, request, identity, created_at, created_by,
                          status, rev, position, total, done, failed, skipped, updated_at, finished_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);

const UPDATE = statement(`
  UPDATE operations
  SET status = ?, rev = ?, position = ?, total = ?, done = ?, failed = ?, skipped = ?, updated_at = ?, finished_at = ?
  WHERE id = ?`);

export const createOperation: Write<'createOperation'> = (context, { operation, identity }, { unfinishedMax }) => {
  const { sql, write, diskReserve } = context;
  diskReserve.assertRoom();
  return write(() => {
    const { id, environment, request, createdAt, createdBy } = operation;
    const equal = sql(SELECT_EQUAL).get(environment, identity);
    if (equal !== undefined) return { result: 'in_progress', id: formatId('op', equal.id) };
    if (sql(COUNT_UNFINISHED).get(environment)!.count >= unfinishedMax) return { result: 'over_limit' };
    const fixed = [idBytes(id), environment, JSON.stringify(request), identity, createdAt, idBytes(createdBy)];
    sql(INSERT).run(...fixed, ...changedValues(operation));
    return { result: 'created' };
  });
};

export const readOperation: Read<'readOperation'> = ({ sql }, { environment, id }) => {
  const row = sql(SELECT_OPERATION).get(idBytes(id), environment);
  return row === undefined ? null : toOperation(row);
};

export const listOperations: Read<'listOperations'> = ({ sql }, { environment, before, limit }) => {
  const below = before === null ? ID_BYTES_MAX : idBytes(before);
  return toPage(sql(SELECT_PAGE).all(environment, below, limit + 1), limit, toOperation);
};

export const readRunningOperations: Read<'readRunningOperations'> = ({ sql }) =>
  sql(SELECT_RUNNING)
    .all()
    .map(({ id, environment, rev }) => ({ id: formatId('op', id), environment, rev }));

export const changeOperation: Write<'changeOperation'> = (context, { environment, id, action, now }) =>
  context.write(() => {
    const row = context.sql(SELECT_OPERATION).get(idBytes(id), environment);
    if (row === undefined) return 'not_found';
    const before = toOperation(row);
    const after = act(before, action, now);
    if (after !== 'ended' && after !== before) writeOperation(context, after);
    return after;
  });

export function writeOperation({ sql }: WriteContext, operation: Operation): void {
  sql(UPDATE).run(...changedValues(operation), idBytes(operation.id));
}
