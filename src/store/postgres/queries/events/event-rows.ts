// Single events, by the shard in their id.
import { formatId, type EventId } from '../../../../model/id.ts';
import type { EventRow } from '../../../rows/event-rows.ts';
import type { Horizons } from '../../horizons.ts';
import { batchStatement, statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { keyOf } from '../deliveries/delivery-tables.ts';

export const EVENT_COLUMNS = 'environment, id, type, idempotency_key, occurred_at, traceparent';

export const SELECT_EVENT = statement<EventRow>(
  'events_one',
  `SELECT ${EVENT_COLUMNS} FROM events WHERE shard = $1::int2 AND id = $2 AND environment = $3::int4`,
);

export const SELECT_BODY = statement<{ body: Uint8Array }>(
  'event_bodies_one',
  'SELECT body FROM event_bodies WHERE shard = $1::int2 AND event_id = $2',
);

const SELECT_HAS_BODY = statement<{ found: number }>(
  'event_bodies_has',
  'SELECT 1 AS found FROM event_bodies WHERE shard = $1::int2 AND event_id = $2',
);

const SELECT_WITH_BODY = batchStatement<{ event_id: Uint8Array }>(
  'event_bodies_have',
  { id: 'uuid' },
  ({ rows, inShard }) => `SELECT b.event_id FROM ${rows} JOIN event_bodies b ON ${inShard('b')} AND b.event_id = r.id`,
);

/** The types of events that rows of another kind name. */
export const SELECT_TYPES = batchStatement<{ id: Uint8Array; type: string }>(
  'events_types',
  { id: 'uuid' },
  ({ rows, inShard }) => `SELECT e.id, e.type FROM ${rows} JOIN events e ON ${inShard('e')} AND e.id = r.id`,
);

type PayloadRow = { id: Uint8Array; type: string; occurred_at: number; traceparent: string | null; body: Uint8Array };

/** What events are sent as. None for one whose body has been erased. */
export const SELECT_PAYLOADS = batchStatement<PayloadRow>(
  'events_payloads',
  { id: 'uuid' },
  ({ rows, inShard }) => `
    SELECT e.id, e.type, e.occurred_at, e.traceparent, b.body FROM ${rows}
    JOIN events e ON ${inShard('e')} AND e.id = r.id
    JOIN event_bodies b ON ${inShard('b')} AND b.event_id = r.id`,
);

export async function hasBody(tx: Tx, horizons: Horizons, eventId: EventId): Promise<boolean> {
  if (horizons.hides('bodies', eventId)) return false;
  return (await tx.run(SELECT_HAS_BODY, keyOf(eventId))).length > 0;
}

/** Those of the events whose body is still there. */
export async function selectWithBody(tx: Tx, horizons: Horizons, ids: readonly EventId[]): Promise<Set<EventId>> {
  const seen = ids.filter((id) => !horizons.hides('bodies', id));
  const found = await tx.batch(SELECT_WITH_BODY, [...new Set(seen)].map(keyOf));
  return new Set(found.map((row) => formatId('evt', row.event_id)));
}
