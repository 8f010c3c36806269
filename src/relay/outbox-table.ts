// The table that a relay reads: what it is made of, whether it can be relied on, and the statements for it.
import { BODY_BYTES_MAX, ENVELOPE_BYTES_MAX } from '../model/event.ts';
import type { Pool } from './source.ts';

/** What is wrong with the outbox, or with what the relay may do: nothing that time would mend. */
export class OutboxError extends Error {}

export type OutboxTable = {
  /** As SQL has it: quoted and with its schema where that is needed. */
  name: string;
  /** Of the advisory locks. */
  oid: number;
  idType: string;
  /** Null: it has no such column, and rows no order. */
  groupType: string | null;
  /** Rows are read by these; each row has another. */
  order: readonly ('created_at' | 'id')[];
};

export type Row = {
  id: string;
  type: string;
  groupKey: string | null;
  createdAt: string;
  /** RFC 3339, milliseconds, years before 1 or after 9999 apart: the service refuses those; null: infinity. */
  occurredAt: string | null;
  /** Of id, type and body. */
  bytes: number;
  /** JSON; null: there is none, or the row is longer than anything that Postrider takes. */
  body: string | null;
};

/** Of a row that is set aside, as its column `error` has it. */
export type Refusal = {
  /** Of the answer; null: it was not even sent. */
  status: number | null;
  code: string;
  message: string;
  param: string | null;
  request_id: string | null;
};

const ID_TYPES = ['uuid', 'bigint', 'integer', 'text', 'character varying'];
const TIMES = ['timestamp with time zone', 'timestamp without time zone'];
const TEXTS = ['text', 'character varying'];

const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  id: ID_TYPES,
  type: TEXTS,
  body: ['json', 'jsonb'],
  occurred_at: TIMES,
  created_at: TIMES,
  published_at: TIMES,
  refused_at: TIMES,
  error: ['jsonb', 'json'],
};
/** A null in one of these would hide the row from the order that rows are read in. */
const NOT_NULL = ['id', 'created_at'];
const GROUP_COLUMN = 'group_key';

const SELECT_TABLE = `
  SELECT c.oid::int8::text AS oid, c.oid::regclass::text AS name,
    has_table_privilege(c.oid, 'SELECT') AS "mayRead", has_table_privilege(c.oid, 'DELETE') AS "mayDelete"
  FROM pg_class c WHERE c.oid = to_regclass($1)`;

const SELECT_COLUMNS = `
  SELECT attname AS name, atttypid::regtype::text AS type, attnotnull AS "isRequired",
    has_column_privilege(attrelid, attnum, 'UPDATE') AS "mayUpdate",
    EXISTS (SELECT FROM pg_index WHERE indrelid = attrelid AND indisunique AND indpred IS NULL AND indnkeyatts = 1
      AND indkey[0] = attnum) AS "isUnique"
  FROM pg_attribute WHERE attrelid = $1::oid AND attnum > 0 AND NOT attisdropped`;

type Table = { oid: string; name: string; mayRead: boolean; mayDelete: boolean };
type Column = { name: string; type: string; isRequired: boolean; mayUpdate: boolean; isUnique: boolean };

/** Throws OutboxError for what would lose rows, or publish them again and again. */
export async function describeOutbox(
  pool: Pool,
  { table: given, isKept }: { table: string; isKept: boolean },
): Promise<OutboxTable> {
  const [table] = (await pool.query<Table>(SELECT_TABLE, [given])).rows;
  if (table === undefined) {
    throw new OutboxError(`there is no table ${given}: make it with what relay --print-schema --table ${given} prints`);
  }
  const { rows } = await pool.query<Column>(SELECT_COLUMNS, [table.oid]);
  const columns = new Map(rows.map((column) => [column.name, column]));
  assertColumns(table.name, columns);
  assertRights(table, columns, isKept);
  const idType = columns.get('id')!.type;
  return {
    name: table.name,
    // As PostgreSQL casts an oid to the int that an advisory lock takes.
    oid: Number(table.oid) | 0,
    idType,
    groupType: columns.get(GROUP_COLUMN)?.type ?? null,
    // A sequence never goes back; a clock may.
    order: ['bigint', 'integer'].includes(idType) ? ['id'] : ['created_at', 'id'],
  };
}

function assertColumns(table: string, columns: ReadonlyMap<string, Column>): void {
  for (const [name, types] of Object.entries(COLUMNS)) {
    if (columns.has(name)) continue;
    const add = `ALTER TABLE ${table} ADD COLUMN ${name} ${types[0]}`;
    throw new OutboxError(`${table} has no column ${name}: ${add}; relay --print-schema shows the whole table`);
  }
  for (const [name, types] of Object.entries(COLUMNS)) {
    const { type, isRequired } = columns.get(name)!;
    if (!types.includes(type)) throw new OutboxError(`${table}.${name} is ${type}: it must be ${types.join(' or ')}`);
    if (NOT_NULL.includes(name) && !isRequired) throw new OutboxError(`${table}.${name} must be NOT NULL`);
  }
  if (!columns.get('id')!.isUnique) {
    throw new OutboxError(`${table}.id must be its primary key, or have a unique index of its own`);
  }
}

function assertRights(table: Table, columns: ReadonlyMap<string, Column>, isKept: boolean): void {
  const missing: string[] = [];
  if (!table.mayRead) missing.push('SELECT');
  if (!isKept && !table.mayDelete) missing.push('DELETE');
  const written = ['refused_at', 'error', ...(isKept ? ['published_at'] : [])];
  const closed = written.filter((name) => columns.get(name)?.mayUpdate === false);
  if (closed.length > 0) missing.push(`UPDATE (${closed.join(', ')})`);
  if (missing.length === 0) return;
  throw new OutboxError(
    `this user may not do all that a relay must: GRANT ${missing.join(', ')} ON ${table.name} TO it`,
  );
}

