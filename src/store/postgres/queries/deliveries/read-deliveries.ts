// Deliveries as operators look at them: one with its history, and lists, newest first. A list is one or more index
// ranges in the order of ids, merged, each read as far as the page may need; each row is then looked at once more,
// because what it reads as may differ from its status.
import type { StoredAttempt } from '../../../../model/attempt.ts';
import type { Delivery } from '../../../../model/delivery.ts';
import { formatId, idBytes, idShard, type DeliveryId, type DestinationId } from '../../../../model/id.ts';
import { toAttempt, type AttemptRow } from '../../../rows/attempt-rows.ts';
import { deliveryStatusCode, isUnfinished } from '../../../rows/codec.ts';
import { STATUS_CHOICES, createMatcher, statusesToRead } from '../../../rows/delivery-filter.ts';
import { toDelivery } from '../../../rows/delivery-rows.ts';
import { idRange } from '../../../rows/page.ts';
import { ATTEMPTS_PAGE, type DeliveryFilter } from '../../../store.ts';
import type { Read } from '../../context.ts';
import { isOnly, statement, statementOfEveryShard, type Statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { decodeText, type Value } from '../../wire/values.ts';
import { keyOf } from './delivery-tables.ts';
import {
  LISTED_DONE,
  LISTED_OPEN,
  completeRows,
  selectDeliveries,
  selectDelivery,
  type ListedRow,
} from './select-delivery.ts';

/** Bounds what one page reads, however few of the rows match: then the page is short and says where to go on. */
export const ROWS_SCANNED_MAX = 2_000;
/** Where much is read and little shown the next look reads more at once. */
const GROWTH = 4;

/** Candidates between two ids ($1, $2), at most $3 of them, newest first; its further parameters. */
type Stream = { rows: Statement<ListedRow>; values: Value[] };

/** Whose deliveries: `column` is what the index begins with that has them. */
type Listed = { column: string; of: string; make: typeof statement<ListedRow> };

// Each part reads no more than the page could show of it; together they are a few short ranges to merge.
function selectOfStatuses(
  name: string,
  { column, of, make }: Listed,
  statuses: readonly number[],
): Statement<ListedRow> {
  const parts = statuses.map((status) => {
    const isOpen = isUnfinished(status);
    return `
    (SELECT ${isOpen ? LISTED_OPEN : LISTED_DONE} FROM ${isOpen ? 'open' : 'done'}_deliveries
     WHERE ${of} AND status = ${status} AND id >= $1 AND id < $2 ORDER BY ${column} DESC, id DESC LIMIT $3::int4)`;
  });
  return make(
    `deliveries_of_${name}_${statuses.join('')}`,
    parts.length === 1 ? parts[0]! : `${parts.join(' UNION ALL ')} ORDER BY id DESC LIMIT $3::int4`,
  );
}

function createStatusStatements(name: string, listed: Listed): Map<string, Statement<ListedRow>> {
  return new Map(STATUS_CHOICES.map((statuses) => [statuses.join(), selectOfStatuses(name, listed, statuses)]));
}

const OF_ENVIRONMENT = createStatusStatements('environment', {
  column: 'environment',
  of: isOnly('environment', '$4::int4'),
  make: statementOfEveryShard<ListedRow>,
});
const OF_DESTINATION = createStatusStatements('destination', {
  column: 'destination_id',
  of: `shard = $4::int2 AND ${isOnly('destination_id', '$5::uuid')} AND environment = $6::int4`,
  make: statement<ListedRow>,
});

// Of every shard: an event's deliveries are where their destinations are.
const OF_EVENT = statementOfEveryShard<ListedRow>(
  'deliveries_of_event',
  `(SELECT ${LISTED_OPEN} FROM open_deliveries
    WHERE event_id = $4 AND environment = $5::int4 AND id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3::int4)
   UNION ALL
   (SELECT ${LISTED_DONE} FROM done_deliveries
    WHERE event_id = $4 AND environment = $5::int4 AND id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3::int4)
   ORDER BY id DESC LIMIT $3::int4`,
);

const SELECT_DESTINATION = statement<{ environment: number; deleted_at: number | null }>(
  'destinations_deletion',
  'SELECT environment, deleted_at FROM destinations WHERE id = $1',
);

const SELECT_UNSETTLED = statement<{ found: number }>(
  'destinations_unsettled_in',
  `SELECT 1 AS found FROM destinations
   WHERE environment = $1::int4 AND deleted_at IS NOT NULL AND NOT is_settled LIMIT 1`,
);

const SELECT_ATTEMPTS = statement<AttemptRow>(
  'attempts_of_delivery',
  `SELECT n, trigger, started_at, duration_ms, outcome, response_code, response_headers, response_body,
          response_truncated::int4 AS response_truncated, error
   FROM attempts WHERE shard = $1::int2 AND delivery_id = $2 AND n > $3::int4 ORDER BY n LIMIT ${ATTEMPTS_PAGE}`,
);

export const readDelivery: Read<'readDelivery'> = ({ read, horizons }, request) =>
  read(async (tx) => {
    const [row, attempts] = await Promise.all([
      selectDelivery(tx, horizons, request),
      selectAttempts(tx, request.id, 0),
    ]);
    return row === null ? null : { ...toDelivery(row), attempts };
  });

export const readAttempts: Read<'readAttempts'> = ({ look }, { id, after }) =>
  look((tx) => selectAttempts(tx, id, after));

async function selectAttempts(tx: Tx, id: DeliveryId, after: number): Promise<StoredAttempt[]> {
  const rows = await tx.run(SELECT_ATTEMPTS, [...keyOf(id), after]);
  return rows.map((row) => toAttempt({ ...row, error: decodeText(row.error) }));
}

export const readDeliveries: Read<'readDeliveries'> = ({ read, horizons }, request) =>
  read(async (tx) => (await selectDeliveries(tx, horizons, request)).map(toDelivery));

export const listDeliveries: Read<'listDeliveries'> = ({ read, horizons }, request) =>
  read(async (tx) => {
    const { environment, filter, before, limit } = request;
    const stream = await chooseStream(tx, environment, filter);
    if (stream === null) return { rows: [], next: null };
    const matches = createMatcher(filter);
    const since = Math.max(filter.since ?? 0, horizons.before('rows'));
    const [low, end] = idRange({ ...filter, since }, before);
    let high = end;
    const rows: Delivery[] = [];
    let chunk = limit + 1;
    for (let scanned = 0; scanned < ROWS_SCANNED_MAX; chunk = Math.min(chunk * GROWTH, ROWS_SCANNED_MAX)) {
      const found = await tx.run(stream.rows, [low, high, chunk, ...stream.values]);
      const shown = await completeRows(tx, horizons, found);
      rows.push(...shown.filter(matches).map(toDelivery));
      // The page's last row is where the next one starts, though more was read.
      if (rows.length > limit) return { rows: rows.slice(0, limit), next: rows[limit - 1]!.id };
      if (found.length < chunk) return { rows, next: null };
      scanned += found.length;
      high = found.at(-1)!.id;
    }
    return { rows, next: formatId('dlv', high) };
  });

// The narrowest index wins: an event has few deliveries, a destination a part of its environment's.
async function chooseStream(tx: Tx, environment: number, filter: DeliveryFilter): Promise<Stream | null> {
  if (filter.eventId !== null) return { rows: OF_EVENT, values: [idBytes(filter.eventId), environment] };
  const status = filter.status === null ? null : deliveryStatusCode.numberOf(filter.status);
  if (filter.destinationId !== null) return streamOfDestination(tx, environment, filter.destinationId, status);
  const statuses = statusesToRead(status, await hasUnsettled(tx, environment));
  return { rows: OF_ENVIRONMENT.get(statuses.join())!, values: [environment] };
}

/** A destination was deleted whose deliveries' rows do not all say yet that they have ended. */
export async function hasUnsettled(tx: Tx, environment: number): Promise<boolean> {
  return (await tx.run(SELECT_UNSETTLED, [environment])).length > 0;
}

async function streamOfDestination(
  tx: Tx,
  environment: number,
  id: DestinationId,
  status: number | null,
): Promise<Stream | null> {
  const [destination] = await tx.run(SELECT_DESTINATION, [idBytes(id)]);
  if (destination === undefined || destination.environment !== environment) return null;
  const isDeleted = destination.deleted_at !== null;
  if (isDeleted && status !== null && isUnfinished(status)) return null;
  const rows = OF_DESTINATION.get(statusesToRead(status, isDeleted).join())!;
  return { rows, values: [idShard(id), idBytes(id), environment] };
}
