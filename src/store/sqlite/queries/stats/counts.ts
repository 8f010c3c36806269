// What is counted by minute and hour: each process overwrites its own rows, and reads those of all.
import { HOURS, MINUTES, countsValues, subjectValues } from '../../../rows/stats-rows.ts';
import type { Read, Write } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { runSteps, someOrNull } from '../maintenance/steps.ts';

const ROWS_PER_STEP = 50;

const UPSERT = statement(`
  INSERT INTO stats (span, environment, kind, subject, at, writer, counts) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (span, environment, kind, subject, at, writer) DO UPDATE SET counts = excluded.counts`);

const SELECT = statement<{ at: number; writer: number; counts: Uint8Array }>(`
  SELECT at, writer, counts FROM stats
  WHERE span = ? AND environment = ? AND kind = ? AND subject = ? AND at < ? AND (at, writer) > (?, ?)
  ORDER BY at, writer LIMIT ?`);

const OLD = `FROM stats WHERE span = ?1 AND at < ?2`;

const SELECT_OLD = statement<{ environment: number; kind: number; subject: Uint8Array; at: number; writer: number }>(
  `SELECT environment, kind, subject, at, writer ${OLD} ORDER BY at LIMIT ${ROWS_PER_STEP}`,
);

const DELETE = statement(`
  DELETE FROM stats WHERE span = ? AND environment = ? AND kind = ? AND subject = ? AND at = ? AND writer = ?`);

const DELETE_ACTIVITY = statement(`
  DELETE FROM destination_activity
  WHERE destination_id IN
    (SELECT destination_id FROM destination_activity
     WHERE reported_at < ? ORDER BY reported_at LIMIT ${ROWS_PER_STEP})`);

export const writeCounts: Write<'writeCounts'> = ({ sql, write, diskReserve }, rows) => {
  // The last room on the disk is for results.
  diskReserve.assertRoom();
  write(() => {
    for (const row of rows) sql(UPSERT).run(...countsValues(row));
  });
};

export const readCounts: Read<'readCounts'> = ({ sql }, { since, until, after, limit, ...subject }) => {
  // After every writer of the moment before.
  const from = after ?? { at: (since ?? 0) - 1, writer: Number.MAX_SAFE_INTEGER };
  const end = until ?? Number.MAX_SAFE_INTEGER;
  return sql(SELECT).all(...subjectValues(subject), end, from.at, from.writer, limit);
};

export const pruneCounts: Write<'pruneCounts'> = (context, { minutes, hours, budgetMs }) => {
  const { sql } = context;
  const pruneSpan = (span: number, before: number) => (): number | null => {
    const rows = sql(SELECT_OLD).all(span, before);
    for (const { environment, kind, subject, at, writer } of rows) {
      sql(DELETE).run(span, environment, kind, subject, at, writer);
    }
    return rows.length || null;
  };
  return runSteps(context, budgetMs, [
    pruneSpan(MINUTES, minutes),
    pruneSpan(HOURS, hours),
    () => someOrNull(sql(DELETE_ACTIVITY).run(hours)),
  ]);
};
