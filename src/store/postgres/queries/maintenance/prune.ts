// Removing what has reached its age: events with all that hangs on them, expired idempotency keys, the tombstones of
// deleted subscriptions and destinations, and operations that have ended. As with bodies, the horizon hides rows at
// once and whole partitions are dropped later; only a short retention, or a database without partitions, deletes row by
// row.
import { firstIdBytesAt, formatId } from '../../../../model/id.ts';
import { ID_BYTES_MIN } from '../../../rows/codec.ts';
import type { Write, WriteContext } from '../../context.ts';
import { writeCounted } from '../../context.ts';
import { PARTITIONED } from '../../schema/partitions.ts';
import { batchStatement, statementOfEveryShard } from '../../wire/statement.ts';
import { TAKE_OPEN, countOut, keyOf } from '../deliveries/delivery-tables.ts';
import { createBodyDeletion } from './erase.ts';
import { createKeyDeletion, deleteTombstones } from '../configuration/prune-configuration.ts';
import { deleteFinishedOperations } from '../operations/operations.ts';
import { rowsPerStep } from './steps.ts';
import type { Pass, Step } from './steps.ts';

type Key = { shard: number; id: Uint8Array };

// Oldest event first.
const SELECT_OPEN = statementOfEveryShard<Key & { rev: number; event_id: Uint8Array }>(
  'open_deliveries_old',
  `SELECT shard, id, rev, event_id FROM open_deliveries
   WHERE event_id >= $1 AND event_id < $2 ORDER BY event_id, id LIMIT $3::int4`,
);

const SELECT_DONE = statementOfEveryShard<Key & { event_id: Uint8Array }>(
  'done_deliveries_old',
  `SELECT shard, id, event_id FROM done_deliveries
   WHERE event_id >= $1 AND event_id < $2 ORDER BY event_id, id LIMIT $3::int4`,
);

const SELECT_EVENTS = statementOfEveryShard<{ id: Uint8Array }>(
  'events_old',
  'SELECT id FROM events WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3::int4',
);

const deletion = (table: string, key: string) =>
  batchStatement<never>(
    `${table}_delete_old`,
    { id: 'uuid' },
    ({ rows, inShard }) => `DELETE FROM ${table} d USING ${rows} WHERE ${inShard('d')} AND d.${key} = r.id`,
  );

const DELETE_DONE = batchStatement<Key>(
  'done_deliveries_delete_old',
  { id: 'uuid' },
  ({ rows, inShard }) => `
    DELETE FROM done_deliveries d USING ${rows} WHERE ${inShard('d')} AND d.id = r.id RETURNING d.shard, d.id`,
);
const DELETE_ATTEMPTS = deletion('attempts', 'delivery_id');
const DELETE_EVENTS = deletion('events', 'id');

/** As in erase.ts: with a row retention of at least this, rows go with their week, up to a week late on disk. */
const BY_PARTITION_FROM_MS = 21 * 86_400_000;

type Options = { cutoff: number; limit: number; pass: Pass };

export const pruneRows: Write<'pruneRows'> = async (context, { cutoff, now, budgetMs }) => {
  const { clock, write, horizons, partitions, isDistributed, passes } = context;
  if (cutoff > horizons.before('rows')) {
    await write((tx) => horizons.raise(tx, 'rows', cutoff));
    horizons.note('rows', cutoff);
  }
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
function createOpenDeletion({ write, backlog }: WriteContext, { cutoff, limit, pass }: Options): Step {
  return pass.step('open_deliveries', ID_BYTES_MIN, (from) =>
    writeCounted(backlog, write, async (tx, change) => {
      const rows = await tx.run(SELECT_OPEN, [from, firstIdBytesAt(cutoff), limit]);
      if (rows.length === 0) return tx.refuse(null);
      const taken = await tx.batch(
        TAKE_OPEN,
        rows.map(({ shard, id, rev }) => [shard, id, rev]),
      );
      for (const row of taken) countOut(change, row);
      void tx.batch(
        DELETE_ATTEMPTS,
        taken.map(({ shard, id }) => [shard, id]),
      );
      return { changed: taken.length, last: rows.at(-1)!.event_id };
    }),
  );
}

function createRowDeletions(context: WriteContext, options: Options): Step[] {
  const { write } = context;
  const { cutoff, limit, pass } = options;
  const below = firstIdBytesAt(cutoff);
  const deleteDone = pass.step('done_deliveries', ID_BYTES_MIN, (from) =>
    write(async (tx) => {
      const rows = await tx.run(SELECT_DONE, [from, below, limit]);
      if (rows.length === 0) return tx.refuse(null);
      // The deliveries first: that waits for a late result that is being added to one, and its attempt goes with it.
      // One that was sent again since keeps its history, until it goes itself.
      const deleted = await tx.batch(
        DELETE_DONE,
        rows.map(({ shard, id }) => [shard, id]),
      );
      void tx.batch(
        DELETE_ATTEMPTS,
        deleted.map(({ shard, id }) => [shard, id]),
      );
      return { changed: rows.length, last: rows.at(-1)!.event_id };
    }),
  );
  const deleteEvents = pass.step('events', ID_BYTES_MIN, (from) =>
    write(async (tx) => {
      const rows = await tx.run(SELECT_EVENTS, [from, below, limit]);
      if (rows.length === 0) return tx.refuse(null);
      void tx.batch(
        DELETE_EVENTS,
        rows.map(({ id }) => keyOf(formatId('evt', id))),
      );
      return { changed: rows.length, last: rows.at(-1)!.id };
    }),
  );
  // Events last: what hangs on them is found by their age too, so a crash in between leaves nothing behind.
  return [deleteDone, createBodyDeletion(context, options), deleteEvents];
}
