// Lists of deliveries, newest first. A list is one or more index ranges in the order of ids, merged; each row is
// then looked at once more, because what it reads as may differ from what its index says (a deleted destination).
import { deliveryStatusCode, DEAD, ID_BYTES_MAX, PENDING, RETRYING, SUCCEEDED, isUnfinished } from '../codec.ts';
import type { Delivery, DeliveryStatus } from '../../../model/delivery.ts';
import { firstIdBytesAt, formatId, idBytes } from '../../../model/id.ts';
import type { DeliveryId, DestinationId } from '../../../model/id.ts';
import type { DeliveryFilter, Page, PageRequest, TimeRange } from '../../store.ts';
import type { ReadContext } from '../context.ts';
import { prepare } from '../database.ts';
import type { Database, Statement } from '../database.ts';
import { SELECT_DELIVERY, effectiveStatus, toDelivery } from './delivery-rows.ts';
import type { DeliveryRow } from './delivery-rows.ts';

/** Bounds what one page reads, however few of the rows match: then the page is short and says where to go on. */
export const ROWS_SCANNED_MAX = 2_000;

type ListRequest = { environment: number; filter: DeliveryFilter } & PageRequest<DeliveryId>;

type IdRow = { id: Uint8Array };

/** Ids of candidates, newest first: a statement and what its first parameter is. */
type Stream = { ids: Statement<IdRow>; of: number | Uint8Array };

const ALL_STATUSES = [PENDING, RETRYING, SUCCEEDED, DEAD];

const SELECT_OF_EVENT = `
  SELECT id FROM deliveries WHERE event_id = ?1 AND id >= ?2 AND id < ?3 ORDER BY id DESC`;

const SELECT_DESTINATION = 'SELECT key, environment, deleted_at FROM destinations WHERE id = ?';

const SELECT_UNSETTLED = `
  SELECT 1 FROM destinations WHERE environment = ? AND deleted_at IS NOT NULL AND is_settled = 0 LIMIT 1`;

// The ORDER BY of a compound SELECT merges its parts as they come from their indexes: nothing is sorted, and nothing
// is read beyond the rows that are stepped to.
export function selectOfStatuses(column: 'environment' | 'destination', statuses: readonly number[]): string {
  const parts = statuses.map(
    (status) => `
    SELECT id FROM deliveries WHERE ${column} = ?1 AND status = ${status} AND id >= ?2 AND id < ?3`,
  );
  return `${parts.join(' UNION ALL')} ORDER BY id DESC`;
}

export function createDeliveryLists({ db, read }: ReadContext) {
  const selectDelivery = prepare<DeliveryRow>(db, SELECT_DELIVERY);
  const chooseStream = createStreamChooser(db);

  return {
    listDeliveries: (request: ListRequest): Page<Delivery, DeliveryId> =>
      read(() => {
        const { environment, filter, before, limit } = request;
        const stream = chooseStream(environment, filter);
        if (stream === null) return { rows: [], next: null };
        const matches = createMatcher(filter);
        const [low, high] = idRange(filter, before === null ? null : idBytes(before));
        const rows: Delivery[] = [];
        let scanned = 0;
        let last: Uint8Array | null = null;
        for (const { id } of stream.ids.iterate(stream.of, low, high)) {
          if (rows.length === limit || scanned === ROWS_SCANNED_MAX) return { rows, next: formatId('dlv', last!) };
          scanned++;
          last = id;
          const row = selectDelivery.get(id, environment);
          if (row !== undefined && matches(row)) rows.push(toDelivery(row));
        }
        return { rows, next: null };
      }),
  };
}

/** The ids from `since` on and below both `until` and the cursor. */
export function idRange({ since, until }: TimeRange, before: Uint8Array | null): [low: Uint8Array, high: Uint8Array] {
  const end = until === null ? ID_BYTES_MAX : firstIdBytesAt(until);
  const high = before !== null && Buffer.compare(before, end) < 0 ? before : end;
  return [firstIdBytesAt(since ?? 0), high];
}

// The narrowest index wins: an event has few deliveries, a destination a part of its environment's.
function createStreamChooser(db: Database) {
  const selectOfEvent = prepare<IdRow>(db, SELECT_OF_EVENT);
  const selectUnsettled = prepare(db, SELECT_UNSETTLED);
  const selectDestination = prepare<{ key: number; environment: number; deleted_at: number | null }>(
    db,
    SELECT_DESTINATION,
  );
  const ofStatuses = createStatusStatements(db);

  const streamOfDestination = (environment: number, id: DestinationId, status: number | null): Stream | null => {
    const destination = selectDestination.get(idBytes(id));
    if (destination === undefined || destination.environment !== environment) return null;
    const isDeleted = destination.deleted_at !== null;
    if (isDeleted && status !== null && isUnfinished(status)) return null;
    return { ids: ofStatuses('destination', statusesToRead(status, isDeleted)), of: destination.key };
  };

  return (environment: number, filter: DeliveryFilter): Stream | null => {
    if (filter.eventId !== null) return { ids: selectOfEvent, of: idBytes(filter.eventId) };
    const status = filter.status === null ? null : deliveryStatusCode.numberOf(filter.status);
    if (filter.destinationId !== null) return streamOfDestination(environment, filter.destinationId, status);
    const hasUnsettled = selectUnsettled.get(environment) !== undefined;
    return { ids: ofStatuses('environment', statusesToRead(status, hasUnsettled)), of: environment };
  };
}

/** The statuses in rows that may read as the one that is asked for. */
function statusesToRead(status: number | null, someAreEndedByDeletion: boolean): readonly number[] {
  if (status === null) return ALL_STATUSES;
  return status === DEAD && someAreEndedByDeletion ? [PENDING, RETRYING, DEAD] : [status];
}

function createStatusStatements(db: Database) {
  const statements = new Map<string, Statement<IdRow>>();
  return (column: 'environment' | 'destination', statuses: readonly number[]): Statement<IdRow> => {
    const sql = selectOfStatuses(column, statuses);
    const statement = statements.get(sql) ?? prepare<IdRow>(db, sql);
    statements.set(sql, statement);
    return statement;
  };
}

function createMatcher({
  destinationId,
  status,
}: {
  destinationId: DestinationId | null;
  status: DeliveryStatus | null;
}) {
  const wantedStatus = status === null ? null : deliveryStatusCode.numberOf(status);
  const wantedDestination = destinationId === null ? null : idBytes(destinationId);
  return (row: DeliveryRow): boolean =>
    (wantedStatus === null || effectiveStatus(row) === wantedStatus) &&
    (wantedDestination === null || Buffer.compare(row.destination_id, wantedDestination) === 0);
}
