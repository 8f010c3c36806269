// Subscriptions: create (an identical one is found instead), read, list, delete.
import { idBytes } from '../../../../model/id.ts';
import { ID_BYTES_MAX } from '../../../rows/codec.ts';
import { toPage } from '../../../rows/page.ts';
import { toSubscription, type SubscriptionRow } from '../../../rows/subscription-rows.ts';
import type { Read, Write } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import { SELECT_DESTINATION } from './destination-rows.ts';
import { changeCounts, raiseConfig } from './environments.ts';

export const SUBSCRIPTION_COLUMNS = 'id, environment, destination_id, event_type, filter, created_at, deleted_at';

const SELECT_ONE = statement<SubscriptionRow>(
  'subscriptions_one',
  `SELECT ${SUBSCRIPTION_COLUMNS} FROM subscriptions WHERE id = $1 AND environment = $2::int4 AND deleted_at IS NULL`,
);

const SELECT_IDENTICAL = statement<SubscriptionRow>(
  'subscriptions_identical',
  `SELECT ${SUBSCRIPTION_COLUMNS} FROM subscriptions
   WHERE destination_id = $1 AND identity = $2 AND deleted_at IS NULL`,
);

const SELECT_PAGE = statement<SubscriptionRow>(
  'subscriptions_page',
  `SELECT ${SUBSCRIPTION_COLUMNS} FROM subscriptions
   WHERE environment = $1::int4 AND deleted_at IS NULL AND id < $2 ORDER BY id DESC LIMIT $3::int4`,
);

// A destination keeps the tombstones of its deleted subscriptions for a while, so the walk may step over some.
const SELECT_PAGE_OF_DESTINATION = statement<SubscriptionRow>(
  'subscriptions_page_of_destination',
  `SELECT ${SUBSCRIPTION_COLUMNS} FROM subscriptions
   WHERE environment = $1::int4 AND destination_id = $4 AND deleted_at IS NULL AND id < $2
   ORDER BY id DESC LIMIT $3::int4`,
);

const COUNT_OF_DESTINATION = statement<{ count: number }>(
  'subscriptions_count_of_destination',
  'SELECT count(*) AS count FROM subscriptions WHERE destination_id = $1 AND deleted_at IS NULL',
);

const INSERT = statement<never>(
  'subscriptions_insert',
  `INSERT INTO subscriptions (id, environment, destination_id, version, event_type, filter, identity, created_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
);

const BURY = statement<never>(
  'subscriptions_bury',
  `UPDATE subscriptions SET version = $3::int8, deleted_at = $4::int8
   WHERE id = $1 AND environment = $2::int4 AND deleted_at IS NULL`,
);

/** A later version shows that an earlier one has been, too. */
const HAS_COME = statement<unknown>(
  'subscriptions_has_come',
  'SELECT 1 FROM subscriptions WHERE id = $1 AND version >= $2::int8',
);

export const readSubscription: Read<'readSubscription'> = ({ read }, request) =>
  read(async (tx) => {
    const [row] = await tx.run(SELECT_ONE, [idBytes(request.id), request.environment]);
    return row === undefined ? null : toSubscription(row);
  });

export const listSubscriptions: Read<'listSubscriptions'> = ({ read }, request) => {
  const { environment, destinationId, before, limit } = request;
  const page = [environment, before === null ? ID_BYTES_MAX : idBytes(before), limit + 1];
  return read(async (tx) => {
    const rows =
      destinationId === null
        ? await tx.run(SELECT_PAGE, page)
        : await tx.run(SELECT_PAGE_OF_DESTINATION, [...page, idBytes(destinationId)]);
    return toPage(rows, limit, toSubscription);
  });
};

export const createSubscription: Write<'createSubscription'> = ({ write }, { subscription, identity }, limits) =>
  write(async (tx) => {
    const { id, environment, destinationId, eventType, filter, createdAt } = subscription;
    const destination = idBytes(destinationId);
    const counters = await raiseConfig(tx, environment);
    const [destinations, [identical], [ofDestination]] = await Promise.all([
      tx.run(SELECT_DESTINATION, [destination, environment]),
      tx.run(SELECT_IDENTICAL, [destination, identity]),
      tx.run(COUNT_OF_DESTINATION, [destination]),
    ]);
    if (destinations.length === 0) return tx.refuse({ result: 'destination_not_found' });
    if (identical !== undefined) return tx.refuse({ result: 'exists', subscription: toSubscription(identical) });
    if (ofDestination!.count >= limits.perDestinationMax) return tx.refuse({ result: 'over_destination_limit' });
    if (counters.subscription_count >= limits.perEnvironmentMax) {
      return tx.refuse({ result: 'over_environment_limit' });
    }
    const values = [environment, destination, counters.config_version, eventType, filter, identity, createdAt];
    void tx.change(INSERT, [idBytes(id), ...values]);
    void changeCounts(tx, environment, { subscriptions: 1 });
    tx.provedBy(HAS_COME, [idBytes(id), counters.config_version]);
    return { result: 'created', subscription };
  });

export const deleteSubscription: Write<'deleteSubscription'> = ({ write, clock }, { environment, id }) =>
  write(async (tx) => {
    const { config_version: version } = await raiseConfig(tx, environment);
    const buried = await tx.change(BURY, [idBytes(id), environment, version, clock.now()]);
    if (buried === 0) return tx.refuse(false);
    void changeCounts(tx, environment, { subscriptions: -1 });
    tx.provedBy(HAS_COME, [idBytes(id), version]);
    return true;
  });
