// Writes into rows what reads show of a deleted destination's unfinished deliveries.
import { formatId, idShard } from '../../../../model/id.ts';
import { ID_BYTES_MIN } from '../../../rows/codec.ts';
import { EndedTally } from '../../../rows/ended-unsent.ts';
import type { Write } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import { endDeliveries } from './end-deliveries.ts';
import type { SeenRow } from '../deliveries/delivery-tables.ts';
import { rowsPerStep } from './steps.ts';

type Unsettled = { id: Uint8Array; deleted_at: number };

const SELECT_UNSETTLED = statement<Unsettled>(
  'destinations_unsettled',
  `SELECT id, deleted_at FROM destinations
   WHERE deleted_at IS NOT NULL AND NOT is_settled AND id > $1 ORDER BY id LIMIT 1`,
);

const SELECT_OPEN = statement<SeenRow & { due_at: number }>(
  'open_deliveries_of_destination',
  `SELECT shard, id, rev, due_at FROM open_deliveries
   WHERE shard = $1::int2 AND destination_id = $2 AND (due_at, id) >= ($3::int8, $4)
   ORDER BY due_at, id LIMIT $5::int4`,
);

const SETTLE = statement<never>('destinations_settle', 'UPDATE destinations SET is_settled = true WHERE id = $1');

type Due = { at: number; id: Uint8Array };
/** Of the first destination after that one, what is due from there on. */
type Place = { after: Uint8Array; from: Due };

const FIRST_DUE: Due = { at: 0, id: ID_BYTES_MIN };
const HEAD: Place = { after: ID_BYTES_MIN, from: FIRST_DUE };

/** An accept that read the configuration before the deletion may still be on its way to its commit; not for so long. */
const SETTLED_AFTER_MS = 60_000;

export const endDeletedDeliveries: Write<'endDeletedDeliveries'> = async (context, { now, budgetMs }) => {
  const { clock, read, write, passes } = context;
  const ended = new EndedTally();
  const limit = rowsPerStep(budgetMs);

  const endFrom = async ({ after, from }: Place): Promise<{ changed: number; last: Place } | null> => {
    const [destination] = await read((tx) => tx.run(SELECT_UNSETTLED, [after]));
    if (destination === undefined) return null;
    const { id, deleted_at: deletedAt } = destination;
    const open = await read((tx) => tx.run(SELECT_OPEN, [idShard(formatId('dst', id)), id, from.at, from.id, limit]));
    const last = open.at(-1);
    if (last !== undefined) {
      const changed = await endDeliveries(context, open, { now, ended });
      return { changed, last: { after, from: { at: last.due_at, id: last.id } } };
    }
    // Only a look from the first on shows that there is none.
    const isEmpty = from === FIRST_DUE;
    if (isEmpty && now - deletedAt >= SETTLED_AFTER_MS) await write((tx) => tx.change(SETTLE, [id]));
    return endFrom({ after: id, from: FIRST_DUE });
  };
  const { ending } = passes;
  return { ...(await ending.run(clock, budgetMs, [ending.step('destinations', HEAD, endFrom)])), ended: ended.list() };
};
