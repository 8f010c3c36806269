// Accepting: the version of the configuration, the idempotency key, then the event, its body and its deliveries.
import { idBytes } from '../../../../model/id.ts';
import type { AcceptResult, NewEvent } from '../../../store.ts';
import type { WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { createEnvironmentCounters } from '../configuration/environments.ts';
import { createKeyClaimer } from './idempotency.ts';
import { createDeliveryInserter } from './insert-deliveries.ts';

const INSERT_EVENT = 'INSERT INTO events (environment, id, type, idempotency_key, occurred_at) VALUES (?, ?, ?, ?, ?)';

const INSERT_BODY = 'INSERT INTO event_bodies (event_id, environment, body) VALUES (?, ?, ?)';

export function createAcceptWrites(context: WriteContext) {
  const { db, write, diskReserve } = context;
  const environments = createEnvironmentCounters(db);
  const insertDeliveries = createDeliveryInserter(context);
  const claimKey = createKeyClaimer(db);
  const insertEvent = prepare(db, INSERT_EVENT);
  const insertBody = prepare(db, INSERT_BODY);

  /** The event that holds this one's key already; null: the key is this event's now, or it has none. */
  const findHolder = (event: NewEvent, id: Uint8Array): AcceptResult | null => {
    const { environment, idempotencyKey: key, idempotency, createdAt: now } = event;
    if (key === null || idempotency === null) return null;
    const holder = claimKey({ ...idempotency, environment, key, eventId: id, now });
    return holder === null ? null : { result: 'duplicate', ...holder };
  };

  const acceptOne = (event: NewEvent): AcceptResult => {
    const { environment, type, idempotencyKey, occurredAt, body, dueAt, deliveries } = event;
    const id = idBytes(event.id);
    const duplicate = findHolder(event, id);
    if (duplicate !== null) return duplicate;
    insertEvent.run(environment, id, type, idempotencyKey, occurredAt);
    insertBody.run(id, environment, body);
    const backlogFull = insertDeliveries({ environment, eventId: id, origin: 'event', dueAt, deliveries });
    return { result: 'accepted', backlogFull };
  };

  return {
    acceptEvents(events: NewEvent[]): AcceptResult[] {
      diskReserve.assertRoom();
      return write(() => {
        const versions = new Map<number, number>();
        for (const { environment } of events) {
          if (!versions.has(environment)) versions.set(environment, environments.configVersion(environment));
        }
        return events.map((event) =>
          event.configVersion < versions.get(event.environment)! ? { result: 'stale' } : acceptOne(event),
        );
      });
    },
  };
}
