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
import type { Read, ReadContext } from '../../context.ts';
import { statement, type Statement } from '../../file/database.ts';
import { ROWS_SCANNED_MAX } from '../deliveries/read-deliveries.ts';

type Sql = ReadContext['sql'];
type ListRequest = Parameters<Read<'listEvents'>>[1];
type EventPage = Page<Event, EventId>;
type IdRange = readonly [low: Uint8Array, high: Uint8Array];

const COLUMNS = 'environment, id, type, idempotency_key, occurred_at, traceparent';

const SELECT_ONE = statement<EventRow>(`SELECT ${COLUMNS} FROM events WHERE environment = ? AND id = ?`);

const SELECT_BODY = statement<{ body: Uint8Array }>('SELECT body FROM event_bodies WHERE event_id = ?');

const SELECT_ALL = statement<EventRow>(`
  SELECT ${COLUMNS} FROM events WHERE environment = ? AND id >= ? AND id < ? ORDER BY id DESC`);

const SELECT_OF_TYPE = statement<{ id: Uint8Array }>(`
  SELECT id FROM events WHERE environment = ? AND type = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?`);

const SELECT_NEXT_TYPE = statement<{ type: string }>(`
  SELECT type FROM events WHERE environment = ? AND type > ? AND type < ? ORDER BY type LIMIT 1`);

// Ids are made in the order of the list that accept was given, so they order the answer as it was.
const selectScheduled = (condition: string): Statement<ScheduledRow> =>
  statement<ScheduledRow>(`
  SELECT d.id, t.id AS destination_id, d.subscription_id, d.status, d.fallback_status, t.deleted_at
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.event_id = ? AND d.environment = ? AND d.id > ? ${condition} ORDER BY d.id LIMIT ${SCHEDULED_PAGE}`);

const SELECT_FIRST_SCHEDULED = selectScheduled(`AND d.origin = ${originCode.numberOf('event')}`);

const SELECT_SCHEDULED = selectScheduled('');

/** The last that is older than those shown. */
const SELECT_BEFORE_SHOWN = statement<{ id: Uint8Array }>(`
  SELECT id FROM deliveries WHERE event_id = ? ORDER BY id DESC LIMIT 1 OFFSET ${DELIVERIES_SHOWN_MAX}`);

export const readEvent: Read<'readEvent'> = ({ sql, read }, request) =>
  read(() => {
    const { environment } = request;
    const id = idBytes(request.id);
    const row = sql(SELECT_ONE).get(environment, id);
    if (row === undefined) return null;
    const after = sql(SELECT_BEFORE_SHOWN).get(id)?.id ?? ID_BYTES_MIN;
    const deliveries = sql(SELECT_SCHEDULED).all(id, environment, after).map(toScheduled);
    return { event: toEvent(row), body: sql(SELECT_BODY).get(id)?.body ?? null, deliveries };
  });

export const readScheduledDeliveries: Read<'readScheduledDeliveries'> = ({ sql, read }, request) =>
  read(() => {
    const { environment, eventId, which, after } = request;
    const select = which === 'first' ? SELECT_FIRST_SCHEDULED : SELECT_SCHEDULED;
    const last = after === null ? ID_BYTES_MIN : idBytes(after);
    return sql(select).all(idBytes(eventId), environment, last).map(toScheduled);
  });

export const listEvents: Read<'listEvents'> = ({ sql, read }, request) =>
  read(() => {
    const range = idRange(request, request.before);
    const types = request.type === null ? null : findTypes(sql, request.environment, request.type);
    return types === null ? walk(sql, request, range) : mergeTypes(sql, { ...request, types }, range);
  });

/** The types that exist of a selection; null: too many to merge. */
function findTypes(sql: Sql, environment: number, selection: TypeSelection): string[] | null {
  if ('exact' in selection) return [selection.exact];
  const types: string[] = [];
  let type = `${selection.prefix}.`;
  // '/' is the character after '.'.
  const end = `${selection.prefix}/`;
  for (let probes = 0; probes < TYPES_PROBED_MAX; probes++) {
    const row = sql(SELECT_NEXT_TYPE).get(environment, type, end);
    if (row === undefined) return types;
    type = row.type;
    if (selects(selection, type) && types.push(type) > TYPES_MERGED_MAX) return null;
  }
  return null;
}

function mergeTypes(
  sql: Sql,
  { environment, limit, types }: { environment: number; limit: number; types: string[] },
  range: IdRange,
): EventPage {
  const ids = types.flatMap((type) => sql(SELECT_OF_TYPE).all(environment, type, ...range, limit + 1));
  ids.sort((a, b) => Buffer.compare(b.id, a.id));
  return toPage(ids, limit, ({ id }) => toEvent(sql(SELECT_ONE).get(environment, id)!));
}

function walk(sql: Sql, { environment, type, limit }: ListRequest, range: IdRange): EventPage {
  const rows: Event[] = [];
  let scanned = 0;
  let last: Uint8Array | null = null;
  for (const row of sql(SELECT_ALL).iterate(environment, ...range)) {
    const isFull = rows.length === limit || scanned === ROWS_SCANNED_MAX;
    if (isFull) return { rows, next: formatId('evt', last!) };
    scanned++;
    last = row.id;
    if (type === null || selects(type, row.type)) rows.push(toEvent(row));
  }
  return { rows, next: null };
}
