// Deliveries as operators look at them: one with its history, and lists, newest first. A list is one or more index
// ranges in the order of ids, merged; each row is then looked at once more, because what it reads as may differ from
// what its index says (a deleted destination).
import type { StoredAttempt } from '../../../../model/attempt.ts';
import type { Delivery } from '../../../../model/delivery.ts';
import { formatId, idBytes, type DestinationId } from '../../../../model/id.ts';
import { toAttempt, type AttemptRow } from '../../../rows/attempt-rows.ts';
import { deliveryStatusCode, isUnfinished } from '../../../rows/codec.ts';
import { STATUS_CHOICES, createMatcher, statusesToRead } from '../../../rows/delivery-filter.ts';
import { toDelivery } from '../../../rows/delivery-rows.ts';
import { idRange } from '../../../rows/page.ts';
import { ATTEMPTS_PAGE, type DeliveryFilter } from '../../../store.ts';
import type { Read, ReadContext } from '../../context.ts';
import { statement, type Statement } from '../../file/database.ts';
import { SELECT_DELIVERY } from './delivery-rows.ts';

/** Bounds what one page reads, however few of the rows match: then the page is short and says where to go on. */
export const ROWS_SCANNED_MAX = 2_000;

type IdRow = { id: Uint8Array };

/** Ids of candidates, newest first: a statement and what its first parameter is. */
type Stream = { ids: Statement<IdRow>; of: number | Uint8Array };

const SELECT_ATTEMPTS = statement<AttemptRow>(`
  SELECT n, trigger, started_at, duration_ms, outcome, response_code, response_headers, response_body,
         response_truncated, error
  FROM attempts WHERE delivery_id = ? AND n > ? ORDER BY n LIMIT ${ATTEMPTS_PAGE}`);

const SELECT_OF_EVENT = statement<IdRow>(`
  SELECT id FROM deliveries WHERE event_id = ?1 AND id >= ?2 AND id < ?3 ORDER BY id DESC`);

const SELECT_DESTINATION = statement<{ key: number; environment: number; deleted_at: number | null }>(
  'SELECT key, environment, deleted_at FROM destinations WHERE id = ?',
);

const SELECT_UNSETTLED = statement(`
  SELECT 1 FROM destinations WHERE environment = ? AND deleted_at IS NOT NULL AND is_settled = 0 LIMIT 1`);

// The ORDER BY of a compound SELECT merges its parts as they come from their indexes: nothing is sorted, and nothing
// is read beyond the rows that are stepped to. PostgreSQL reads all that a statement asks for: there each part has a
// limit.
function selectOfStatuses(column: 'environment' | 'destination', statuses: readonly number[]): Statement<IdRow> {
  const parts = statuses.map(
    (status) => `
    SELECT id FROM deliveries WHERE ${column} = ?1 AND status = ${status} AND id >= ?2 AND id < ?3`,
  );
  return statement<IdRow>(`${parts.join(' UNION ALL')} ORDER BY id DESC`);
}

const ofStatuses = (column: 'environment' | 'destination') =>
  new Map(STATUS_CHOICES.map((statuses) => [statuses.join(), selectOfStatuses(column, statuses)]));

const OF_ENVIRONMENT = ofStatuses('environment');
const OF_DESTINATION = ofStatuses('destination');

export const readDelivery: Read<'readDelivery'> = ({ sql, read }, request) =>
  read(() => {
    const id = idBytes(request.id);
    const row = sql(SELECT_DELIVERY).get(id, request.environment);
    if (row === undefined) return null;
    return { ...toDelivery(row), attempts: selectAttempts(sql, id, 0) };
  });

export const readAttempts: Read<'readAttempts'> = ({ sql, read }, { id, after }) =>
  read(() => selectAttempts(sql, idBytes(id), after));

function selectAttempts(sql: ReadContext['sql'], id: Uint8Array, after: number): StoredAttempt[] {
  return sql(SELECT_ATTEMPTS).all(id, after).map(toAttempt);
}

export const readDeliveries: Read<'readDeliveries'> = ({ sql, read }, { environment, ids }) =>
  read(() =>
    ids.flatMap((id) => {
      const row = sql(SELECT_DELIVERY).get(idBytes(id), environment);
      return row === undefined ? [] : [toDelivery(row)];
    }),
  );

export const listDeliveries: Read<'listDeliveries'> = ({ sql, read }, { environment, filter, before, limit }) =>
  read(() => {
    const stream = chooseStream(sql, environment, filter);
    if (stream === null) return { rows: [], next: null };
    const matches = createMatcher(filter);
    const [low, high] = idRange(filter, before);
    const rows: Delivery[] = [];
    let scanned = 0;
    let last: Uint8Array | null = null;
    for (const { id } of sql(stream.ids).iterate(stream.of, low, high)) {
      if (rows.length === limit || scanned === ROWS_SCANNED_MAX) return { rows, next: formatId('dlv', last!) };
      scanned++;
      last = id;
      const row = sql(SELECT_DELIVERY).get(id, environment);
      if (row !== undefined && matches(row)) rows.push(toDelivery(row));
    }
    return { rows, next: null };
  });

// The narrowest index wins: an event has few deliveries, a destination a part of its environment's.
function chooseStream(sql: ReadContext['sql'], environment: number, filter: DeliveryFilter): Stream | null {
  if (filter.eventId !== null) return { ids: SELECT_OF_EVENT, of: idBytes(filter.eventId) };
  const status = filter.status === null ? null : deliveryStatusCode.numberOf(filter.status);
  if (filter.destinationId !== null) return streamOfDestination(sql, environment, filter.destinationId, status);
  const statuses = statusesToRead(status, hasUnsettled(sql, environment));
  return { ids: OF_ENVIRONMENT.get(statuses.join())!, of: environment };
}

/** A destination was deleted whose deliveries' rows do not all say yet that they have ended. */
export function hasUnsettled(sql: ReadContext['sql'], environment: number): boolean {
  return sql(SELECT_UNSETTLED).get(environment) !== undefined;
}

function streamOfDestination(
  sql: ReadContext['sql'],
  environment: number,
  id: DestinationId,
  status: number | null,
): Stream | null {
  const destination = sql(SELECT_DESTINATION).get(idBytes(id));
  if (destination === undefined || destination.environment !== environment) return null;
  const isDeleted = destination.deleted_at !== null;
  if (isDeleted && status !== null && isUnfinished(status)) return null;
  return { ids: OF_DESTINATION.get(statusesToRead(status, isDeleted).join())!, of: destination.key };
}
