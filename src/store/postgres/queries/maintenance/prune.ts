// Removing what has reached its age: events with all that hangs on them, expired idempotency keys, the tombstones of
// deleted subscriptions and destinations, and operations that have ended. As with bodies, the horizon hides rows at
// once and whole partitions are dropped later; only a short retention, or a database without partitions, deletes row by
// row.
import { firstIdBytesAt, formatId } from '../../../../model/id.ts';
import { ID_BYTES_MIN } from '../../../rows/codec.ts';
import { writeCounted, type Write, type WriteContext } from '../../context.ts';
import { PARTITIONED } from '../../schema/partitions.ts';
import { batchStatement, statementOfEveryShard, type BatchRow } from '../../wire/statement.ts';
import { keyOf, takeOpen } from '../deliveries/delivery-tables.ts';
import { SELECT_OLD_OPEN, createBodyDeletion, createDeletion, type Deletion } from './erase.ts';
import { createKeyDeletion, deleteTombstones } from '../configuration/prune-configuration.ts';
import { deleteFinishedOperations } from '../operations/operations.ts';
import { rowsPerStep, type Step } from './steps.ts';

type Key = { shard: number; id: Uint8Array };

const SELECT_DONE = statementOfEveryShard<Key & { event_id: Uint8Array }>(
  'done_deliveries_old',
  `SELECT shard, id, event_id FROM done_deliveries
   WHERE event_id >= $1 AND event_id < $2 ORDER BY event_id, id LIMIT $3::int4`,
);

const SELECT_EVENTS = statementOfEveryShard<{ event_id: Uint8Array }>(
  'events_old',
  'SELECT id AS event_id FROM events WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3::int4',
);

const deletion = (table: string, key: string, returning = '') =>
  batchStatement<Key>(
    `${table}_delete_old`,
    { id: 'uuid' },
    ({ rows, inShard }) =>
      `DELETE FROM ${table} d USING ${rows} WHERE ${inShard('d')} AND d.${key} = r.id ${returning}`,
  );

const DELETE_DONE = deletion('done_deliveries', 'id', 'RETURNING d.shard, d.id');
const DELETE_ATTEMPTS = deletion('attempts', 'delivery_id');
const DELETE_EVENTS = deletion('events', 'id');

/** As in erase.ts: with a row retention of at least this, rows go with their week, up to a week late on disk. */
const BY_PARTITION_FROM_MS = 21 * 86_400_000;

export const pruneRows: Write<'pruneRows'> = async (context, { cutoff, now, budgetMs }) => {
  const { clock, write, horizons, partitions, isDistributed, passes } = context;
  await horizons.advance(write, 'rows', cutoff);
  await partitions.makeAhead(clock.now());
  const pass = passes.pruning;
  const options = { cutoff, limit: rowsPerStep(budgetMs), pass };
  const goesByRow = isDistributed || now - cutoff < BY_PARTITION_FROM_MS;
  return pass.run(clock, budgetMs, [
    createOpenDeletion(context, options),
    () => partitions.dropOneBefore(PARTITIONED, cutoff),
    ...(goesByRow ? createRowDeletions(context, options) : []),
    createKeyDeletion(context, { now, ...options }),
    () => deleteTombstones(context, options),
    () => deleteFinishedOperations(context, options),
  ]);
};

/** Unfinished ones are few as a rule: what is so old has expired long since. */
function createOpenDeletion({ write, backlog }: WriteContext, { cutoff, limit, pass }: Deletion): Step {
  return pass.step('open_deliveries', ID_BYTES_MIN, (from) =>
    writeCounted(backlog, write, async (tx, change) => {
      const rows = await tx.run(SELECT_OLD_OPEN, [from, firstIdBytesAt(cutoff), limit]);
      if (rows.length === 0) return tx.refuse(null);
      const taken = await takeOpen(tx, rows, change);
      void tx.batch(DELETE_ATTEMPTS, taken.map(toKey));
      return { changed: taken.length, last: rows.at(-1)!.event_id };
    }),
  );
}

function createRowDeletions(context: WriteContext, options: Deletion): Step[] {
  const deleteDone = createDeletion(context, options, SELECT_DONE, async (tx, rows) => {
    // The deliveries first: that waits for a late result that is being added to one, and its attempt goes with it.
    // One that was sent again since keeps its history, until it goes itself.
    const deleted = await tx.batch(DELETE_DONE, rows.map(toKey));
    void tx.batch(DELETE_ATTEMPTS, deleted.map(toKey));
  });
  const deleteEvents = createDeletion(context, options, SELECT_EVENTS, (tx, rows) => {
    const keys = rows.map((row) => keyOf(formatId('evt', row.event_id)));
    void tx.batch(DELETE_EVENTS, keys);
  });
  // Events last: what hangs on them is found by their age too, so a crash in between leaves nothing behind.
  return [deleteDone, createBodyDeletion(context, options), deleteEvents];
}

function toKey({ shard, id }: Key): BatchRow {
  return [shard, id];
}
