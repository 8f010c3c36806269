// What changed in an environment's configuration since a version: how memory follows the store.
import { formatId } from '../../../../model/id.ts';
import type { ConfigurationChanges } from '../../../store.ts';
import type { ReadContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { toSubscription } from '../../../rows/subscription-rows.ts';
import type { SubscriptionRow } from '../../../rows/subscription-rows.ts';
import { DESTINATION_COLUMNS, createSigningKeys, withKeys } from './keyed-destinations.ts';
import type { KeyedDestinationRow } from './keyed-destinations.ts';
import { createEnvironmentCounters } from './environments.ts';
import { SUBSCRIPTION_COLUMNS } from './subscriptions.ts';

// Versions are never split over two pages: the page ends before the version of the first row that is too many.
const SELECT_VERSIONS = `
  SELECT version FROM destinations WHERE environment = ?1 AND version > ?2
  UNION ALL
  SELECT version FROM subscriptions WHERE environment = ?1 AND version > ?2
  ORDER BY version
  LIMIT 1 OFFSET ?3`;

const SELECT_DESTINATIONS = `
  SELECT ${DESTINATION_COLUMNS} FROM destinations
  WHERE environment = ? AND version > ? AND version <= ? ORDER BY version`;

const SELECT_SUBSCRIPTIONS = `
  SELECT ${SUBSCRIPTION_COLUMNS}
  FROM subscriptions s JOIN destinations t ON t.key = s.destination
  WHERE s.environment = ? AND s.version > ? AND s.version <= ? ORDER BY s.version`;

export function createChangeReads({ db, read, sealer }: ReadContext) {
  const environments = createEnvironmentCounters(db);
  const selectVersions = prepare<{ version: number }>(db, SELECT_VERSIONS);
  const selectDestinations = prepare<KeyedDestinationRow>(db, SELECT_DESTINATIONS);
  const selectSubscriptions = prepare<SubscriptionRow>(db, SELECT_SUBSCRIPTIONS);
  const keys = createSigningKeys(db, sealer);

  const findPageEnd = (request: { environment: number; after: number; limit: number; current: number }): number => {
    const { environment, after, limit, current } = request;
    const tooMany = selectVersions.get(environment, after, limit);
    if (tooMany === undefined) return current;
    const first = selectVersions.get(environment, after, 0)!;
    return Math.max(first.version, tooMany.version - 1);
  };

  return {
    readChanges(request: { environment: number; after: number; limit: number }): ConfigurationChanges {
      const { environment, after } = request;
      return read(() => {
        const currentVersion = environments.configVersion(environment);
        const version = findPageEnd({ ...request, current: currentVersion });
        const destinations = selectDestinations.all(environment, after, version);
        const subscriptions = selectSubscriptions.all(environment, after, version);
        // Who loads afresh has nothing that could be deleted.
        const showsDeleted = after > 0;
        return {
          version,
          currentVersion,
          destinations: destinations.filter(isLive).map((row) => withKeys(row, keys, sealer)),
          deletedDestinations: destinations.filter((row) => showsDeleted && !isLive(row)).map(destinationId),
          subscriptions: subscriptions.filter(isLive).map(toSubscription),
          deletedSubscriptions: subscriptions
            .filter((row) => showsDeleted && !isLive(row))
            .map((row) => formatId('sub', row.id)),
        };
      });
    },
  };
}

function isLive(row: { deleted_at: number | null }): boolean {
  return row.deleted_at === null;
}

function destinationId(row: KeyedDestinationRow): `dst_${string}` {
  return formatId('dst', row.id);
}
