// Subscriptions: create (an identical one is found instead), read, list, delete.
import { idBytes } from '../../../../model/id.ts';
import type { DestinationId, SubscriptionId } from '../../../../model/id.ts';
import type { Subscription } from '../../../../model/subscription.ts';
import type { Page, PageRequest } from '../../../store.ts';
import { ID_BYTES_MAX } from '../../../rows/codec.ts';
import { toSubscription, toSubscriptionPage } from '../../../rows/subscription-rows.ts';
import type { SubscriptionRow } from '../../../rows/subscription-rows.ts';
import type { ReadContext, WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { createEnvironmentCounters } from './environments.ts';

export const SUBSCRIPTION_COLUMNS = `
  s.id, s.environment, t.id AS destination_id, s.event_type, s.filter, s.created_at, s.deleted_at`;

const FROM = 'FROM subscriptions s JOIN destinations t ON t.key = s.destination';

const SELECT_ONE = `
  SELECT ${SUBSCRIPTION_COLUMNS} ${FROM} WHERE s.id = ? AND s.environment = ? AND s.deleted_at IS NULL`;

const SELECT_IDENTICAL = `
  SELECT ${SUBSCRIPTION_COLUMNS} ${FROM} WHERE s.destination = ? AND s.identity = ? AND s.deleted_at IS NULL`;

const SELECT_PAGE = `
  SELECT ${SUBSCRIPTION_COLUMNS} ${FROM}
  WHERE s.environment = ? AND s.deleted_at IS NULL AND s.id < ? ORDER BY s.id DESC LIMIT ?`;

// A destination keeps the tombstones of its deleted subscriptions for a while, so the walk may step over some.
const SELECT_PAGE_OF_DESTINATION = `
  SELECT ${SUBSCRIPTION_COLUMNS} ${FROM}
  WHERE s.destination = ? AND s.deleted_at IS NULL AND s.id < ? ORDER BY s.id DESC LIMIT ?`;

const SELECT_DESTINATION = 'SELECT key FROM destinations WHERE id = ? AND environment = ? AND deleted_at IS NULL';

const COUNT_OF_DESTINATION = 'SELECT count(*) AS count FROM subscriptions WHERE destination = ? AND deleted_at IS NULL';

const INSERT = `
  INSERT INTO subscriptions (id, environment, destination, version, event_type, filter, identity, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

type CreateResult =
  | { result: 'created' | 'exists'; subscription: Subscription }
  | { result: 'destination_not_found' | 'over_destination_limit' | 'over_environment_limit' };

export function createSubscriptionReads({ db }: ReadContext) {
  const selectOne = prepare<SubscriptionRow>(db, SELECT_ONE);
  const selectPage = prepare<SubscriptionRow>(db, SELECT_PAGE);
  const selectPageOfDestination = prepare<SubscriptionRow>(db, SELECT_PAGE_OF_DESTINATION);
  const selectDestination = prepare<{ key: number }>(db, SELECT_DESTINATION);

  return {
    readSubscription(request: { environment: number; id: SubscriptionId }): Subscription | null {
      const row = selectOne.get(idBytes(request.id), request.environment);
      return row === undefined ? null : toSubscription(row);
    },

    listSubscriptions(
      request: { environment: number; destinationId: DestinationId | null } & PageRequest<SubscriptionId>,
    ): Page<Subscription, SubscriptionId> {
      const { environment, destinationId, before, limit } = request;
      const below = before === null ? ID_BYTES_MAX : idBytes(before);
      if (destinationId === null) return toSubscriptionPage(selectPage.all(environment, below, limit + 1), limit);
      const destination = selectDestination.get(idBytes(destinationId), environment);
      if (destination === undefined) return { rows: [], next: null };
      return toSubscriptionPage(selectPageOfDestination.all(destination.key, below, limit + 1), limit);
    },
  };
}

export function createSubscriptionWrites({ db, write, diskReserve, clock }: WriteContext) {
  const environments = createEnvironmentCounters(db);
  const selectOne = prepare<SubscriptionRow>(db, SELECT_ONE);
  const selectIdentical = prepare<SubscriptionRow>(db, SELECT_IDENTICAL);
  const selectDestination = prepare<{ key: number }>(db, SELECT_DESTINATION);
  const countOfDestination = prepare<{ count: number }>(db, COUNT_OF_DESTINATION);
  const insert = prepare(db, INSERT);
  const bury = prepare(db, 'UPDATE subscriptions SET version = ?, deleted_at = ? WHERE id = ?');

  return {
    createSubscription(
      { subscription, identity }: { subscription: Subscription; identity: Uint8Array },
      limits: { perDestinationMax: number; perEnvironmentMax: number },
    ): CreateResult {
      diskReserve.assertRoom();
      return write(() => {
        const { id, environment, destinationId, eventType, filter, createdAt } = subscription;
        const destination = selectDestination.get(idBytes(destinationId), environment)?.key;
        if (destination === undefined) return { result: 'destination_not_found' };
        const identical = selectIdentical.get(destination, identity);
        if (identical !== undefined) return { result: 'exists', subscription: toSubscription(identical) };
        if (countOfDestination.get(destination)!.count >= limits.perDestinationMax) {
          return { result: 'over_destination_limit' };
        }
        if (environments.subscriptionCount(environment) >= limits.perEnvironmentMax) {
          return { result: 'over_environment_limit' };
        }
        const version = environments.raiseConfig(environment, { subscriptions: 1 });
        insert.run(idBytes(id), environment, destination, version, eventType, filter, identity, createdAt);
        return { result: 'created', subscription };
      });
    },

    deleteSubscription({ environment, id }: { environment: number; id: SubscriptionId }): boolean {
      return write(() => {
        if (selectOne.get(idBytes(id), environment) === undefined) return false;
        const version = environments.raiseConfig(environment, { subscriptions: -1 });
        bury.run(version, clock.now(), idBytes(id));
        return true;
      });
    },
  };
}
