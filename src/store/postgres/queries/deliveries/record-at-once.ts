// Recording in one statement and one round trip: results of deliveries that nobody has touched meanwhile, which is
// nearly all there ever are. What else there is is left, and recorded in steps (record.ts). On one machine only: Citus
// writes one table at a time.
//
// Sent again after the connection was lost it may meet itself. What the earlier try has recorded has another revision
// by then, or will have when this one no longer waits for it; the history tells whether it was ours.
import { ATTEMPTS_WITH_BODY_MAX } from '../../../../model/attempt.ts';
import { isUnfinished } from '../../../../model/delivery.ts';
import { formatId, type DeliveryId } from '../../../../model/id.ts';
import type { Decision } from '../../../../model/transitions.ts';
import type { ResultToRecord } from '../../../store.ts';
import { deadReasonCode, deliveryStatusCode, numberOrNull, triggerCode } from '../../../rows/codec.ts';
import { writeCounted, type WriteContext } from '../../context.ts';
import { ParameterRows, batchStatement, statementOfOneMachine, type BatchRow } from '../../wire/statement.ts';
import { ATTEMPT_COLUMNS, toValues } from './attempts.ts';
import { SHARED_NAMES, keyOf } from './delivery-tables.ts';
import { writeLiveHealth } from './health.ts';
import { APPENDED, IS_LIVE, moveOn } from './record-rows.ts';
import type { RecordRequest } from './record.ts';

const { delivery_id: _, n: __, ...OF_ATTEMPT } = ATTEMPT_COLUMNS;
const ATTEMPT_NAMES = Object.keys(OF_ATTEMPT).join(', ');
const RESULT_NAMES = Object.keys(OF_ATTEMPT)
  .map((name) => `r.${name}`)
  .join(', ');

const RESULTS = new ParameterRows(
  {
    shard: 'int2',
    id: 'uuid',
    rev: 'int4',
    status: 'int2',
    dead_reason: 'int2',
    due_at: 'int8',
    schedule_position: 'int4',
    completed_at: 'int8',
    ...OF_ATTEMPT,
  },
  1,
);
const NOW = RESULTS.next;

// Of a longer history an old body goes, which is a change of another table: that is left.
const IS_EXPECTED = `d.shard = r.shard AND d.attempt_count < ${ATTEMPTS_WITH_BODY_MAX}`;

// Attempts go along with the rows that they belong to: the planner takes those for few, and would join them by
// comparing each with each.
const RECORD = statementOfOneMachine<Ended | Left>(
  'record_at_once',
  `
  WITH r AS MATERIALIZED (SELECT * FROM ${RESULTS.as()}),
  ended AS (
    DELETE FROM open_deliveries d USING r
    WHERE ${IS_EXPECTED} AND r.due_at IS NULL AND d.id = r.id AND d.rev = r.rev AND ${IS_LIVE}
    RETURNING d.shard, d.id, d.environment, d.event_id, d.destination_id, d.subscription_id, d.origin, r.status,
              r.dead_reason, d.rev + 1 AS rev, r.schedule_position, d.attempt_count + 1 AS attempt_count,
              ${APPENDED} AS response_codes,
              greatest(d.updated_at, $${NOW}::int8) AS updated_at, r.completed_at, ${RESULT_NAMES}
  ),
  done AS (INSERT INTO done_deliveries (shard, ${SHARED_NAMES}) SELECT shard, ${SHARED_NAMES} FROM ended),
  moved AS (${moveOn('r', `${IS_EXPECTED} AND r.due_at IS NOT NULL`, NOW)}, ${RESULT_NAMES}),
  history AS (
    INSERT INTO attempts (shard, delivery_id, n, ${ATTEMPT_NAMES})
    SELECT shard, id, attempt_count, ${ATTEMPT_NAMES} FROM ended
    UNION ALL SELECT shard, id, attempt_count, ${ATTEMPT_NAMES} FROM moved
  )
  SELECT NULL::uuid AS id, destination_id, environment, count(*)::int4 AS count FROM ended GROUP BY 2, 3
  UNION ALL
  SELECT r.id, NULL, NULL, NULL FROM r WHERE r.id NOT IN (SELECT id FROM ended UNION ALL SELECT id FROM moved)`,
);

/** How many of a destination have ended. */
type Ended = { id: null; destination_id: Uint8Array; environment: number; count: number };
type Left = { id: Uint8Array };

