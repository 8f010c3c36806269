// Writes into rows what reads show of a deleted destination's unfinished deliveries.
import { formatId, idShard } from '../../../../model/id.ts';
import { ID_BYTES_MIN } from '../../../rows/codec.ts';
import { EndedTally } from '../../../rows/ended-unsent.ts';
import type { Write } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import { endDeliveries } from './end-deliveries.ts';
import type { EndingRow } from './end-deliveries.ts';
import { rowsPerStep, runSteps } from './steps.ts';

type Unsettled = { id: Uint8Array; deleted_at: number };

const SELECT_UNSETTLED = statement<Unsettled>(
  'destinations_unsettled',
  `SELECT id, deleted_at FROM destinations
   WHERE deleted_at IS NOT NULL AND NOT is_settled AND id > $1 ORDER BY id LIMIT 1`,
);

const SELECT_OPEN = statement<EndingRow>(
  'open_deliveries_of_destination',
  `SELECT shard, id, rev FROM open_deliveries
   WHERE shard = $1::int2 AND destination_id = $2 ORDER BY due_at, id LIMIT $3::int4`,
);

const SETTLE = statement<never>('destinations_settle', 'UPDATE destinations SET is_settled = true WHERE id = $1');

/** An accept that read the configuration before the deletion may still be on its way to its commit; not for so long. */
const SETTLED_AFTER_MS = 60_000;

export const endDeletedDeliveries: Write<'endDeletedDeliveries'> = async (context, { now, budgetMs }) => {
  const { clock, read, write } = context;
  const ended = new EndedTally();
  let after: Uint8Array = ID_BYTES_MIN;

  const endSome = async (): Promise<number | null> => {
    const [destination] = await read((tx) => tx.run(SELECT_UNSETTLED, [after]));
    if (destination === undefined) return null;
    const { id, deleted_at: deletedAt } = destination;
    const limit = rowsPerStep(budgetMs);
    const open = await read((tx) => tx.run(SELECT_OPEN, [idShard(formatId('dst', id)), id, limit]));
    if (open.length > 0) return endDeliveries(context, open, { now, ended });
    after = id;
    if (now - deletedAt >= SETTLED_AFTER_MS) await write((tx) => tx.change(SETTLE, [id]));
    return endSome();
  };
  return { ...(await runSteps(clock, budgetMs, [endSome])), ended: ended.list() };
};
