// Lists of deliveries, newest first. A list is one or more index ranges in the order of ids, merged; each row is
// then looked at once more, because what it reads as may differ from what its index says (a deleted destination).
import { deliveryStatusCode, isUnfinished } from '../../../rows/codec.ts';
import type { Delivery } from '../../../../model/delivery.ts';
import { formatId, idBytes } from '../../../../model/id.ts';
import type { DeliveryId, DestinationId } from '../../../../model/id.ts';
import type { DeliveryFilter, Page, PageRequest } from '../../../store.ts';
import type { ReadContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import type { Database, Statement } from '../../file/database.ts';
import { createMatcher, statusesToRead } from '../../../rows/delivery-filter.ts';
import { toDelivery } from '../../../rows/delivery-rows.ts';
import { idRange } from '../../../rows/id-range.ts';
import { SELECT_DELIVERY } from './select-delivery.ts';
import type { DeliveryRow } from '../../../rows/delivery-rows.ts';

/** Bounds what one page reads, however few of the rows match: then the page is short and says where to go on. */
export const ROWS_SCANNED_MAX = 2_000;

type ListRequest = { environment: number; filter: DeliveryFilter } & PageRequest<DeliveryId>;

type IdRow = { id: Uint8Array };

/** Ids of candidates, newest first: a statement and what its first parameter is. */
type Stream = { ids: Statement<IdRow>; of: number | Uint8Array };

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

function createStatusStatements(db: Database) {
  const statements = new Map<string, Statement<IdRow>>();
  return (column: 'environment' | 'destination', statuses: readonly number[]): Statement<IdRow> => {
    const sql = selectOfStatuses(column, statuses);
    const statement = statements.get(sql) ?? prepare<IdRow>(db, sql);
    statements.set(sql, statement);
    return statement;
  };
}
