// New deliveries of an event: pending and due at once, or born dead where their destination has too many already.
import { idBytes, idTime } from '../../../../model/id.ts';
import type { DeliveryId } from '../../../../model/id.ts';
import type { NewDelivery } from '../../../store.ts';
import type { DeliveryOrigin } from '../../../../model/delivery.ts';
import { DEAD, PENDING, deadReasonCode, originCode } from '../../../rows/codec.ts';
import type { WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';

const INSERT_PENDING = `
  INSERT INTO deliveries (id, environment, event_id, destination, subscription_id, origin, status, due_at, updated_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ${PENDING}, ?8, ?7)`;

const INSERT_DEAD = `
  INSERT INTO deliveries (id, environment, event_id, destination, subscription_id, origin, status,
                          dead_reason, updated_at, completed_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ${DEAD}, ${deadReasonCode.numberOf('backlog_full')}, ?7, ?7)`;

type DeliveryInserter = (request: {
  environment: number;
  eventId: Uint8Array;
  origin: DeliveryOrigin;
  dueAt: number;
  deliveries: NewDelivery[];
}) => DeliveryId[];

/** Returns those that were born dead. To be called inside a transaction whose configuration version was checked. */
export function createDeliveryInserter({ db, destinationKeys, backlog, backlogMax }: WriteContext): DeliveryInserter {
  const insertPending = prepare(db, INSERT_PENDING);
  const insertDead = prepare(db, INSERT_DEAD);
  return ({ environment, eventId, origin, dueAt, deliveries }) => {
    const originNumber = originCode.numberOf(origin);
    const backlogFull: DeliveryId[] = [];
    for (const { id, destinationId, subscriptionId } of deliveries) {
      const destination = destinationKeys.keyOf(destinationId);
      // The version check has seen to it that the match knew every destination there is.
      if (destination === null) throw new Error(`no destination ${destinationId} for a new delivery`);
      const isFull = backlog.countOf(destination) >= backlogMax;
      const subscription = idBytes(subscriptionId);
      const columns = [idBytes(id), environment, eventId, destination, subscription, originNumber, idTime(id)];
      if (isFull) {
        insertDead.run(...columns);
        backlogFull.push(id);
      } else {
        insertPending.run(...columns, dueAt);
        backlog.add(destination, environment, 1);
      }
    }
    return backlogFull;
  };
}
