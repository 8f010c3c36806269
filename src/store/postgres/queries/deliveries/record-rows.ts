// The statements of recording, and what is there when a result came too late.
import { RESPONSE_CODES_MAX, type OpenDelivery } from '../../../../model/delivery.ts';
import { formatId } from '../../../../model/id.ts';
import type { ResultToRecord } from '../../../store.ts';
import { DEAD, SUCCEEDED, deadReasonCode } from '../../../rows/codec.ts';
import { toOpenDelivery } from '../../../rows/delivery-rows.ts';
import type { Horizons } from '../../horizons.ts';
import { batchStatement, type BatchStatement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { ALL_OPEN, keyOf, takeStatement, type OpenStored } from './delivery-tables.ts';

export type Moved = { shard: number; id: Uint8Array; destination_id: Uint8Array; attempt_count: number };

// What a deleted destination left unfinished has ended with it, whether its row says so yet or not: `endByDeletion`
// writes it, `isEndedByDeletion` in rows/ reads it so. Here as a condition, for the rows need not be read before.
export const IS_LIVE: string = `
  NOT EXISTS (SELECT 1 FROM destinations t WHERE t.id = d.destination_id AND t.deleted_at IS NOT NULL)`;

/** The last of the codes and one more, as rows/codec.ts has them: two bytes each. */
export const APPENDED: string = `
  substr(d.response_codes || int2send(coalesce(r.response_code, 0::int2)),
         greatest(1, octet_length(d.response_codes) + 3 - ${2 * RESPONSE_CODES_MAX}))`;

export const FINISH = takeStatement<OpenStored>('record_finish', 'open_deliveries', ALL_OPEN, IS_LIVE);

/** Of the rows that MOVE_ON changes, by the rows `r`; `now`: a parameter. */
export const moveOn = (rows: string, condition: string, now: number): string => `
    UPDATE open_deliveries d
    SET status = r.status, due_at = r.due_at, schedule_position = r.schedule_position,
        attempt_count = d.attempt_count + 1, response_codes = ${APPENDED},
        updated_at = greatest(d.updated_at, $${now}::int8),
        rev = d.rev + 1, scheduled_at = NULL, fallback_status = NULL, dead_reason = NULL, completed_at = NULL
    FROM ${rows}
    WHERE ${condition} AND d.id = r.id AND d.rev = r.rev AND ${IS_LIVE}
    RETURNING d.shard, d.id, d.destination_id, d.attempt_count`;

// The decision as `afterResult` has it (transitions.ts) for a delivery that is retried: of what a forced attempt had
// kept nothing is needed any more, and four columns need not be sent. The conformance suite holds both to it.
export const MOVE_ON = batchStatement<Moved>(
  'record_move_on',
  { id: 'uuid', rev: 'int4', status: 'int2', due_at: 'int8', schedule_position: 'int4', response_code: 'int2' },
  ({ rows, inShard, next }) => moveOn(rows, inShard('d'), next),
);

const HAS_EXPIRED = `d.status = ${DEAD} AND d.dead_reason = ${deadReasonCode.numberOf('expired')}`;

/** What had expired meanwhile and has arrived: `mayRevive` (transitions.ts); the conformance suite holds this to it. */
export const REVIVE = batchStatement<Moved>(
  'record_revive',
  { id: 'uuid', completed_at: 'int8', response_code: 'int2' },
  ({ rows, inShard, next }) => `
    UPDATE done_deliveries d
    SET status = ${SUCCEEDED}, dead_reason = NULL, completed_at = r.completed_at, attempt_count = d.attempt_count + 1,
        response_codes = ${APPENDED}, updated_at = greatest(d.updated_at, $${next}::int8), rev = d.rev + 1
    FROM ${rows}
    WHERE ${inShard('d')} AND d.id = r.id AND ${HAS_EXPIRED}
    RETURNING d.shard, d.id, d.destination_id, d.attempt_count`,
);

const growHistory = (table: string): BatchStatement<Moved> =>
  batchStatement<Moved>(
    `record_grow_${table}`,
    { id: 'uuid', response_code: 'int2' },
    ({ rows, inShard, next }) => `
      UPDATE ${table} d
      SET attempt_count = d.attempt_count + 1, response_codes = ${APPENDED},
          updated_at = greatest(d.updated_at, $${next}::int8)
      FROM ${rows}
      WHERE ${inShard('d')} AND d.id = r.id
      RETURNING d.shard, d.id, d.destination_id, d.attempt_count`,
  );

const GROW_OPEN = growHistory('open_deliveries');
const GROW_DONE = growHistory('done_deliveries');

// A delivery may be moved from one table to the other between two statements, or back: the second look into the first
// table finds it then.
const GROWING = [GROW_OPEN, GROW_DONE, GROW_OPEN];

/** Nothing is left to decide: only the history grows, wherever the delivery is and whatever its revision. */
export async function growHistories(tx: Tx, results: readonly ResultToRecord[], now: number): Promise<Moved[]> {
  const grown: Moved[] = [];
  let missing = results;
  for (const statement of GROWING) {
    const rows = missing.map(({ id, attempt }) => [...keyOf(id), attempt.responseCode] as const);
    const found = await tx.batch(statement, rows, [now]);
    grown.push(...found);
    const ids = new Set(found.map((row) => formatId('dlv', row.id)));
    missing = missing.filter((result) => !ids.has(result.id));
  }
  return grown;
}

const SELECT_OPEN = batchStatement<OpenStored & { is_ended: boolean }>(
  'record_state_open',
  { id: 'uuid' },
  ({ rows, inShard }) => `
    SELECT ${ALL_OPEN}, NOT ${IS_LIVE} AS is_ended
    FROM ${rows} JOIN open_deliveries d ON ${inShard('d')} AND d.id = r.id`,
);

const SELECT_DONE = batchStatement<{ id: Uint8Array; event_id: Uint8Array }>(
  'record_state_done',
  { id: 'uuid' },
  ({ rows, inShard }) =>
    `SELECT d.id, d.event_id FROM ${rows} JOIN done_deliveries d ON ${inShard('d')} AND d.id = r.id`,
);

type State = OpenDelivery | 'finished' | 'pruned';

/** What another writer has made of these deliveries. */
export async function readStates(
  tx: Tx,
  horizons: Horizons,
  results: readonly ResultToRecord[],
): Promise<[ResultToRecord, State][]> {
  if (results.length === 0) return [];
  const states = new Map<string, State>();
  const noteOpen = (rows: readonly (OpenStored & { is_ended: boolean })[]): void => {
    for (const row of rows) {
      const state = row.is_ended ? 'finished' : toOpenDelivery(row, formatId('dst', row.destination_id));
      states.set(formatId('dlv', row.id), state);
    }
  };
  const keys = results.map(({ id }) => keyOf(id));
  // First where they were: what has left the one table since is in the other.
  const [open, done] = await Promise.all([tx.batch(SELECT_OPEN, keys), tx.batch(SELECT_DONE, keys)]);
  for (const row of done) {
    const isPruned = horizons.hides('rows', formatId('evt', row.event_id));
    states.set(formatId('dlv', row.id), isPruned ? 'pruned' : 'finished');
  }
  noteOpen(open);
  // What is in neither may have been sent again between the two looks: it is in the first now.
  const missing = results.filter(({ id }) => !states.has(id)).map(({ id }) => keyOf(id));
  noteOpen(await tx.batch(SELECT_OPEN, missing));
  return results.map((result) => [result, states.get(result.id) ?? 'pruned']);
}
