// The statements of a copy, made from the list of its tables: one that inserts a chunk, one that reads a page back.
import { formatId, idShard, idTime } from '../../../model/id.ts';
import type { ColumnKind } from '../../rows/codec.ts';
import {
  COPIED_TABLES,
  type CopiedRow,
  type CopiedTable,
  type CopiedTableName,
  type CopiedValue,
} from '../../rows/copied-tables.ts';
import { shardOfKey } from '../queries/events/idempotency.ts';
import {
  insertStatement,
  statementOfEveryShard,
  type BatchRow,
  type BatchStatement,
  type Columns,
  type Statement,
} from '../wire/statement.ts';
import { TYPE_OF, decodeText, encodeText, type Value } from '../wire/values.ts';

type Place = {
  /** Unique, and what an index has in this order. */
  key: readonly string[];
  /** The column whose id names the shard, for tables that are distributed; idempotency has a hash instead. */
  shardOf?: string;
  /** The column whose id says which partition. */
  timeOf?: string;
  /** Columns of this adapter alone. */
  constants?: Readonly<Record<string, string>>;
  /** There from the first migration on. */
  isSeeded?: boolean;
};

const PLACES: Readonly<Record<CopiedTableName, Place>> = {
  accounts: { key: ['id'], isSeeded: true },
  environments: { key: ['id'], isSeeded: true },
  api_keys: { key: ['id'] },
  destinations: { key: ['id'] },
  signing_keys: { key: ['destination_id', 'id'] },
  destination_health: { key: ['destination_id'], shardOf: 'destination_id', constants: { reported_at: '0' } },
  subscriptions: { key: ['id'] },
  idempotency: { key: ['shard', 'environment', 'key'], shardOf: 'key' },
  events: { key: ['id'], shardOf: 'id', timeOf: 'id' },
  event_bodies: { key: ['event_id'], shardOf: 'event_id', timeOf: 'event_id' },
  open_deliveries: { key: ['id'], shardOf: 'id' },
  done_deliveries: { key: ['id'], shardOf: 'id', timeOf: 'id' },
  attempts: { key: ['delivery_id', 'n'], shardOf: 'delivery_id', timeOf: 'delivery_id' },
  stats: { key: ['span', 'environment', 'kind', 'subject', 'at', 'writer'] },
  destination_activity: { key: ['destination_id'] },
  operations: { key: ['id'] },
};

type ReadRow = Record<string, CopiedValue>;

const PAGE_ROWS = 2_000;

/** One table's side of a copy. */
export type TableStatements = ReturnType<typeof createTableStatements>;

function createTableStatements(table: CopiedTable) {
  const { key, timeOf } = PLACES[table.name];
  const kinds = Object.values(table.columns);
  const names = Object.keys(table.columns);
  const timeColumn = timeOf === undefined ? null : names.indexOf(timeOf);
  return {
    table,
    insert: copyStatement(table),
    toBatchRow: (row: CopiedRow): BatchRow => [
      shardOf(table, row),
      ...row.map((value, i) => toStored(kinds[i]!, value)),
    ],
    /** When the partitions must reach that the rows go to; none where there are none. */
    timesOf: (rows: readonly CopiedRow[]): number[] =>
      timeColumn === null ? [] : rows.map((row) => idTime(formatId('evt', row[timeColumn] as Uint8Array))),
    first: pageStatement(table, false),
    following: pageStatement(table, true),
    toRow: (read: ReadRow): CopiedRow => names.map((name, i) => fromStored(kinds[i]!, read[name]!)),
    /** The parameters of the page after this row. */
    keyOf: (read: ReadRow): Value[] => key.map((name) => read[name]!),
  };
}

function copyStatement({ name, columns }: CopiedTable): BatchStatement<never> {
  const { shardOf: isDistributed, constants = {}, isSeeded = false } = PLACES[name];
  const types: Columns = Object.fromEntries(Object.entries(columns).map(([column, kind]) => [column, TYPE_OF[kind]]));
  const names = Object.keys(columns);
  const others = Object.entries(constants);
  const onConflict = isSeeded ? upsert(names) : '';
  const into = [...names, ...others.map(([column]) => column)].join(', ');
  const values = [...names.map((column) => `r.${column}`), ...others.map(([, value]) => value)].join(', ');
  return insertStatement(`copy_insert_${name}`, {
    columns: types,
    write: (rows) =>
      isDistributed === undefined
        ? // Whole everywhere: the shard stands there only because every batch has one.
          `INSERT INTO ${name} (${into}) SELECT ${values} FROM ${rows} WHERE r.shard = 0 ${onConflict}`
        : `INSERT INTO ${name} (shard, ${into}) SELECT r.shard, ${values} FROM ${rows}`,
  });
}

function upsert(names: readonly string[]): string {
  const [key, ...others] = names;
  return `ON CONFLICT (${key}) DO UPDATE SET ${others.map((name) => `${name} = excluded.${name}`).join(', ')}`;
}

function pageStatement({ name, columns }: CopiedTable, isFollowing: boolean): Statement<ReadRow> {
  const { key } = PLACES[name];
  const shown = Object.entries(columns).map(([column, kind]) =>
    // Bodies are compared by what they hash to, which need not be sent here.
    kind === 'body' ? `sha256(${column}) AS ${column}` : column,
  );
  const order = key.join(', ');
  const more = key.filter((column) => !(column in columns));
  const after = isFollowing ? `WHERE (${order}) > (${key.map((_, i) => `$${i + 1}`).join(', ')})` : '';
  return statementOfEveryShard<ReadRow>(
    `copy_read_${name}${isFollowing ? '_after' : ''}`,
    `SELECT ${[...shown, ...more].join(', ')} FROM ${name} ${after} ORDER BY ${order} LIMIT ${PAGE_ROWS}`,
  );
}

function shardOf({ name, columns }: CopiedTable, row: CopiedRow): number {
  const { shardOf: column } = PLACES[name];
  if (column === undefined) return 0;
  const names = Object.keys(columns);
  if (name === 'idempotency') {
    return shardOfKey(row[names.indexOf('environment')] as number, row[names.indexOf('key')] as string);
  }
  return idShard(formatId('evt', row[names.indexOf(column)] as Uint8Array));
}

function toStored(kind: ColumnKind, value: CopiedValue): Value {
  return kind === 'words' ? encodeText(value as string | null) : value;
}

function fromStored(kind: ColumnKind, value: CopiedValue): CopiedValue {
  return kind === 'words' ? decodeText(value as string | null) : value;
}

/** A statement's name is given once: they are made when this file is first wanted. */
export const TABLE_STATEMENTS = Object.fromEntries(
  COPIED_TABLES.map((table) => [table.name, createTableStatements(table)]),
) as Readonly<Record<CopiedTableName, TableStatements>>;