/** Longer than anything that Postrider takes: not even read. */
export const ROW_BYTES_MAX = BODY_BYTES_MAX + ENVELOPE_BYTES_MAX;
const PENDING = 'published_at IS NULL AND refused_at IS NULL';
// A year BC has the digits of the year AD, and would be published as that.
const OCCURRED_AT = `CASE WHEN extract(year FROM occurred_at) < 0 THEN '-' ELSE '' END
      || to_char(occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** All that a relay asks of the table; $1 is the ids of rows, but for `isEmpty`. */
export function statementsFor(table: OutboxTable, isKept: boolean) {
  const { name, idType } = table;
  const those = `id = ANY($1::${idType}[])`;
  return {
    begin: readStatement(table, false),
    onward: readStatement(table, true),
    groups: readGroupsStatement(table),
    isEmpty: `SELECT NOT EXISTS (SELECT FROM ${name} WHERE ${PENDING}) AS "isEmpty"`,
    /** How many of them are pending. */
    pending: `SELECT count(*)::int AS count FROM ${name} WHERE ${those} AND ${PENDING}`,
    /** Those that another transaction has locked. */
    locked: `
  WITH free AS MATERIALIZED (SELECT id FROM ${name} WHERE ${those} FOR UPDATE SKIP LOCKED)
  SELECT id::text AS id FROM ${name} WHERE ${those} AND id NOT IN (SELECT id FROM free)`,
    published: isKept
      ? `UPDATE ${name} SET published_at = now() WHERE ${those} AND published_at IS NULL`
      : `DELETE FROM ${name} WHERE ${those}`,
    /** $2: of each why. */
    refused: `UPDATE ${name} o SET refused_at = now(), error = r.error::json
    FROM unnest($1::${idType}[], $2::text[]) AS r (id, error) WHERE o.id = r.id`,
  };
}

/**
 * The next rows that are pending and not taken: $1 the ids that are, $2 the groups of which there is enough, $3 how
 * many rows and $4 how many bytes at most. Where it goes on after a place, $5 and $6 are that, and a row whose group
 * has one before the place is left: that one was passed over, or was committed after the place was passed.
 */
function readStatement(table: OutboxTable, isOnward: boolean): string {
  const { name, idType, groupType, order } = table;
  const isGrouped = groupType !== null;
  const taken = `NOT IN (SELECT unnest($1::${idType}[]))`;
  const placeOf = { created_at: `$5::timestamptz`, id: `$${order.length === 1 ? 5 : 6}::${idType}` };
  const place = order.map((column) => placeOf[column]).join(', ');
  const onward = `AND (${inOrder(order, 'o')}) > (${place})`;
  // OFFSET 0: by the index, row by row. Hashed, it would look at every row before the place.
  const firstOfGroup = `AND NOT EXISTS (SELECT FROM ${name} e WHERE e.group_key = o.group_key
      AND (${inOrder(order, 'e')}) <= (${place}) AND e.published_at IS NULL AND e.refused_at IS NULL AND e.id ${taken}
      OFFSET 0)`;
  const inTurn = `AND (o.group_key IS NULL OR (o.group_key::text NOT IN (SELECT unnest($2::text[]))
      ${isOnward ? firstOfGroup : ''}))`;
  return selectRows(
    table,
    `${name} o
    WHERE ${PENDING} AND o.id ${taken} ${isOnward ? onward : ''} ${isGrouped ? inTurn : 'AND $2::text[] IS NOT NULL'}`,
  );
}

/**
 * The next rows of the groups $2, $5 of each at most; $1, $3 and $4 as above. A walk would pass over all rows that are
 * before the next one of its group.
 */
function readGroupsStatement(table: OutboxTable): string {
  const { name, idType, groupType, order } = table;
  return selectRows(
    table,
    `unnest($2::text[]) AS g (key) CROSS JOIN LATERAL (
      SELECT * FROM ${name} WHERE ${PENDING} AND group_key = g.key::${groupType ?? 'text'}
        AND id NOT IN (SELECT unnest($1::${idType}[]))
      ORDER BY ${order.join(', ')} LIMIT $5) o`,
  );
}

/** Of rows `o` the first in order, as many as $3 and $4 let pass. */
function selectRows({ groupType, order }: OutboxTable, from: string): string {
  return `
  WITH next AS (
    SELECT o.id, coalesce(o.type, '') AS type, ${groupType === null ? 'NULL' : 'o.group_key'}::text AS group_key,
      o.created_at, coalesce(o.occurred_at, o.created_at)::timestamptz AS occurred_at, o.body::text AS body
    FROM ${from}
    ORDER BY ${inOrder(order, 'o')} LIMIT $3
  ), sized AS (
    SELECT *, coalesce(octet_length(body), 0) + octet_length(type) + octet_length(id::text) AS bytes FROM next
  ), summed AS (
    SELECT *, sum(CASE WHEN bytes <= ${ROW_BYTES_MAX} THEN bytes ELSE 0 END) OVER
      (ORDER BY ${order.join(', ')} ROWS UNBOUNDED PRECEDING) AS total FROM sized
  )
  SELECT id::text AS id, left(type, 1000) AS type, group_key AS "groupKey", created_at::text AS "createdAt",
    ${OCCURRED_AT} AS "occurredAt", bytes,
    CASE WHEN bytes <= ${ROW_BYTES_MAX} THEN body END AS body
  FROM summed s WHERE total <= $4 ORDER BY ${inOrder(order, 's')}`;
}

function inOrder(order: OutboxTable['order'], of: string): string {
  return order.map((column) => `${of}.${column}`).join(', ');
}
