// Removing rows that have reached their age: events with all that hangs on them, expired idempotency keys, the
// tombstones of deleted subscriptions and destinations, and operations that have ended.
import { firstIdBytesAt } from '../../../../model/id.ts';
import { isUnfinished } from '../../../rows/codec.ts';
import type { Write, WriteContext } from '../../context.ts';
import { PAGE_BYTES, readNumber, statement, type Database } from '../../file/database.ts';
import { runSteps, someOrNull } from './steps.ts';

const DELIVERIES_PER_STEP = 10;
const ATTEMPTS_PER_STEP = 50;
const ROWS_PER_STEP = 50;
/** Half a millisecond. */
const PAGES_PER_STEP = 64;
const FREE_PAGES_KEPT_MIN = (64 * 1024 * 1024) / PAGE_BYTES;
const FREE_PART_KEPT = 0.25;

const SELECT_ENVIRONMENTS = statement<{ id: number }>('SELECT id FROM environments');

// In steps: an event may have more than 10,000 deliveries, and a delivery any number of forced attempts.
const SELECT_OLDEST = statement<{ id: Uint8Array }>(
  'SELECT id FROM events WHERE environment = ? AND id < ? ORDER BY id LIMIT 1',
);

type DeliveryRow = { id: Uint8Array; status: number; destination: number; deleted_at: number | null };

const SELECT_DELIVERIES = statement<DeliveryRow>(`
  SELECT d.id, d.status, d.destination, t.deleted_at
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.event_id = ? LIMIT ${DELIVERIES_PER_STEP}`);

const DELETE_ATTEMPTS = statement(`
  DELETE FROM attempts
  WHERE delivery_id = ?1 AND n < ${ATTEMPTS_PER_STEP} + (SELECT min(n) FROM attempts WHERE delivery_id = ?1)`);

const DELETE_DELIVERY = statement('DELETE FROM deliveries WHERE id = ?');
const DELETE_BODY = statement('DELETE FROM event_bodies WHERE event_id = ?');
const DELETE_EVENT = statement('DELETE FROM events WHERE environment = ? AND id = ?');

// The oldest rows expire first; should the clock have been set back, those behind a late one wait for it.
const DELETE_EXPIRED_KEYS = statement(`
  DELETE FROM idempotency
  WHERE rowid < ${ROWS_PER_STEP} + (SELECT min(rowid) FROM idempotency) AND expires_at <= ?`);

const DELETE_SUBSCRIPTION_TOMBSTONES = statement(`
  DELETE FROM subscriptions
  WHERE rowid IN (SELECT rowid FROM subscriptions WHERE deleted_at < ? LIMIT ${ROWS_PER_STEP})`);

// Every delivery to a destination is of an event older than its deletion, so those are gone by now. The age also
// leaves whoever follows the configuration time to hear of the deletion.
const DELETE_DESTINATION_TOMBSTONE = statement(`
  DELETE FROM destinations
  WHERE key = (SELECT key FROM destinations WHERE deleted_at < ? ORDER BY deleted_at LIMIT 1)
    AND NOT EXISTS
      (SELECT 1 FROM deliveries WHERE status IN (0, 1, 2, 3) AND deliveries.destination = destinations.key)`);

const DELETE_OPERATIONS = statement(`
  DELETE FROM operations
  WHERE id IN (SELECT id FROM operations WHERE finished_at < ? ORDER BY finished_at LIMIT ${ROWS_PER_STEP})`);

export const pruneRows: Write<'pruneRows'> = (context, { cutoff, now, budgetMs }) => {
  const { db, sql } = context;
  const environments = sql(SELECT_ENVIRONMENTS).all();
  return runSteps(context, budgetMs, [
    ...environments.map(
      ({ id }) =>
        () =>
          pruneEvent(context, id, cutoff),
    ),
    () => someOrNull(sql(DELETE_EXPIRED_KEYS).run(now)),
    () => someOrNull(sql(DELETE_SUBSCRIPTION_TOMBSTONES).run(cutoff)),
    () => someOrNull(sql(DELETE_DESTINATION_TOMBSTONE).run(cutoff)),
    () => someOrNull(sql(DELETE_OPERATIONS).run(cutoff)),
    () => giveBackSpace(db),
  ]);
};

/** Some of the deliveries of the oldest event, or at last the event; null: none is that old. */
function pruneEvent(context: WriteContext, environment: number, cutoff: number): number | null {
  const { sql } = context;
  const event = sql(SELECT_OLDEST).get(environment, firstIdBytesAt(cutoff));
  if (event === undefined) return null;
  const deliveries = sql(SELECT_DELIVERIES).all(event.id);
  if (deliveries.length > 0) return deliveries.reduce((sum, row) => sum + pruneDelivery(context, row, environment), 0);
  sql(DELETE_BODY).run(event.id);
  sql(DELETE_EVENT).run(environment, event.id);
  return 1;
}

function pruneDelivery({ sql, backlog }: WriteContext, row: DeliveryRow, environment: number): number {
  const attempts = Number(sql(DELETE_ATTEMPTS).run(row.id).changes);
  if (attempts === ATTEMPTS_PER_STEP) return attempts;
  sql(DELETE_DELIVERY).run(row.id);
  if (isUnfinished(row.status) && row.deleted_at === null) backlog.add(row.destination, environment, -1);
  return attempts + 1;
}

// Free pages are used again by what comes next, so a good part of them stays; only a surplus goes back to the disk.
function giveBackSpace(db: Database): number | null {
  const free = readNumber(db, 'PRAGMA freelist_count');
  const kept = Math.max(FREE_PAGES_KEPT_MIN, readNumber(db, 'PRAGMA page_count') * FREE_PART_KEPT);
  if (free <= kept) return null;
  db.exec(`PRAGMA incremental_vacuum(${PAGES_PER_STEP})`);
  return 0;
}
