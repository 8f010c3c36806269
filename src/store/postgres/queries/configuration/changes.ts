// What changed in an environment's configuration since a version: how memory follows the store.
import { formatId } from '../../../../model/id.ts';
import { DESTINATION_COLUMNS, type DestinationRow } from '../../../rows/destination-rows.ts';
import { toSubscription, type SubscriptionRow } from '../../../rows/subscription-rows.ts';
import type { Read } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { withKeys } from './destination-rows.ts';
import { readConfigVersion } from './environments.ts';
import { SUBSCRIPTION_COLUMNS } from './subscriptions.ts';

// Versions are never split over two pages: the page ends before the version of the first row that is too many.
const SELECT_VERSIONS = statement<{ version: number }>(
  'changes_versions',
  `(SELECT version FROM destinations WHERE environment = $1::int4 AND version > $2::int8
    ORDER BY version LIMIT $3::int4)
   UNION ALL
   (SELECT version FROM subscriptions WHERE environment = $1::int4 AND version > $2::int8
    ORDER BY version LIMIT $3::int4)
   ORDER BY version LIMIT $3::int4`,
);

const SELECT_DESTINATIONS = statement<DestinationRow>(
  'changes_destinations',
  `SELECT ${DESTINATION_COLUMNS} FROM destinations
   WHERE environment = $1::int4 AND version > $2::int8 AND version <= $3::int8 ORDER BY version`,
);

const SELECT_SUBSCRIPTIONS = statement<SubscriptionRow>(
  'changes_subscriptions',
  `SELECT ${SUBSCRIPTION_COLUMNS} FROM subscriptions
   WHERE environment = $1::int4 AND version > $2::int8 AND version <= $3::int8 ORDER BY version`,
);

const SELECT_HISTORY = statement<{ history: string }>(
  'changes_history',
  `SELECT convert_from(value, 'UTF8') AS history FROM meta WHERE name = 'history'`,
);

export const readChanges: Read<'readChanges'> = ({ read, sealer }, request) =>
  read(async (tx) => {
    const { environment, after } = request;
    const [[begun], currentVersion, pageEnd] = await Promise.all([
      tx.run(SELECT_HISTORY),
      readConfigVersion(tx, environment),
      findPageEnd(tx, request),
    ]);
    const version = pageEnd ?? currentVersion;
    const [destinations, subscriptions] = await Promise.all([
      tx.run(SELECT_DESTINATIONS, [environment, after, version]),
      tx.run(SELECT_SUBSCRIPTIONS, [environment, after, version]),
    ]);
    // Who loads afresh has nothing that could be deleted.
    const isDeleted = (row: { deleted_at: number | null }): boolean => after > 0 && !isLive(row);
    return {
      ...begun,
      version,
      currentVersion,
      destinations: await withKeys(tx, destinations.filter(isLive), sealer),
      deletedDestinations: destinations.filter(isDeleted).map((row) => formatId('dst', row.id)),
      subscriptions: subscriptions.filter(isLive).map(toSubscription),
      deletedSubscriptions: subscriptions.filter(isDeleted).map((row) => formatId('sub', row.id)),
    };
  });

/** Null: all that is left fits. */
async function findPageEnd(
  tx: Tx,
  { environment, after, limit }: Parameters<Read<'readChanges'>>[1],
): Promise<number | null> {
  const versions = await tx.run(SELECT_VERSIONS, [environment, after, limit + 1]);
  if (versions.length <= limit) return null;
  return Math.max(versions[0]!.version, versions.at(-1)!.version - 1);
}

function isLive(row: { deleted_at: number | null }): boolean {
  return row.deleted_at === null;
}
