// How destinations are doing: what was last heard of each, its stored trouble, and what it has still to be sent.
import { idBytes } from '../../../../model/id.ts';
import {
  ACTIVITY_COLUMNS,
  activityUpdate,
  activityValues,
  toActivity,
  type ActivityRow,
} from '../../../rows/stats-rows.ts';
import { deliveryStatusCode } from '../../../rows/codec.ts';
import type { Read, Write } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { hasUnsettled } from '../deliveries/read-deliveries.ts';

const NAMES = ACTIVITY_COLUMNS.join(', ');

const UPSERT = statement(`
  INSERT INTO destination_activity AS a (${NAMES}) VALUES (${ACTIVITY_COLUMNS.map(() => '?').join(', ')})
  ON CONFLICT (destination_id) DO UPDATE
  ${activityUpdate((a, b) => `nullif(max(coalesce(${a}, 0), coalesce(${b}, 0)), 0)`)}`);

const SELECT_ACTIVITY = statement<ActivityRow>(`SELECT ${NAMES} FROM destination_activity WHERE destination_id = ?`);

const SELECT_HEALTH = statement<{ failing_since: number | null; failure_count: number; held_until: number | null }>(
  'SELECT failing_since, failure_count, held_until FROM destination_health WHERE destination = ?',
);

const SELECT_DUE = statement<{ due_at: number }>(`
  SELECT due_at FROM deliveries WHERE status <= 1 AND destination = ? AND due_at > 0 ORDER BY due_at LIMIT 1`);

// From the index alone: to look up their destinations takes ten times as long.
const COUNT_OPEN = statement<{ count: number }>(`
  SELECT count(*) AS count FROM (SELECT 1 FROM deliveries WHERE status = ? AND environment = ? LIMIT ?) AS counted`);

// What a deleted destination left has ended, though its rows may not say so yet.
const COUNT_LIVE_OPEN = statement<{ count: number }>(`
  SELECT count(*) AS count
  FROM (SELECT destination FROM deliveries WHERE status = ? AND environment = ? LIMIT ?) AS counted
  JOIN destinations t ON t.key = counted.destination AND t.deleted_at IS NULL`);

export const writeActivity: Write<'writeActivity'> = ({ sql, write }, reports) =>
  write(() => {
    for (const report of reports) sql(UPSERT).run(...activityValues(report));
  });

/** In the writer, which counts what is unfinished. */
export const readConditions: Write<'readConditions'> = (context, ids) => {
  const { sql, read, backlog } = context;
  return read(() =>
    ids.map((id) => {
      const key = context.findDestinationKey(id) ?? 0;
      const activity = sql(SELECT_ACTIVITY).get(idBytes(id));
      const health = sql(SELECT_HEALTH).get(key);
      return {
        activity: activity === undefined ? null : toActivity(activity),
        failingSince: health?.failing_since ?? null,
        failureCount: health?.failure_count ?? 0,
        heldUntil: health?.held_until ?? null,
        unfinished: backlog.countOf(key),
        dueAt: sql(SELECT_DUE).get(key)?.due_at ?? null,
      };
    }),
  );
};

export const countUnfinished: Write<'countUnfinished'> = (context, ids) =>
  ids.map((id) => context.backlog.countOf(context.findDestinationKey(id) ?? 0));

export const countOpen: Read<'countOpen'> = ({ sql, read }, { environment, status, max }) =>
  read(() => {
    const rows = [deliveryStatusCode.numberOf(status), environment, max] as const;
    const all = sql(COUNT_OPEN).get(...rows)!;
    const live = hasUnsettled(sql, environment) ? sql(COUNT_LIVE_OPEN).get(...rows)! : all;
    return { count: live.count, isAll: all.count < max };
  });
