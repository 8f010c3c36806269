// Events as operators read them: one with its body and deliveries, and lists by type, newest first.
import type { Event } from '../../../../model/event.ts';
import { selects, type TypeSelection } from '../../../../model/event-type.ts';
import { formatId, idBytes, type EventId } from '../../../../model/id.ts';
import { originCode, ID_BYTES_MIN } from '../../../rows/codec.ts';
import {
  TYPES_MERGED_MAX,
  TYPES_PROBED_MAX,
  toEvent,
  toScheduled,
  type EventRow,
  type ScheduledRow,
} from '../../../rows/event-rows.ts';
import { idRange, toPage } from '../../../rows/page.ts';
import { DELIVERIES_SHOWN_MAX, SCHEDULED_PAGE, type Page } from '../../../store.ts';
import type { Read } from '../../context.ts';
import { isOnly, statementOfEveryShard } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { keyOf } from '../deliveries/delivery-tables.ts';
import { EVENT_COLUMNS, SELECT_BODY, SELECT_EVENT } from './event-rows.ts';
import { ROWS_SCANNED_MAX } from '../deliveries/read-deliveries.ts';

type ListRequest = Parameters<Read<'listEvents'>>[1];
type EventPage = Page<Event, EventId>;
type IdRange = readonly [low: Uint8Array, high: Uint8Array];

const TABLES = ['open_deliveries', 'done_deliveries'] as const;

/** A delivery that has ended waits for no forced attempt. */
const FALLBACK = { open_deliveries: 'd.fallback_status', done_deliveries: 'NULL::int2 AS fallback_status' };

const SELECT_ALL = statementOfEveryShard<EventRow>(
  'events_all',
  `SELECT ${EVENT_COLUMNS} FROM events
   WHERE ${isOnly('environment', '$1::int4')} AND id >= $2 AND id < $3
   ORDER BY environment DESC, id DESC LIMIT $4::int4`,
);

// By pairs, so that the index in their order is read and no other: as `isOnly` does for what an index begins with.
const SELECT_OF_TYPE = statementOfEveryShard<EventRow>(
  'events_of_type',
  `SELECT ${EVENT_COLUMNS} FROM events
   WHERE environment = $1::int4 AND id >= $2 AND id < $3 AND (type, id) >= ($5, $2) AND (type, id) < ($5, $3)
   ORDER BY type DESC, id DESC LIMIT $4::int4`,
);

const SELECT_NEXT_TYPE = statementOfEveryShard<{ type: string }>(
  'events_next_type',
  `SELECT type FROM events
   WHERE environment = $1::int4 AND type > $2 AND type < $3 ORDER BY environment, type LIMIT 1`,
);

// Ids are made in the order of the list that accept was given, so they order the answer as it was.
const selectScheduled = (name: string, condition: string) =>
  statementOfEveryShard<ScheduledRow>(
    name,
    TABLES.map(
      (table) => `
    (SELECT d.id, d.destination_id, d.subscription_id, d.status, ${FALLBACK[table]}, t.deleted_at
     FROM ${table} d JOIN destinations t ON t.id = d.destination_id
     WHERE d.event_id = $1 AND d.environment = $2::int4 AND d.id > $3 ${condition}
     ORDER BY d.id LIMIT ${SCHEDULED_PAGE})`,
    ).join(' UNION ALL ') + ` ORDER BY id LIMIT ${SCHEDULED_PAGE}`,
  );

const SELECT_FIRST = selectScheduled('events_first_deliveries', `AND d.origin = ${originCode.numberOf('event')}`);

const SELECT_PAGE = selectScheduled('events_deliveries', '');

/** Those shown, and the one before them. (Machines that each have a part of a list cannot skip rows of it.) */
const SELECT_SHOWN = statementOfEveryShard<{ id: Uint8Array }>(
  'events_shown',
  TABLES.map(
    (table) => `
    (SELECT d.id FROM ${table} d WHERE d.event_id = $1 ORDER BY d.id DESC LIMIT ${DELIVERIES_SHOWN_MAX + 1})`,
  ).join(' UNION ALL ') + ` ORDER BY id DESC LIMIT ${DELIVERIES_SHOWN_MAX + 1}`,
);

