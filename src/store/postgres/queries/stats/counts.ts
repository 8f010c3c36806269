// What is counted by minute and hour: each process overwrites its own rows, and reads those of all.
import { HOURS, MINUTES, countsValues, subjectValues } from '../../../rows/stats-rows.ts';
import type { Read, Write, WriteContext } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import { encodeColumn, type ColumnType } from '../../wire/values.ts';
import { rowsPerStep, type Step } from '../maintenance/steps.ts';

const COLUMNS: readonly ColumnType[] = ['int2', 'int4', 'int2', 'bytea', 'int8', 'int8', 'bytea'];

const UPSERT = statement<never>(
  'stats_upsert',
  `INSERT INTO stats (span, environment, kind, subject, at, writer, counts)
   SELECT * FROM unnest(${COLUMNS.map((type, i) => `$${i + 1}::${type}[]`).join(', ')})
   ON CONFLICT (span, environment, kind, subject, at, writer) DO UPDATE SET counts = excluded.counts`,
);

const SELECT = statement<{ at: number; writer: number; counts: Uint8Array }>(
  'stats_select',
  `SELECT at, writer, counts FROM stats
   WHERE span = $1::int2 AND environment = $2::int4 AND kind = $3::int2 AND subject = $4
     AND at < $5::int8 AND (at, writer) > ($6::int8, $7::int8)
   ORDER BY at, writer LIMIT $8::int4`,
);

const DELETE_OLD = statement<{ at: number }>(
  'stats_delete_old',
  `DELETE FROM stats
   WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM stats
     WHERE span = $1::int2 AND at >= $2::int8 AND at < $3::int8 ORDER BY at LIMIT $4::int4))
   RETURNING at`,
);

const DELETE_OLD_ACTIVITY = statement<never>(
  'destination_activity_delete_old',
  `DELETE FROM destination_activity
   WHERE destination_id = ANY (ARRAY(
     SELECT destination_id FROM destination_activity
     WHERE reported_at < $1::int8 ORDER BY reported_at LIMIT $2::int4))`,
);

export const writeCounts: Write<'writeCounts'> = async ({ write }, rows) => {
  if (rows.length === 0) return;
  const values = rows.map(countsValues);
  const columns = COLUMNS.map((type, i) => encodeColumn(type, values, i));
  await write((tx) => tx.change(UPSERT, columns));
};

export const readCounts: Read<'readCounts'> = ({ look }, { since, until, after, limit, ...subject }) => {
  // After every writer of the moment before.
  const from = after ?? { at: (since ?? 0) - 1, writer: Number.MAX_SAFE_INTEGER };
  const end = until ?? Number.MAX_SAFE_INTEGER;
  return look((tx) => tx.run(SELECT, [...subjectValues(subject), end, from.at, from.writer, limit]));
};

export const pruneCounts: Write<'pruneCounts'> = (context, { minutes, hours, budgetMs }) => {
  const limit = rowsPerStep(budgetMs);
  const { clock, write, passes } = context;
  return passes.stats.run(clock, budgetMs, [
    createDeletion(context, { span: MINUTES, before: minutes, limit }),
    createDeletion(context, { span: HOURS, before: hours, limit }),
    async () => (await write((tx) => tx.change(DELETE_OLD_ACTIVITY, [hours, limit]))) || null,
  ]);
};

type Deletion = { span: number; before: number; limit: number };

function createDeletion({ write, passes }: WriteContext, { span, before, limit }: Deletion): Step {
  return passes.stats.step(`stats of span ${span}`, 0, async (from) => {
    const rows = await write((tx) => tx.run(DELETE_OLD, [span, from, before, limit]));
    if (rows.length === 0) return null;
    return { changed: rows.length, last: rows.reduce((latest, { at }) => Math.max(latest, at), from) };
  });
}