/** Which attempts are in the history already, and whose delivery it is, which may be open again since. */
const SELECT_RECORDED = batchStatement<{ delivery_id: Uint8Array; destination_id: Uint8Array; environment: number }>(
  'record_recorded',
  { id: 'uuid', trigger: 'int2', started_at: 'int8', duration_ms: 'int8' },
  ({ rows, inShard }) => `
    SELECT a.delivery_id, coalesce(d.destination_id, o.destination_id) AS destination_id,
           coalesce(d.environment, o.environment) AS environment
    FROM ${rows} JOIN attempts a ON ${inShard('a')} AND a.delivery_id = r.id
      AND a.trigger = r.trigger AND a.started_at = r.started_at AND a.duration_ms = r.duration_ms
    LEFT JOIN done_deliveries d ON ${inShard('d')} AND d.id = r.id
    LEFT JOIN open_deliveries o ON ${inShard('o')} AND o.id = r.id`,
);

/** A result of a delivery that goes on by itself. */
export type PlainResult = ResultToRecord & { decision: Decision };

/** What can be recorded at once, and the others. Of several results of a delivery the first comes first. */
export function splitResults(results: readonly ResultToRecord[]): { plain: PlainResult[]; others: ResultToRecord[] } {
  const plain: PlainResult[] = [];
  const others: ResultToRecord[] = [];
  const seen = new Set<DeliveryId>();
  for (const result of results) {
    if (isPlain(result) && !seen.has(result.id)) plain.push(result);
    else others.push(result);
    seen.add(result.id);
  }
  return { plain, others };
}

function isPlain(result: ResultToRecord): result is PlainResult {
  return result.decision !== null && result.decision.pauseDestination === null;
}

/** Resolves with those that are left. */
export async function recordAtOnce(
  context: WriteContext,
  { results, health, now }: RecordRequest & { results: readonly PlainResult[] },
): Promise<ResultToRecord[]> {
  const { backlog, recording, sentBefore } = context;
  try {
    const left = await writeCounted(backlog, recording.writeAtOnce, async (tx, change, nth) => {
      if (nth > 1) for (const result of results) sentBefore.add(result);
      writeLiveHealth(tx, health, now);
      const rows = await tx.run(RECORD, [...RESULTS.encode(results.map(toRow)), now]);
      const ids = new Set<string>();
      for (const row of rows) {
        if (row.id === null) change.add(formatId('dst', row.destination_id), row.environment, -row.count);
        else ids.add(formatId('dlv', row.id));
      }
      return results.filter(({ id }) => ids.has(id));
    });
    const recorded = await findRecorded(
      context,
      left.filter((result) => sentBefore.has(result)),
    );
    return left.filter((result) => !recorded.has(result.id));
  } catch (error) {
    // Perhaps committed all the same.
    for (const result of results) sentBefore.add(result);
    throw error;
  }
}

function toRow({ id, rev, decision, attempt }: PlainResult): BatchRow {
  return [
    ...keyOf(id),
    rev,
    deliveryStatusCode.numberOf(decision.status),
    numberOrNull(deadReasonCode, decision.deadReason),
    decision.dueAt,
    decision.schedulePosition,
    decision.completedAt,
    ...toValues(attempt),
  ];
}

/** By an earlier try: what ended by it is counted now. */
async function findRecorded(
  { backlog, recording }: WriteContext,
  results: readonly ResultToRecord[],
): Promise<Set<DeliveryId>> {
  if (results.length === 0) return new Set();
  const ended = new Set(
    results.filter(({ decision }) => decision !== null && !isUnfinished(decision)).map(({ id }) => id),
  );
  return writeCounted(backlog, recording.look, async (tx, change) => {
    const rows = results.map(({ id, attempt: { trigger, startedAt, durationMs } }) => {
      return [...keyOf(id), triggerCode.numberOf(trigger), Math.round(startedAt), Math.round(durationMs)] as const;
    });
    const found = await tx.batch(SELECT_RECORDED, rows);
    const ids = new Set(found.map((row) => formatId('dlv', row.delivery_id)));
    for (const { delivery_id: id, destination_id: destination, environment } of found) {
      if (ended.has(formatId('dlv', id))) change.add(formatId('dst', destination), environment, -1);
    }
    return ids;
  });
}
