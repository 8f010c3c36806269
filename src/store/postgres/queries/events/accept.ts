// Accepting: the version of the configuration, the idempotency keys, then events, bodies and deliveries.
//
// Why a plain read of the version is enough, at READ COMMITTED: a change of the configuration raises the version in its
// own transaction and is answered (201, 204) after its commit. If our read sees the older version, that commit had not
// happened yet, so neither had the answer; but our events' requests had come before the read. So their POSTs began
// before the answer, and the change need not count for them, whichever of the two commits first. If our read sees the
// newer version, an event matched against the older one is stale, and matched again. No row is locked for this: a
// lock on the environment would make all accepts of the cluster wait for one another.
import type { AcceptResult, NewEvent } from '../../../store.ts';
import type { BacklogChange } from '../../backlog.ts';
import type { WriteContext } from '../../context.ts';
import { insertOf, insertStatement, statement, type BatchRow } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { keyOf } from '../deliveries/delivery-tables.ts';
import { readConfigVersion } from '../configuration/environments.ts';
import { claimKeys } from './idempotency.ts';
import { insertDeliveries, type DeliveriesOfEvent } from './insert-deliveries.ts';

export const EVENTS = insertOf('events', {
  id: 'uuid',
  environment: 'int4',
  type: 'text',
  idempotency_key: 'text',
  occurred_at: 'int8',
  traceparent: 'text',
});

export const BODIES = insertOf('event_bodies', { event_id: 'uuid', body: 'bytea' });

const INSERT_EVENTS = insertStatement('events_insert', EVENTS);
const INSERT_BODIES = insertStatement('event_bodies_insert', BODIES);

const IS_STORED = statement<unknown>('events_is_stored', 'SELECT 1 FROM events WHERE shard = $1::int2 AND id = $2');

export async function acceptTogether(
  tx: Tx,
  context: WriteContext,
  { change, events, keyWaitMs }: { change: BacklogChange; events: readonly NewEvent[]; keyWaitMs: number },
): Promise<AcceptResult[]> {
  const versions = await readVersions(tx, events);
  const fresh = events.filter((event) => event.configVersion >= versions.get(event.environment)!);
  const duplicates = await claimKeys(tx, fresh, { ...context, keyWaitMs });
  const accepted = fresh.filter(({ id }) => !duplicates.has(id));
  void tx.batch(INSERT_EVENTS, accepted.map(toEventRow));
  void tx.batch(INSERT_BODIES, accepted.map(toBodyRow));
  if (accepted.length > 0) tx.provedBy(IS_STORED, keyOf(accepted[0]!.id));
  const backlogFull = await insertDeliveries(tx, context, change, accepted.map(toDeliveries));
  const results = new Map<NewEvent, AcceptResult>(
    accepted.map((event, i) => [event, { result: 'accepted', backlogFull: backlogFull[i]! }]),
  );
  return events.map((event) => results.get(event) ?? duplicates.get(event.id) ?? { result: 'stale' });
}

export function toDeliveries({ environment, id, dueAt, deliveries }: NewEvent): DeliveriesOfEvent {
  return { environment, eventId: id, origin: 'event', dueAt, deliveries };
}

async function readVersions(tx: Tx, events: readonly NewEvent[]): Promise<Map<number, number>> {
  const environments = [...new Set(events.map((event) => event.environment))];
  const versions = environments.map(async (id) => [id, await readConfigVersion(tx, id)] as const);
  return new Map(await Promise.all(versions));
}

export function toEventRow(event: NewEvent): BatchRow {
  const { environment, type, idempotencyKey, occurredAt, traceparent } = event;
  return [...keyOf(event.id), environment, type, idempotencyKey, Math.round(occurredAt), traceparent];
}

export function toBodyRow({ id, body }: NewEvent): BatchRow {
  return [...keyOf(id), body];
}
