// What changed in an environment's configuration since a version: how memory follows the store.
import { formatId } from '../../../../model/id.ts';
import { toSubscription, type SubscriptionRow } from '../../../rows/subscription-rows.ts';
import type { Read, ReadContext } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { KEYED_COLUMNS, withKeys, type KeyedDestinationRow } from './destinations.ts';
import { readCounters } from './environments.ts';
import { SUBSCRIPTION_COLUMNS } from './subscriptions.ts';

// Versions are never split over two pages: the page ends before the version of the first row that is too many.
const SELECT_VERSIONS = statement<{ version: number }>(`
  SELECT version FROM destinations WHERE environment = ?1 AND version > ?2
  UNION ALL
  SELECT version FROM subscriptions WHERE environment = ?1 AND version > ?2
  ORDER BY version
  LIMIT 1 OFFSET ?3`);

const SELECT_DESTINATIONS = statement<KeyedDestinationRow>(`
  SELECT ${KEYED_COLUMNS} FROM destinations
  WHERE environment = ? AND version > ? AND version <= ? ORDER BY version`);

const SELECT_SUBSCRIPTIONS = statement<SubscriptionRow>(`
  SELECT ${SUBSCRIPTION_COLUMNS}
  FROM subscriptions s JOIN destinations t ON t.key = s.destination
  WHERE s.environment = ? AND s.version > ? AND s.version <= ? ORDER BY s.version`);

export const readChanges: Read<'readChanges'> = (context, { environment, after, limit }) => {
  const { sql, read } = context;
  return read(() => {
    const currentVersion = readCounters(sql, environment).config_version;
    const version = findPageEnd(sql, environment, after, limit) ?? currentVersion;
    const destinations = sql(SELECT_DESTINATIONS).all(environment, after, version);
    const subscriptions = sql(SELECT_SUBSCRIPTIONS).all(environment, after, version);
    // Who loads afresh has nothing that could be deleted.
    const isDeleted = (row: { deleted_at: number | null }): boolean => after > 0 && !isLive(row);
    return {
      version,
      currentVersion,
      destinations: destinations.filter(isLive).map((row) => withKeys(context, row)),
      deletedDestinations: destinations.filter(isDeleted).map((row) => formatId('dst', row.id)),
      subscriptions: subscriptions.filter(isLive).map(toSubscription),
      deletedSubscriptions: subscriptions.filter(isDeleted).map((row) => formatId('sub', row.id)),
    };
  });
};

/** Null: all that is left fits. */
function findPageEnd(sql: ReadContext['sql'], environment: number, after: number, limit: number): number | null {
  const tooMany = sql(SELECT_VERSIONS).get(environment, after, limit);
  if (tooMany === undefined) return null;
  const first = sql(SELECT_VERSIONS).get(environment, after, 0)!;
  return Math.max(first.version, tooMany.version - 1);
}

function isLive(row: { deleted_at: number | null }): boolean {
  return row.deleted_at === null;
}
