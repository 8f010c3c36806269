// Destinations: create, read, list, change, delete. A deleted one leaves a tombstone (see the schema).
import type { Destination, DestinationStatus, DestinationWithKeys } from '../../../../model/destination.ts';
import { idBytes } from '../../../../model/id.ts';
import type { DestinationId } from '../../../../model/id.ts';
import type { Page, PageRequest } from '../../../store.ts';
import { ID_BYTES_MAX, destinationStatusCode } from '../../../rows/codec.ts';
import type { ReadContext, WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import type { Statement } from '../../file/database.ts';
import { applyChange, changeableValues, sealHeaders, toDestination } from '../../../rows/destination-rows.ts';
import type { Change } from '../../../rows/destination-rows.ts';
import { DESTINATION_COLUMNS, createSigningKeys, withKeys } from './keyed-destinations.ts';
import type { KeyedDestinationRow } from './keyed-destinations.ts';
import { createEnvironmentCounters } from './environments.ts';

const SELECT_ONE = `
  SELECT ${DESTINATION_COLUMNS} FROM destinations WHERE id = ? AND environment = ? AND deleted_at IS NULL`;

const SELECT_PAGE = `
  SELECT ${DESTINATION_COLUMNS} FROM destinations
  WHERE environment = ? AND deleted_at IS NULL AND id < ? ORDER BY id DESC LIMIT ?`;

const SELECT_PAGE_OF_STATUS = `
  SELECT ${DESTINATION_COLUMNS} FROM destinations
  WHERE environment = ? AND deleted_at IS NULL AND id < ? AND status = ? ORDER BY id DESC LIMIT ?`;

const INSERT = `
  INSERT INTO destinations (id, environment, version, url, name, status, paused_reason, retry_policy, max_in_flight,
                            rate_per_second, headers, metadata, created_at, updated_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  RETURNING key`;

const UPDATE = `
  UPDATE destinations
  SET version = ?, url = ?, name = ?, status = ?, paused_reason = ?, retry_policy = ?, max_in_flight = ?,
      rate_per_second = ?, headers = ?, metadata = ?, updated_at = ?
  WHERE key = ?`;

// The secrets go with the destination; what its deliveries need for being read stays.
const BURY = `
  UPDATE destinations SET version = ?, deleted_at = ?, is_settled = ?, headers = NULL, updated_at = ? WHERE key = ?`;

// Trouble is over when somebody says so by activating; a Retry-After that was asked for still holds.
const FORGET_FAILURES = 'UPDATE destination_health SET failing_since = NULL, failure_count = 0 WHERE destination = ?';

export function createDestinationReads({ db, read, sealer }: ReadContext) {
  const selectOne = prepare<KeyedDestinationRow>(db, SELECT_ONE);
  const selectPage = prepare<KeyedDestinationRow>(db, SELECT_PAGE);
  const selectPageOfStatus = prepare<KeyedDestinationRow>(db, SELECT_PAGE_OF_STATUS);
  const keys = createSigningKeys(db, sealer);

  return {
    readDestination(request: { environment: number; id: DestinationId }): DestinationWithKeys | null {
      return read(() => {
        const row = selectOne.get(idBytes(request.id), request.environment);
        return row === undefined ? null : withKeys(row, keys, sealer);
      });
    },

    listDestinations(
      request: { environment: number; status: DestinationStatus | null } & PageRequest<DestinationId>,
    ): Page<Destination, DestinationId> {
      const { environment, status, limit } = request;
      const below = request.before === null ? ID_BYTES_MAX : idBytes(request.before);
      const rows =
        status === null
          ? selectPage.all(environment, below, limit + 1)
          : selectPageOfStatus.all(environment, below, destinationStatusCode.numberOf(status), limit + 1);
      return toPage(
        rows.map((row) => toDestination(row, sealer)),
        limit,
      );
    },
  };
}

export function createDestinationWrites(context: WriteContext) {
  const { db, write, sealer, backlog, diskReserve } = context;
  const environments = createEnvironmentCounters(db);
  const keys = createSigningKeys(db, sealer);
  const selectOne = prepare<KeyedDestinationRow>(db, SELECT_ONE);
  const insert = prepare<{ key: number }>(db, INSERT);
  const update = prepare(db, UPDATE);
  const bury = prepare(db, BURY);
  const forgetFailures = prepare(db, FORGET_FAILURES);
  const removeHealth = prepare(db, 'DELETE FROM destination_health WHERE destination = ?');
  const removeSubscriptions = prepare(db, 'DELETE FROM subscriptions WHERE destination = ? AND deleted_at IS NULL');
  const removeTombstones = prepare(db, 'DELETE FROM subscriptions WHERE destination = ?');

  return {
    createDestination(destination: DestinationWithKeys, limits: { max: number }): 'created' | 'over_limit' {
      diskReserve.assertRoom();
      return write(() => {
        const { environment } = destination;
        if (environments.destinationCount(environment) >= limits.max) return 'over_limit';
        const version = environments.raiseConfig(environment, { destinations: 1 });
        const { id, createdAt, updatedAt } = destination;
        const values = changeableValues(destination, sealHeaders(destination.headers, id, sealer));
        const row = insert.get(idBytes(id), environment, version, ...values, createdAt, updatedAt);
        for (const key of destination.signingKeys) keys.insert(row!.key, key);
        return 'created';
      });
    },

    updateDestination(request: {
      environment: number;
      id: DestinationId;
      change: Change;
      now: number;
    }): Destination | null {
      diskReserve.assertRoom();
      return write(() => {
        const row = selectOne.get(idBytes(request.id), request.environment);
        if (row === undefined) return null;
        const before = toDestination(row, sealer);
        const after = applyChange(before, request.change, request.now);
        if (before.status === 'paused' && after.status === 'active') forgetFailures.run(row.key);
        const version = environments.raiseConfig(request.environment);
        update.run(
          version,
          ...changeableValues(after, sealHeaders(after.headers, after.id, sealer)),
          request.now,
          row.key,
        );
        return after;
      });
    },

    // Not refused when the disk is nearly full: it is a way to make room.
    deleteDestination(request: { environment: number; id: DestinationId; now: number }): boolean {
      return write(() => {
        const row = selectOne.get(idBytes(request.id), request.environment);
        if (row === undefined) return false;
        const subscriptions = -changesOf(removeSubscriptions, row.key);
        removeTombstones.run(row.key);
        keys.removeAll(row.key);
        removeHealth.run(row.key);
        const version = environments.raiseConfig(request.environment, { destinations: -1, subscriptions });
        const isSettled = backlog.countOf(row.key) === 0 ? 1 : 0;
        bury.run(version, request.now, isSettled, request.now, row.key);
        backlog.drop(row.key);
        return true;
      });
    },
  };
}

function changesOf(statement: Statement<never>, key: number): number {
  return Number(statement.run(key).changes);
}

function toPage(rows: Destination[], limit: number): Page<Destination, DestinationId> {
  const shown = rows.slice(0, limit);
  return { rows: shown, next: rows.length > limit ? shown.at(-1)!.id : null };
}
