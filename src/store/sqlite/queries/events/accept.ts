// New deliveries. Accepting: the version of the configuration, the idempotency key, then the event, its body and its
// deliveries. Replaying: the same for an event that is there.
import { idBytes, idTime, type DeliveryId } from '../../../../model/id.ts';
import type { AcceptResult, NewDelivery, NewEvent, ReplayRequest, ReplayResult } from '../../../store.ts';
import { DEAD, PENDING, deadReasonCode, originCode } from '../../../rows/codec.ts';
import type { Write, WriteContext } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { readCounters } from '../configuration/environments.ts';
import { claimKey } from './idempotency.ts';

const INSERT_EVENT = statement(
  'INSERT INTO events (environment, id, type, idempotency_key, occurred_at, traceparent) VALUES (?, ?, ?, ?, ?, ?)',
);

const INSERT_BODY = statement('INSERT INTO event_bodies (event_id, environment, body) VALUES (?, ?, ?)');

// As `born` has it (transitions.ts), to which the conformance suite holds it: what is the same for every new delivery
// is a column's default, and is not bound.
const INSERT_PENDING = statement(`
  INSERT INTO deliveries (id, environment, event_id, destination, subscription_id, origin, updated_at, status, due_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ${PENDING}, ?)`);

// As `bornDead` has it, likewise.
const INSERT_DEAD = statement(`
  INSERT INTO deliveries (id, environment, event_id, destination, subscription_id, origin, updated_at, status,
                          dead_reason, completed_at)
  VALUES (?, ?, ?, ?, ?, ?, ?7, ${DEAD}, ${deadReasonCode.numberOf('backlog_full')}, ?7)`);

const SELECT_HAS_BODY = statement<{ has_body: number }>(`
  SELECT EXISTS (SELECT 1 FROM event_bodies b WHERE b.event_id = e.id) AS has_body
  FROM events e WHERE e.environment = ? AND e.id = ?`);

export const acceptEvents: Write<'acceptEvents'> = (context, events) => {
  context.diskReserve.assertRoom();
  return context.write(() => {
    const versions = new Map<number, number>();
    for (const { environment } of events) {
      if (!versions.has(environment)) {
        versions.set(environment, readCounters(context.sql, environment).config_version);
      }
    }
    return events.map((event) =>
      event.configVersion < versions.get(event.environment)! ? { result: 'stale' } : acceptOne(context, event),
    );
  });
};

// Written anew for each row, as SQLite copies the bytes that are bound to it. When a small array is bound for the first
// time it is given memory outside of V8's heap; to make one for each id cost 0.85 µs of CPU more, freeing included.
const [EVENT_ID, DELIVERY_ID, SUBSCRIPTION_ID] = [new Uint8Array(16), new Uint8Array(16), new Uint8Array(16)];

function acceptOne(context: WriteContext, event: NewEvent): AcceptResult {
  const { sql } = context;
  const { environment, type, idempotencyKey, occurredAt, traceparent, body, dueAt, deliveries } = event;
  const id = idBytes(event.id, EVENT_ID);
  const duplicate = findHolder(context, event, id);
  if (duplicate !== null) return duplicate;
  sql(INSERT_EVENT).run(environment, id, type, idempotencyKey, occurredAt, traceparent);
  sql(INSERT_BODY).run(id, environment, body);
  const backlogFull = insertDeliveries(context, { environment, eventId: id, origin: EVENT, dueAt, deliveries });
  return { result: 'accepted', backlogFull };
}

/** The event that holds this one's key already; null: the key is this event's now, or it has none. */
function findHolder(context: WriteContext, event: NewEvent, id: Uint8Array): AcceptResult | null {
  const { environment, idempotencyKey: key, idempotency, createdAt: now } = event;
  if (key === null || idempotency === null) return null;
  const holder = claimKey(context, { ...idempotency, environment, key, eventId: id, now });
  return holder === null ? null : { result: 'duplicate', ...holder };
}

export const replayEvent: Write<'replayEvent'> = (context, request) => {
  const { sql, write, diskReserve } = context;
  diskReserve.assertRoom();
  return write(() => {
    if (request.configVersion < readCounters(sql, request.environment).config_version) return { result: 'stale' };
    return replayOne(context, request);
  });
};

/** To be called inside a transaction whose configuration version was checked. */
export function replayOne(
  context: WriteContext,
  { environment, eventId, deliveries, now, bodyCutoff }: Omit<ReplayRequest, 'configVersion'>,
): ReplayResult {
  const id = idBytes(eventId);
  const event = context.sql(SELECT_HAS_BODY).get(environment, id);
  if (event === undefined) return { result: 'not_found' };
  if (event.has_body === 0 || idTime(eventId) < bodyCutoff) return { result: 'too_old' };
  const backlogFull = insertDeliveries(context, { environment, eventId: id, origin: REPLAY, dueAt: now, deliveries });
  return { result: 'replayed', backlogFull };
}

const [EVENT, REPLAY] = [originCode.numberOf('event'), originCode.numberOf('replay')];

type DeliveriesOfEvent = {
  environment: number;
  eventId: Uint8Array;
  origin: number;
  dueAt: number;
  deliveries: NewDelivery[];
};

/**
 * Pending and due at once, or born dead where their destination has too many already: returns those. To be called
 * inside a transaction whose configuration version was checked.
 */
function insertDeliveries(context: WriteContext, event: DeliveriesOfEvent): DeliveryId[] {
  const { sql, backlog, backlogMax } = context;
  const { environment, eventId, origin, dueAt, deliveries } = event;
  const backlogFull: DeliveryId[] = [];
  for (const { id, destinationId, subscriptionId } of deliveries) {
    const destination = context.findDestinationKey(destinationId);
    // The version check has seen to it that the match knew every destination there is.
    if (destination === null) throw new Error(`no destination ${destinationId} for a new delivery`);
    const [delivery, subscription] = [idBytes(id, DELIVERY_ID), idBytes(subscriptionId, SUBSCRIPTION_ID)];
    const columns = [delivery, environment, eventId, destination, subscription, origin, idTime(id)];
    if (backlog.countOf(destination) >= backlogMax) {
      sql(INSERT_DEAD).run(...columns);
      backlogFull.push(id);
    } else {
      sql(INSERT_PENDING).run(...columns, dueAt);
      backlog.add(destination, environment, 1);
    }
  }
  return backlogFull;
}
