// Erasing bodies that have reached their age. From the moment the horizon has moved nobody reads them; their day's
// partition is dropped once all of it is past. What is still unfinished of such an event ends: there is nothing left
// to send.
import { firstIdBytesAt, formatId } from '../../../../model/id.ts';
import { ID_BYTES_MIN } from '../../../rows/codec.ts';
import { EndedTally } from '../../../rows/ended-unsent.ts';
import type { Write, WriteContext } from '../../context.ts';
import { batchStatement, statementOfEveryShard, type Statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { keyOf, type SeenRow } from '../deliveries/delivery-tables.ts';
import { endDeliveries } from './end-deliveries.ts';
import { rowsPerStep, type Pass, type Step } from './steps.ts';

/** Oldest event first. */
export const SELECT_OLD_OPEN = statementOfEveryShard<SeenRow & { event_id: Uint8Array }>(
  'open_deliveries_old',
  `SELECT shard, id, rev, event_id FROM open_deliveries
   WHERE event_id >= $1 AND event_id < $2 ORDER BY event_id, id LIMIT $3::int4`,
);

const SELECT_OLD_BODIES = statementOfEveryShard<{ event_id: Uint8Array }>(
  'event_bodies_old',
  'SELECT event_id FROM event_bodies WHERE event_id >= $1 AND event_id < $2 ORDER BY event_id LIMIT $3::int4',
);

const DELETE_BODIES = batchStatement<never>(
  'event_bodies_delete',
  { event_id: 'uuid' },
  ({ rows, inShard }) => `DELETE FROM event_bodies b USING ${rows} WHERE ${inShard('b')} AND b.event_id = r.event_id`,
);

/**
 * With a body retention of at least this, bodies go with their day, up to a day late on disk. Shorter, an operator
 * counts in hours or seconds, and waiting for a whole day would be wrong: then they go one by one.
 */
const BY_PARTITION_FROM_MS = 3 * 86_400_000;

export const eraseBodies: Write<'eraseBodies'> = async (context, { cutoff, now, budgetMs }) => {
  const { clock, write, horizons, partitions, isDistributed, passes } = context;
  await horizons.advance(write, 'bodies', cutoff);
  const pass = passes.erasing;
  const limit = rowsPerStep(budgetMs);
  const goesByRow = isDistributed || now - cutoff < BY_PARTITION_FROM_MS;
  const ended = new EndedTally();
  const report = await pass.run(clock, budgetMs, [
    createExpiry(context, { cutoff, now, limit, ended }),
    () => partitions.dropOneBefore(['event_bodies'], cutoff),
    ...(goesByRow ? [createBodyDeletion(context, { cutoff, limit, pass })] : []),
  ]);
  return { ...report, ended: ended.list() };
};

type Expiry = { cutoff: number; now: number; limit: number; ended: EndedTally };

function createExpiry(context: WriteContext, { cutoff, now, limit, ended }: Expiry): Step {
  return context.passes.erasing.step('open_deliveries', ID_BYTES_MIN, async (from) => {
    const rows = await context.read((tx) => tx.run(SELECT_OLD_OPEN, [from, firstIdBytesAt(cutoff), limit]));
    if (rows.length === 0) return null;
    return { changed: await endDeliveries(context, rows, { now, ended }), last: rows.at(-1)!.event_id };
  });
}

export function createBodyDeletion(context: WriteContext, options: Deletion): Step {
  return createDeletion(context, options, SELECT_OLD_BODIES, (tx, rows) => {
    const keys = rows.map((row) => keyOf(formatId('evt', row.event_id)));
    void tx.batch(DELETE_BODIES, keys);
  });
}

export type Deletion = { cutoff: number; limit: number; pass: Pass };

/** Of what hangs on events before the cutoff, oldest event first; `select` has the parameters of SELECT_OLD_OPEN. */
export function createDeletion<Row extends { event_id: Uint8Array }>(
  { write }: WriteContext,
  { cutoff, limit, pass }: Deletion,
  select: Statement<Row>,
  remove: (tx: Tx, rows: readonly Row[]) => Promise<void> | void,
): Step {
  return pass.step(select.name, ID_BYTES_MIN, (from) =>
    write(async (tx) => {
      const rows = await tx.run(select, [from, firstIdBytesAt(cutoff), limit]);
      if (rows.length === 0) return tx.refuse(null);
      await remove(tx, rows);
      return { changed: rows.length, last: rows.at(-1)!.event_id };
    }),
  );
}