export const readEvent: Read<'readEvent'> = async ({ read, horizons }, { environment, id }) => {
  if (horizons.hides('rows', id)) return null;
  return read(async (tx) => {
    const [[row], [body], deliveries] = await Promise.all([
      tx.run(SELECT_EVENT, [...keyOf(id), environment]),
      tx.run(SELECT_BODY, keyOf(id)),
      tx.run(SELECT_PAGE, [idBytes(id), environment, ID_BYTES_MIN]),
    ]);
    if (row === undefined) return null;
    const isErased = body === undefined || horizons.hides('bodies', id);
    const shown = deliveries.length < SCHEDULED_PAGE ? deliveries : await readShown(tx, environment, id);
    return { event: toEvent(row), body: isErased ? null : body.body, deliveries: shown.map(toScheduled) };
  });
};

export const readScheduledDeliveries: Read<'readScheduledDeliveries'> = async ({ read, horizons }, request) => {
  const { environment, eventId, which, after } = request;
  if (horizons.hides('rows', eventId)) return [];
  const select = which === 'first' ? SELECT_FIRST : SELECT_PAGE;
  const last = after === null ? ID_BYTES_MIN : idBytes(after);
  return read(async (tx) => (await tx.run(select, [idBytes(eventId), environment, last])).map(toScheduled));
};

export const listEvents: Read<'listEvents'> = ({ read, horizons }, request) =>
  read(async (tx) => {
    const since = Math.max(request.since ?? 0, horizons.before('rows'));
    const range = idRange({ ...request, since }, request.before);
    const types = request.type === null ? null : await findTypes(tx, request.environment, request.type);
    return types === null ? walk(tx, request, range) : mergeTypes(tx, { ...request, types }, range);
  });

/** The first page of the newest deliveries of an event that has many. */
async function readShown(tx: Tx, environment: number, id: EventId): Promise<ScheduledRow[]> {
  const shown = await tx.run(SELECT_SHOWN, [idBytes(id)]);
  const before = shown[DELIVERIES_SHOWN_MAX]?.id ?? ID_BYTES_MIN;
  return tx.run(SELECT_PAGE, [idBytes(id), environment, before]);
}

/** The types that exist of a selection; null: too many to merge. */
async function findTypes(tx: Tx, environment: number, selection: TypeSelection): Promise<string[] | null> {
  if ('exact' in selection) return [selection.exact];
  const types: string[] = [];
  let type = `${selection.prefix}.`;
  // '/' is the character after '.'.
  const end = `${selection.prefix}/`;
  for (let probes = 0; probes < TYPES_PROBED_MAX; probes++) {
    const [row] = await tx.run(SELECT_NEXT_TYPE, [environment, type, end]);
    if (row === undefined) return types;
    type = row.type;
    if (selects(selection, type) && types.push(type) > TYPES_MERGED_MAX) return null;
  }
  return null;
}

async function mergeTypes(
  tx: Tx,
  { environment, limit, types }: { environment: number; limit: number; types: string[] },
  range: IdRange,
): Promise<EventPage> {
  const ofEach = types.map((type) => tx.run(SELECT_OF_TYPE, [environment, ...range, limit + 1, type]));
  const found = (await Promise.all(ofEach)).flat();
  found.sort((a, b) => Buffer.compare(b.id, a.id));
  return toPage(found, limit, toEvent);
}

/** What matches among the next rows, of which there are more than fit on the page, or as many as may be read. */
async function walk(tx: Tx, { environment, type, limit }: ListRequest, [low, high]: IdRange): Promise<EventPage> {
  const readMax = type === null ? limit + 1 : ROWS_SCANNED_MAX;
  const found = await tx.run(SELECT_ALL, [environment, low, high, readMax]);
  const matching = found.filter((row) => type === null || selects(type, row.type));
  const rows = matching.slice(0, limit).map(toEvent);
  if (matching.length > limit) return { rows, next: rows.at(-1)!.id };
  return { rows, next: found.length < readMax ? null : formatId('evt', found.at(-1)!.id) };
}
