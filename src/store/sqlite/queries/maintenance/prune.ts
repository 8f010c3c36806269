// Removing rows that have reached their age: events with all that hangs on them, expired idempotency keys, and the
// tombstones of deleted subscriptions and destinations.
import { firstIdBytesAt } from '../../../../model/id.ts';
import type { StepReport } from '../../../store.ts';
import { isUnfinished } from '../../../rows/codec.ts';
import type { WriteContext } from '../../context.ts';
import { PAGE_BYTES, prepare, readNumber } from '../../file/database.ts';
import type { Database } from '../../file/database.ts';
import { runSteps } from './steps.ts';
import type { Step } from './steps.ts';

const DELIVERIES_PER_STEP = 10;
const ATTEMPTS_PER_STEP = 50;
const ROWS_PER_STEP = 50;
/** Half a millisecond. */
const PAGES_PER_STEP = 64;
const FREE_PAGES_KEPT_MIN = (64 * 1024 * 1024) / PAGE_BYTES;
const FREE_PART_KEPT = 0.25;

// In steps: an event may have more than 10,000 deliveries, and a delivery any number of forced attempts.
const SELECT_OLDEST = 'SELECT id FROM events WHERE environment = ? AND id < ? ORDER BY id LIMIT 1';

const SELECT_DELIVERIES = `
  SELECT d.id, d.status, d.destination, t.deleted_at
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.event_id = ? LIMIT ${DELIVERIES_PER_STEP}`;

const DELETE_ATTEMPTS = `
  DELETE FROM attempts
  WHERE delivery_id = ?1 AND n < ${ATTEMPTS_PER_STEP} + (SELECT min(n) FROM attempts WHERE delivery_id = ?1)`;

// The oldest rows expire first; should the clock have been set back, those behind a late one wait for it.
const DELETE_EXPIRED_KEYS = `
  DELETE FROM idempotency
  WHERE rowid < ${ROWS_PER_STEP} + (SELECT min(rowid) FROM idempotency) AND expires_at <= ?`;

const DELETE_SUBSCRIPTION_TOMBSTONES = `
  DELETE FROM subscriptions
  WHERE rowid IN (SELECT rowid FROM subscriptions WHERE deleted_at < ? LIMIT ${ROWS_PER_STEP})`;

// Every delivery to a destination is of an event older than its deletion, so those are gone by now. The age also
// leaves whoever follows the configuration time to hear of the deletion.
const DELETE_DESTINATION_TOMBSTONE = `
  DELETE FROM destinations
  WHERE key = (SELECT key FROM destinations WHERE deleted_at < ? ORDER BY deleted_at LIMIT 1)
    AND NOT EXISTS
      (SELECT 1 FROM deliveries WHERE status IN (0, 1, 2, 3) AND deliveries.destination = destinations.key)`;

type DeliveryRow = { id: Uint8Array; status: number; destination: number; deleted_at: number | null };

export function createPrune(context: WriteContext) {
  const { db } = context;
  const environments = prepare<{ id: number }>(db, 'SELECT id FROM environments');
  const deleteKeys = prepare(db, DELETE_EXPIRED_KEYS);
  const deleteSubscriptions = prepare(db, DELETE_SUBSCRIPTION_TOMBSTONES);
  const deleteDestination = prepare(db, DELETE_DESTINATION_TOMBSTONE);
  const createEventStep = createEventPruner(context);
  const giveBackSpace = createSpaceReturner(db);

  return {
    pruneRows({ cutoff, now, budgetMs }: { cutoff: number; now: number; budgetMs: number }): StepReport {
      return runSteps(context, budgetMs, [
        ...environments.all().map(({ id }) => createEventStep(id, cutoff)),
        () => someOrNull(deleteKeys.run(now)),
        () => someOrNull(deleteSubscriptions.run(cutoff)),
        () => someOrNull(deleteDestination.run(cutoff)),
        giveBackSpace,
      ]);
    },
  };
}

function createEventPruner({ db, backlog }: WriteContext): (environment: number, cutoff: number) => Step {
  const selectOldest = prepare<{ id: Uint8Array }>(db, SELECT_OLDEST);
  const selectDeliveries = prepare<DeliveryRow>(db, SELECT_DELIVERIES);
  const deleteAttempts = prepare(db, DELETE_ATTEMPTS);
  const deleteDelivery = prepare(db, 'DELETE FROM deliveries WHERE id = ?');
  const deleteBody = prepare(db, 'DELETE FROM event_bodies WHERE event_id = ?');
  const deleteEvent = prepare(db, 'DELETE FROM events WHERE environment = ? AND id = ?');

  const pruneDelivery = (row: DeliveryRow, environment: number): number => {
    const attempts = Number(deleteAttempts.run(row.id).changes);
    if (attempts === ATTEMPTS_PER_STEP) return attempts;
    deleteDelivery.run(row.id);
    if (isUnfinished(row.status) && row.deleted_at === null) backlog.add(row.destination, environment, -1);
    return attempts + 1;
  };

  return (environment, cutoff) => () => {
    const event = selectOldest.get(environment, firstIdBytesAt(cutoff));
    if (event === undefined) return null;
    const deliveries = selectDeliveries.all(event.id);
    if (deliveries.length > 0) return deliveries.reduce((sum, row) => sum + pruneDelivery(row, environment), 0);
    deleteBody.run(event.id);
    deleteEvent.run(environment, event.id);
    return 1;
  };
}

// Free pages are used again by what comes next, so a good part of them stays; only a surplus goes back to the disk.
function createSpaceReturner(db: Database): Step {
  return () => {
    const free = readNumber(db, 'PRAGMA freelist_count');
    const kept = Math.max(FREE_PAGES_KEPT_MIN, readNumber(db, 'PRAGMA page_count') * FREE_PART_KEPT);
    if (free <= kept) return null;
    db.exec(`PRAGMA incremental_vacuum(${PAGES_PER_STEP})`);
    return 0;
  };
}

function someOrNull({ changes }: { changes: number | bigint }): number | null {
  return Number(changes) || null;
}
