// Ending unfinished deliveries without an attempt: because their event has expired, or their destination is gone.
import { formatId, idTime } from '../../../model/id.ts';
import { DEAD, deadReasonCode } from '../../rows/codec.ts';
import { withPartitions } from '../bisect.ts';
import type { WriteContext } from '../context.ts';
import { writeCounted } from '../context.ts';
import { TAKE_OPEN, countOut, ended, insertDone } from './delivery-tables.ts';
import type { OpenStored, StoredDelivery } from './delivery-tables.ts';

export type EndingRow = { shard: number; id: Uint8Array; rev: number; deleted_at: number | null };

/** As they were seen; one that was moved meanwhile is left to the next step. Returns how many have ended. */
export async function endDeliveries(context: WriteContext, rows: readonly EndingRow[], now: number): Promise<number> {
  const { write, backlog, partitions } = context;
  const times = rows.map((row) => idTime(formatId('dlv', row.id)));
  const deletedAt = new Map(rows.map((row) => [formatId('dlv', row.id), row.deleted_at]));
  return withPartitions(partitions, times, () =>
    writeCounted(backlog, write, async (tx, change) => {
      const taken = await tx.batch(
        TAKE_OPEN,
        rows.map(({ shard, id, rev }) => [shard, id, rev]),
      );
      for (const row of taken) countOut(change, row);
      void insertDone(
        tx,
        taken.map((row) => end(row, deletedAt.get(formatId('dlv', row.id)) ?? null, now)),
      );
      return taken.length;
    }),
  );
}

// A deleted destination's deliveries have ended by that already: the row says then what reads have shown all along.
function end(row: OpenStored, deletedAt: number | null, now: number): StoredDelivery {
  if (deletedAt === null) {
    return ended(row, { status: DEAD, deadReason: deadReasonCode.numberOf('expired'), completedAt: now, now });
  }
  return ended(row, {
    status: DEAD,
    deadReason: deadReasonCode.numberOf('destination_deleted'),
    completedAt: deletedAt,
    now: Math.max(row.updated_at, deletedAt),
  });
}
