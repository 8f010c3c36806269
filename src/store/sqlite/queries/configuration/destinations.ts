// Destinations: create, read, list, change, delete. A deleted one leaves a tombstone (see the schema).
import type { DestinationWithKeys } from '../../../../model/destination.ts';
import { idBytes } from '../../../../model/id.ts';
import { ID_BYTES_MAX, destinationStatusCode } from '../../../rows/codec.ts';
import {
  CHANGEABLE_COLUMNS,
  DESTINATION_COLUMNS,
  applyChange,
  changeableValues,
  toDestination,
  type DestinationRow,
} from '../../../rows/destination-rows.ts';
import { toPage } from '../../../rows/page.ts';
import type { Read, ReadContext, Write } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { raiseConfig, readCounters } from './environments.ts';
import { DELETE_KEYS, insertKey, readKeys } from './signing-keys.ts';

export type KeyedDestinationRow = DestinationRow & { key: number };

export const KEYED_COLUMNS = `key, ${DESTINATION_COLUMNS}`;

const SELECT_ONE = statement<KeyedDestinationRow>(`
  SELECT ${KEYED_COLUMNS} FROM destinations WHERE id = ? AND environment = ? AND deleted_at IS NULL`);

const SELECT_PAGE = statement<KeyedDestinationRow>(`
  SELECT ${KEYED_COLUMNS} FROM destinations
  WHERE environment = ? AND deleted_at IS NULL AND id < ? ORDER BY id DESC LIMIT ?`);

const SELECT_PAGE_OF_STATUS = statement<KeyedDestinationRow>(`
  SELECT ${KEYED_COLUMNS} FROM destinations
  WHERE environment = ? AND deleted_at IS NULL AND id < ? AND status = ? ORDER BY id DESC LIMIT ?`);

const INSERT = statement<{ key: number }>(`
  INSERT INTO destinations (id, environment, version, ${CHANGEABLE_COLUMNS.join(', ')}, created_at, updated_at)
  VALUES (?, ?, ?, ${CHANGEABLE_COLUMNS.map(() => '?').join(', ')}, ?, ?)
  RETURNING key`);

const UPDATE = statement(`
  UPDATE destinations
  SET version = ?, ${CHANGEABLE_COLUMNS.map((name) => `${name} = ?`).join(', ')}, updated_at = ?
  WHERE key = ?`);

// The secrets go with the destination; what its deliveries need for being read stays. It is settled at once if nothing
// of it is unfinished: on PostgreSQL an accept may be on its way to its commit, so it is settled a minute later there.
const BURY = statement(`
  UPDATE destinations SET version = ?, deleted_at = ?, is_settled = ?, headers = NULL, updated_at = ? WHERE key = ?`);

// Trouble is over when somebody says so by activating; a Retry-After that was asked for still holds.
const FORGET_FAILURES = statement(
  'UPDATE destination_health SET failing_since = NULL, failure_count = 0 WHERE destination = ?',
);

export const DELETE_HEALTH = statement('DELETE FROM destination_health WHERE destination = ?');

const DELETE_LIVE_SUBSCRIPTIONS = statement('DELETE FROM subscriptions WHERE destination = ? AND deleted_at IS NULL');
const DELETE_SUBSCRIPTIONS = statement('DELETE FROM subscriptions WHERE destination = ?');

export function withKeys({ sql, sealer }: ReadContext, row: KeyedDestinationRow): DestinationWithKeys {
  return { ...toDestination(row, sealer), signingKeys: readKeys(sql, row.key, sealer) };
}

export const readDestination: Read<'readDestination'> = (context, { environment, id }) =>
  context.read(() => {
    const row = context.sql(SELECT_ONE).get(idBytes(id), environment);
    return row === undefined ? null : withKeys(context, row);
  });

export const listDestinations: Read<'listDestinations'> = ({ sql, sealer }, { environment, status, before, limit }) => {
  const below = before === null ? ID_BYTES_MAX : idBytes(before);
  const rows =
    status === null
      ? sql(SELECT_PAGE).all(environment, below, limit + 1)
      : sql(SELECT_PAGE_OF_STATUS).all(environment, below, destinationStatusCode.numberOf(status), limit + 1);
  return toPage(rows, limit, (row) => toDestination(row, sealer));
};

export const createDestination: Write<'createDestination'> = (context, destination, limits) => {
  const { sql, write, sealer, diskReserve } = context;
  diskReserve.assertRoom();
  return write(() => {
    const { id, environment, createdAt, updatedAt } = destination;
    if (readCounters(sql, environment).destination_count >= limits.max) return 'over_limit';
    const version = raiseConfig(sql, environment, { destinations: 1 });
    const values = changeableValues(destination, sealer);
    const row = sql(INSERT).get(idBytes(id), environment, version, ...values, createdAt, updatedAt);
    for (const key of destination.signingKeys) insertKey(sql, row!.key, key, sealer);
    return 'created';
  });
};

export const updateDestination: Write<'updateDestination'> = (context, { environment, id, change, now }) => {
  const { sql, write, sealer, diskReserve } = context;
  diskReserve.assertRoom();
  return write(() => {
    const row = sql(SELECT_ONE).get(idBytes(id), environment);
    if (row === undefined) return null;
    const before = toDestination(row, sealer);
    const after = applyChange(before, change, now);
    // What was known is known of the receiver that it had.
    if (before.url !== after.url) sql(DELETE_HEALTH).run(row.key);
    else if (before.status === 'paused' && after.status === 'active') sql(FORGET_FAILURES).run(row.key);
    sql(UPDATE).run(raiseConfig(sql, environment), ...changeableValues(after, sealer), after.updatedAt, row.key);
    return after;
  });
};

// Not refused when the disk is nearly full: it is a way to make room.
export const deleteDestination: Write<'deleteDestination'> = ({ sql, write, backlog }, { environment, id, now }) =>
  write(() => {
    const row = sql(SELECT_ONE).get(idBytes(id), environment);
    if (row === undefined) return false;
    const subscriptions = -Number(sql(DELETE_LIVE_SUBSCRIPTIONS).run(row.key).changes);
    sql(DELETE_SUBSCRIPTIONS).run(row.key);
    sql(DELETE_KEYS).run(row.key);
    sql(DELETE_HEALTH).run(row.key);
    const version = raiseConfig(sql, environment, { destinations: -1, subscriptions });
    const isSettled = backlog.countOf(row.key) === 0 ? 1 : 0;
    sql(BURY).run(version, now, isSettled, now, row.key);
    backlog.drop(row.key);
    return true;
  });
