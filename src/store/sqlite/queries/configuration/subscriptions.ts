// Subscriptions: create (an identical one is found instead), read, list, delete.
import { idBytes } from '../../../../model/id.ts';
import { ID_BYTES_MAX } from '../../../rows/codec.ts';
import { toPage } from '../../../rows/page.ts';
import { toSubscription, type SubscriptionRow } from '../../../rows/subscription-rows.ts';
import type { Read, Write } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { raiseConfig, readCounters } from './environments.ts';
import { findLiveKey } from './signing-keys.ts';

export const SUBSCRIPTION_COLUMNS = `
  s.id, s.environment, t.id AS destination_id, s.event_type, s.filter, s.created_at, s.deleted_at`;

const FROM = 'FROM subscriptions s JOIN destinations t ON t.key = s.destination';

const SELECT_ONE = statement<SubscriptionRow>(`
  SELECT ${SUBSCRIPTION_COLUMNS} ${FROM} WHERE s.id = ? AND s.environment = ? AND s.deleted_at IS NULL`);

const SELECT_IDENTICAL = statement<SubscriptionRow>(`
  SELECT ${SUBSCRIPTION_COLUMNS} ${FROM} WHERE s.destination = ? AND s.identity = ? AND s.deleted_at IS NULL`);

const SELECT_PAGE = statement<SubscriptionRow>(`
  SELECT ${SUBSCRIPTION_COLUMNS} ${FROM}
  WHERE s.environment = ? AND s.deleted_at IS NULL AND s.id < ? ORDER BY s.id DESC LIMIT ?`);

// A destination keeps the tombstones of its deleted subscriptions for a while, so the walk may step over some.
const SELECT_PAGE_OF_DESTINATION = statement<SubscriptionRow>(`
  SELECT ${SUBSCRIPTION_COLUMNS} ${FROM}
  WHERE s.destination = ? AND s.deleted_at IS NULL AND s.id < ? ORDER BY s.id DESC LIMIT ?`);

const COUNT_OF_DESTINATION = statement<{ count: number }>(
  'SELECT count(*) AS count FROM subscriptions WHERE destination = ? AND deleted_at IS NULL',
);

const INSERT = statement(`
  INSERT INTO subscriptions (id, environment, destination, version, event_type, filter, identity, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);

const BURY = statement('UPDATE subscriptions SET version = ?, deleted_at = ? WHERE id = ?');

export const readSubscription: Read<'readSubscription'> = ({ sql }, { environment, id }) => {
  const row = sql(SELECT_ONE).get(idBytes(id), environment);
  return row === undefined ? null : toSubscription(row);
};

export const listSubscriptions: Read<'listSubscriptions'> = ({ sql }, request) => {
  const { environment, destinationId, before, limit } = request;
  const below = before === null ? ID_BYTES_MAX : idBytes(before);
  if (destinationId === null) {
    return toPage(sql(SELECT_PAGE).all(environment, below, limit + 1), limit, toSubscription);
  }
  const destination = findLiveKey(sql, environment, destinationId);
  if (destination === null) return { rows: [], next: null };
  return toPage(sql(SELECT_PAGE_OF_DESTINATION).all(destination, below, limit + 1), limit, toSubscription);
};

export const createSubscription: Write<'createSubscription'> = (context, { subscription, identity }, limits) => {
  const { sql, write, diskReserve } = context;
  diskReserve.assertRoom();
  return write(() => {
    const { id, environment, destinationId, eventType, filter, createdAt } = subscription;
    const destination = findLiveKey(sql, environment, destinationId);
    if (destination === null) return { result: 'destination_not_found' };
    const identical = sql(SELECT_IDENTICAL).get(destination, identity);
    if (identical !== undefined) return { result: 'exists', subscription: toSubscription(identical) };
    if (sql(COUNT_OF_DESTINATION).get(destination)!.count >= limits.perDestinationMax) {
      return { result: 'over_destination_limit' };
    }
    if (readCounters(sql, environment).subscription_count >= limits.perEnvironmentMax) {
      return { result: 'over_environment_limit' };
    }
    const version = raiseConfig(sql, environment, { subscriptions: 1 });
    sql(INSERT).run(idBytes(id), environment, destination, version, eventType, filter, identity, createdAt);
    return { result: 'created', subscription };
  });
};

export const deleteSubscription: Write<'deleteSubscription'> = ({ sql, write, clock }, { environment, id }) =>
  write(() => {
    if (sql(SELECT_ONE).get(idBytes(id), environment) === undefined) return false;
    sql(BURY).run(raiseConfig(sql, environment, { subscriptions: -1 }), clock.now(), idBytes(id));
    return true;
  });
