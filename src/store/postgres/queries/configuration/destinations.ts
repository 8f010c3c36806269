// Destinations: create, read, list, change, delete. A deleted one leaves a tombstone (see the schema).
import type { Destination } from '../../../../model/destination.ts';
import { idBytes, idShard } from '../../../../model/id.ts';
import type { Sealer } from '../../../../runtime/sealer.ts';
import { ID_BYTES_MAX, destinationStatusCode } from '../../../rows/codec.ts';
import {
  CHANGEABLE_COLUMNS,
  DESTINATION_COLUMNS,
  applyChange,
  changeableValues,
  type DestinationRow,
} from '../../../rows/destination-rows.ts';
import { toPage } from '../../../rows/page.ts';
import type { Read, Write } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import { encodeText, type Value } from '../../wire/values.ts';
import { leaveBarrier } from '../cluster/barriers.ts';
import { SELECT_DESTINATION, insertKey, provedByVersion, toOneDestination, withKeys } from './destination-rows.ts';
import { changeCounts, raiseConfig } from './environments.ts';

const SELECT_PAGE = statement<DestinationRow>(
  'destinations_page',
  `SELECT ${DESTINATION_COLUMNS} FROM destinations
   WHERE environment = $1::int4 AND deleted_at IS NULL AND id < $2 ORDER BY id DESC LIMIT $3::int4`,
);

const SELECT_PAGE_OF_STATUS = statement<DestinationRow>(
  'destinations_page_of_status',
  `SELECT ${DESTINATION_COLUMNS} FROM destinations
   WHERE environment = $1::int4 AND deleted_at IS NULL AND id < $2 AND status = $4::int2
   ORDER BY id DESC LIMIT $3::int4`,
);

const INSERT = statement<never>(
  'destinations_insert',
  `INSERT INTO destinations (id, environment, created_at, updated_at, version, ${CHANGEABLE_COLUMNS.join(', ')})
   VALUES ($1, $2, $3, $4, $5, ${CHANGEABLE_COLUMNS.map((_, i) => `$${i + 6}`).join(', ')})`,
);

const UPDATE = statement<never>(
  'destinations_update',
  `UPDATE destinations
   SET version = $2, updated_at = $3, ${CHANGEABLE_COLUMNS.map((name, i) => `${name} = $${i + 4}`).join(', ')}
   WHERE id = $1`,
);

// The secrets go with the destination; what its deliveries need for being read stays.
const BURY = statement<never>(
  'destinations_bury',
  `UPDATE destinations SET version = $2::int8, deleted_at = $3::int8, updated_at = $3::int8, headers = NULL
   WHERE id = $1`,
);

// Trouble is over when somebody says so by activating; a Retry-After that was asked for still holds.
const FORGET_FAILURES = statement<never>(
  'destination_health_forget_failures',
  `UPDATE destination_health SET failing_since = NULL, failure_count = 0
   WHERE shard = $1::int2 AND destination_id = $2`,
);

export const DELETE_HEALTH = statement<never>(
  'destination_health_delete',
  'DELETE FROM destination_health WHERE shard = $1::int2 AND destination_id = $2',
);

const DELETE_KEYS = statement<never>('signing_keys_delete_all', 'DELETE FROM signing_keys WHERE destination_id = $1');

const DELETE_SUBSCRIPTIONS = statement<{ was_live: boolean }>(
  'subscriptions_delete_all',
  'DELETE FROM subscriptions WHERE destination_id = $1 RETURNING deleted_at IS NULL AS was_live',
);

export const readDestination: Read<'readDestination'> = ({ read, sealer }, request) =>
  read(async (tx) => {
    const rows = await tx.run(SELECT_DESTINATION, [idBytes(request.id), request.environment]);
    return (await withKeys(tx, rows, sealer))[0] ?? null;
  });

export const listDestinations: Read<'listDestinations'> = ({ read, sealer }, { environment, status, before, limit }) =>
  read(async (tx) => {
    const page = [environment, before === null ? ID_BYTES_MAX : idBytes(before), limit + 1];
    const found =
      status === null
        ? await tx.run(SELECT_PAGE, page)
        : await tx.run(SELECT_PAGE_OF_STATUS, [...page, destinationStatusCode.numberOf(status)]);
    return toPage(found, limit, (row) => toOneDestination(row, sealer));
  });

export const createDestination: Write<'createDestination'> = ({ write, sealer }, destination, limits) =>
  write(async (tx) => {
    const { id, environment, createdAt, updatedAt } = destination;
    const { config_version: version, destination_count: count } = await raiseConfig(tx, environment);
    if (count >= limits.max) return tx.refuse('over_limit');
    void changeCounts(tx, environment, { destinations: 1 });
    void tx.change(INSERT, [idBytes(id), environment, createdAt, updatedAt, version, ...valuesOf(destination, sealer)]);
    for (const key of destination.signingKeys) void insertKey(tx, id, key, sealer);
    provedByVersion(tx, id, version);
    return 'created';
  });

export const updateDestination: Write<'updateDestination'> = ({ write, sealer }, { environment, id, change, now }) =>
  write(async (tx) => {
    const { config_version: version } = await raiseConfig(tx, environment);
    const [row] = await tx.run(SELECT_DESTINATION, [idBytes(id), environment]);
    if (row === undefined) return tx.refuse(null);
    const before = toOneDestination(row, sealer);
    const after = applyChange(before, change, now);
    const key = [idShard(id), idBytes(id)];
    // What was known is known of the receiver that it had.
    if (before.url !== after.url) void tx.change(DELETE_HEALTH, key);
    else if (before.status === 'paused' && after.status === 'active') void tx.change(FORGET_FAILURES, key);
    void tx.change(UPDATE, [idBytes(id), version, after.updatedAt, ...valuesOf(after, sealer)]);
    void leaveBarrier(tx, { destinationId: id, environment, version });
    provedByVersion(tx, id, version);
    return after;
  });

export const deleteDestination: Write<'deleteDestination'> = async ({ write, backlog }, request) => {
  const { environment, now } = request;
  const id = idBytes(request.id);
  const isDeleted = await write(async (tx) => {
    const { config_version: version } = await raiseConfig(tx, environment);
    const [row] = await tx.run(SELECT_DESTINATION, [id, environment]);
    if (row === undefined) return tx.refuse(false);
    void tx.change(BURY, [id, version, now]);
    void leaveBarrier(tx, { destinationId: request.id, environment, version });
    provedByVersion(tx, request.id, version);
    void tx.change(DELETE_KEYS, [id]);
    void tx.change(DELETE_HEALTH, [idShard(request.id), id]);
    const subscriptions = await tx.run(DELETE_SUBSCRIPTIONS, [id]);
    const live = subscriptions.filter((subscription) => subscription.was_live).length;
    void changeCounts(tx, environment, { destinations: -1, subscriptions: -live });
    return true;
  });
  if (isDeleted) backlog.drop(request.id);
  return isDeleted;
};

function valuesOf(destination: Destination, sealer: Sealer): Value[] {
  return changeableValues({ ...destination, name: encodeText(destination.name) }, sealer);
}
