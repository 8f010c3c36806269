// How destinations are doing: what was last heard of each, its stored trouble, and what it has still to be sent.
import { formatId, type DestinationId } from '../../../../model/id.ts';
import { deliveryStatusCode } from '../../../rows/codec.ts';
import {
  ACTIVITY_COLUMNS,
  ACTIVITY_KINDS,
  activityUpdate,
  activityValues,
  toActivity,
  type ActivityRow,
  type HealthRow,
} from '../../../rows/stats-rows.ts';
import type { Read, Write } from '../../context.ts';
import { keyOf } from '../deliveries/delivery-tables.ts';
import { hasUnsettled } from '../deliveries/read-deliveries.ts';
import { isOnly, statement, statementOfEveryShard } from '../../wire/statement.ts';
import { TYPE_OF, decodeText, encodeArray, encodeColumn, encodeText } from '../../wire/values.ts';

const NAMES = ACTIVITY_COLUMNS.join(', ');

const TYPES = Object.values(ACTIVITY_KINDS).map((kind) => TYPE_OF[kind]);

const UPSERT = statement<never>(
  'destination_activity_upsert',
  `INSERT INTO destination_activity AS a (${NAMES})
   SELECT * FROM unnest(${TYPES.map((type, i) => `$${i + 1}::${type}[]`).join(', ')})
   ON CONFLICT (destination_id) DO UPDATE ${activityUpdate((a, b) => `greatest(${a}, ${b})`)}`,
);

const SELECT_ACTIVITY = statement<ActivityRow>(
  'destination_activity_select',
  `SELECT ${NAMES} FROM destination_activity WHERE destination_id = ANY ($1::uuid[])`,
);

const SELECT_HEALTH = statement<HealthRow>(
  'destination_health_of_some',
  `SELECT destination_id, failing_since, failure_count, held_until FROM destination_health
   WHERE shard = ANY ($1::int2[]) AND destination_id = ANY ($2::uuid[])`,
);

const SELECT_DUE = statement<{ due_at: number }>(
  'open_deliveries_earliest',
  `SELECT due_at FROM open_deliveries
   WHERE shard = $1::int2 AND destination_id = $2 AND due_at > 0 ORDER BY due_at LIMIT 1`,
);

// Of no more than so many rows.
const OPEN = `
  SELECT destination_id FROM open_deliveries
  WHERE ${isOnly('environment', '$1::int4')} AND status = $2::int2 ORDER BY environment LIMIT $3::int4`;

const COUNT_OPEN = statementOfEveryShard<{ count: number }>(
  'open_deliveries_count',
  `SELECT count(*) AS count FROM (${OPEN}) AS counted`,
);

// What a deleted destination left has ended, though its rows may not say so yet.
const COUNT_LIVE_OPEN = statementOfEveryShard<{ count: number }>(
  'open_deliveries_count_live',
  `SELECT count(*) AS count FROM (${OPEN}) AS counted
   JOIN destinations t ON t.id = counted.destination_id AND t.deleted_at IS NULL`,
);

export const writeActivity: Write<'writeActivity'> = async ({ write }, reports) => {
  if (reports.length === 0) return;
  // In one order for all nodes: of two that report the same destinations one waits for the other, and not both.
  const sorted = reports.toSorted((a, b) => (a.destinationId < b.destinationId ? -1 : 1));
  const rows = sorted.map((report) => activityValues(withError(report, encodeText)));
  const columns = TYPES.map((type, i) => encodeColumn(type, rows, i));
  await write((tx) => tx.change(UPSERT, columns));
};

export const readConditions: Write<'readConditions'> = ({ look, backlog }, ids) =>
  look(async (tx) => {
    const keys = ids.map(keyOf);
    const of = encodeColumn('uuid', keys, 1);
    const shards = encodeArray('int2', [...new Set(keys.map(([shard]) => shard))]);
    const due = keys.map((key) => tx.run(SELECT_DUE, key));
    const [activities, troubles, ...found] = await Promise.all([
      tx.run(SELECT_ACTIVITY, [of]),
      tx.run(SELECT_HEALTH, [shards, of]),
      ...due,
    ]);
    const activityOf = new Map(activities.map((row) => [formatId('dst', row.destination_id), row]));
    const healthOf = new Map(troubles.map((row) => [formatId('dst', row.destination_id), row]));
    return ids.map((id, i) => {
      const [activity, health] = [activityOf.get(id), healthOf.get(id)];
      return {
        activity: activity === undefined ? null : withError(toActivity(activity), decodeText),
        failingSince: health?.failing_since ?? null,
        failureCount: health?.failure_count ?? 0,
        heldUntil: health?.held_until ?? null,
        unfinished: backlog.countOf(id),
        dueAt: found[i]?.[0]?.due_at ?? null,
      };
    });
  });

export const countUnfinished: Write<'countUnfinished'> = async ({ backlog }, ids: DestinationId[]) =>
  ids.map((id) => backlog.countOf(id));

export const countOpen: Read<'countOpen'> = ({ look }, { environment, status, max }) =>
  look(async (tx) => {
    const values = [environment, deliveryStatusCode.numberOf(status), max];
    const [[all], someEnded] = await Promise.all([tx.run(COUNT_OPEN, values), hasUnsettled(tx, environment)]);
    const [live] = someEnded ? await tx.run(COUNT_LIVE_OPEN, values) : [all];
    return { count: live!.count, isAll: all!.count < max };
  });

/** What a receiver says may hold any character. */
function withError<Report extends Parameters<typeof activityValues>[0]>(
  report: Report,
  convert: (text: string | null) => string | null,
): Report {
  const { lastFailure } = report;
  if (lastFailure === null) return report;
  return { ...report, lastFailure: { ...lastFailure, error: convert(lastFailure.error) } };
}
