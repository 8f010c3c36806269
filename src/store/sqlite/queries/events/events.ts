// Events as operators read them: one with its body and deliveries, and lists by type, newest first.
import type { Event, ScheduledDelivery } from '../../../../model/event.ts';
import { formatId, idBytes } from '../../../../model/id.ts';
import type { EventId } from '../../../../model/id.ts';
import { DELIVERIES_SHOWN_MAX, SCHEDULED_PAGE } from '../../../store.ts';
import type {
  EventWithBody,
  Page,
  PageRequest,
  ScheduledPageRequest,
  TimeRange,
  TypeSelection,
} from '../../../store.ts';
import { originCode } from '../../../rows/codec.ts';
import { selects, toEvent, toScheduled } from '../../../rows/event-rows.ts';
import type { EventRow, ScheduledRow } from '../../../rows/event-rows.ts';
import { idRange } from '../../../rows/id-range.ts';
import type { ReadContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { ROWS_SCANNED_MAX } from '../deliveries/list-deliveries.ts';

type ListRequest = { environment: number; type: TypeSelection | null } & TimeRange & PageRequest<EventId>;
type EventPage = Page<Event, EventId>;
type IdRange = [low: Uint8Array, high: Uint8Array];

/** A pattern that selects no more types than this is the merge of their lists; else rows are walked and filtered. */
const TYPES_MERGED_MAX = 32;
/** How many types are looked at to find that out (`a.*` looks past the types further below `a`). */
const TYPES_PROBED_MAX = 200;

const COLUMNS = 'environment, id, type, idempotency_key, occurred_at';

const SELECT_ONE = `SELECT ${COLUMNS} FROM events WHERE environment = ? AND id = ?`;

const SELECT_ALL = `
  SELECT ${COLUMNS} FROM events WHERE environment = ? AND id >= ? AND id < ? ORDER BY id DESC`;

const SELECT_OF_TYPE = `
  SELECT id FROM events WHERE environment = ? AND type = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?`;

const SELECT_NEXT_TYPE = `
  SELECT type FROM events WHERE environment = ? AND type > ? AND type < ? ORDER BY type LIMIT 1`;

// Ids are made in the order of the list that accept was given, so they order the answer as it was.
const selectScheduled = (condition: string): string => `
  SELECT d.id, t.id AS destination_id, d.subscription_id, d.status, t.deleted_at
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.event_id = ? AND d.environment = ? AND d.id > ? ${condition} ORDER BY d.id LIMIT ${SCHEDULED_PAGE}`;

const SELECT_FIRST_SCHEDULED = selectScheduled(`AND d.origin = ${originCode.numberOf('event')}`);

/** The last that is older than those shown. */
const SELECT_BEFORE_SHOWN = `
  SELECT id FROM deliveries WHERE event_id = ? ORDER BY id DESC LIMIT 1 OFFSET ${DELIVERIES_SHOWN_MAX}`;

const BEFORE_ALL = new Uint8Array(16);

export function createEventReads({ db, read }: ReadContext) {
  const selectOne = prepare<EventRow>(db, SELECT_ONE);
  const selectBody = prepare<{ body: Uint8Array }>(db, 'SELECT body FROM event_bodies WHERE event_id = ?');
  const selectFirst = prepare<ScheduledRow>(db, SELECT_FIRST_SCHEDULED);
  const selectPage = prepare<ScheduledRow>(db, selectScheduled(''));
  const selectBeforeShown = prepare<{ id: Uint8Array }>(db, SELECT_BEFORE_SHOWN);

  return {
    readEvent: (request: { environment: number; id: EventId }): EventWithBody | null =>
      read(() => {
        const { environment } = request;
        const id = idBytes(request.id);
        const row = selectOne.get(environment, id);
        if (row === undefined) return null;
        const after = selectBeforeShown.get(id)?.id ?? BEFORE_ALL;
        const deliveries = selectPage.all(id, environment, after).map(toScheduled);
        return { event: toEvent(row), body: selectBody.get(id)?.body ?? null, deliveries };
      }),

    readScheduledDeliveries: ({ environment, eventId, which, after }: ScheduledPageRequest): ScheduledDelivery[] =>
      read(() => {
        const select = which === 'first' ? selectFirst : selectPage;
        const last = after === null ? BEFORE_ALL : idBytes(after);
        return select.all(idBytes(eventId), environment, last).map(toScheduled);
      }),

    listEvents: createEventList({ db, read }),
  };
}

function createEventList({ db, read }: Pick<ReadContext, 'db' | 'read'>): (request: ListRequest) => EventPage {
  const selectOne = prepare<EventRow>(db, SELECT_ONE);
  const selectAll = prepare<EventRow>(db, SELECT_ALL);
  const selectOfType = prepare<{ id: Uint8Array }>(db, SELECT_OF_TYPE);
  const selectNextType = prepare<{ type: string }>(db, SELECT_NEXT_TYPE);

  /** The types that exist of a selection; null: too many to merge. */
  const findTypes = (environment: number, selection: TypeSelection): string[] | null => {
    if ('exact' in selection) return [selection.exact];
    const types: string[] = [];
    let type = `${selection.prefix}.`;
    // '/' is the character after '.'.
    const end = `${selection.prefix}/`;
    for (let probes = 0; probes < TYPES_PROBED_MAX; probes++) {
      const row = selectNextType.get(environment, type, end);
      if (row === undefined) return types;
      type = row.type;
      if (selects(selection, type) && types.push(type) > TYPES_MERGED_MAX) return null;
    }
    return null;
  };

  const mergeTypes = (request: ListRequest, types: string[], [low, high]: IdRange): EventPage => {
    const { environment, limit } = request;
    const ids = types.flatMap((type) => selectOfType.all(environment, type, low, high, limit + 1));
    ids.sort((a, b) => Buffer.compare(b.id, a.id));
    const rows = ids.slice(0, limit).map(({ id }) => toEvent(selectOne.get(environment, id)!));
    return { rows, next: ids.length > limit ? rows.at(-1)!.id : null };
  };

  const walk = (request: ListRequest, [low, high]: IdRange): EventPage => {
    const rows: Event[] = [];
    let scanned = 0;
    let last: Uint8Array | null = null;
    for (const row of selectAll.iterate(request.environment, low, high)) {
      const isFull = rows.length === request.limit || scanned === ROWS_SCANNED_MAX;
      if (isFull) return { rows, next: formatId('evt', last!) };
      scanned++;
      last = row.id;
      if (request.type === null || selects(request.type, row.type)) rows.push(toEvent(row));
    }
    return { rows, next: null };
  };

  return (request) =>
    read(() => {
      const range = idRange(request, request.before === null ? null : idBytes(request.before));
      const types = request.type === null ? null : findTypes(request.environment, request.type);
      return types === null ? walk(request, range) : mergeTypes(request, types, range);
    });
}
