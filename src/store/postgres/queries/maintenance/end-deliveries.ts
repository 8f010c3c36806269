// Ending unfinished deliveries without an attempt: because their event has expired, or their destination is gone.
import { formatId, idTime, type DestinationId } from '../../../../model/id.ts';
import { endByDeletion, expire } from '../../../../model/transitions.ts';
import { deadReasonCode, nameOrNull } from '../../../rows/codec.ts';
import { toEnding } from '../../../rows/delivery-rows.ts';
import type { EndedTally } from '../../../rows/ended-unsent.ts';
import { withPartitions } from '../../bisect.ts';
import { writeCounted, type WriteContext } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { encodeArray } from '../../wire/values.ts';
import {
  insertDone,
  takeOpen,
  toMovedRow,
  type OpenStored,
  type SeenRow,
  type StoredDelivery,
} from '../deliveries/delivery-tables.ts';

const SELECT_DELETED = statement<{ id: Uint8Array; deleted_at: number }>(
  'destinations_deleted',
  'SELECT id, deleted_at FROM destinations WHERE id = ANY ($1::uuid[]) AND deleted_at IS NOT NULL',
);

/** As they were seen; one that was moved meanwhile is left to the next step. Returns how many have ended. */
export async function endDeliveries(
  context: WriteContext,
  rows: readonly SeenRow[],
  { now, ended }: { now: number; ended: EndedTally },
): Promise<number> {
  const { write, backlog, partitions } = context;
  const times = rows.map((row) => idTime(formatId('dlv', row.id)));
  const moved = await withPartitions(partitions, times, () =>
    writeCounted(backlog, write, async (tx, change) => {
      const taken = await takeOpen(tx, rows, change);
      const deletions = await readDeletions(tx, taken);
      const done = taken.map((row) => end(row, deletions.get(formatId('dst', row.destination_id)) ?? null, now));
      void insertDone(tx, done);
      return done;
    }),
  );
  for (const row of moved) ended.add(row.destination_id, row.environment, nameOrNull(deadReasonCode, row.dead_reason));
  return moved.length;
}

// Not before they are taken: a destination deleted since they were found has ended them already, and not their event.
async function readDeletions(tx: Tx, taken: readonly OpenStored[]): Promise<Map<DestinationId, number>> {
  if (taken.length === 0) return new Map();
  const ids = new Map(taken.map((row) => [formatId('dst', row.destination_id), row.destination_id]));
  const rows = await tx.run(SELECT_DELETED, [encodeArray('uuid', [...ids.values()])]);
  return new Map(rows.map(({ id, deleted_at: deletedAt }) => [formatId('dst', id), deletedAt]));
}

// A deleted destination's deliveries have ended by that already: the row says then what reads have shown all along.
function end(row: OpenStored, deletedAt: number | null, now: number): StoredDelivery {
  const ended =
    deletedAt === null
      ? expire(toEnding(row), now)
      : endByDeletion({ ...toEnding(row), updatedAt: row.updated_at }, deletedAt);
  return toMovedRow(row, ended, ended.updatedAt);
}
