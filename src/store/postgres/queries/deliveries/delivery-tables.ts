// The two tables a delivery may be in: open while it is unfinished, done from then on. It moves as a whole row, inside
// one transaction, and `rev` goes with it: who moves it says which revision was seen.
import { RESPONSE_CODES_MAX, type DeliveryState } from '../../../../model/delivery.ts';
import { formatId, idBytes, idShard, idTime } from '../../../../model/id.ts';
import { encodeResponseCode } from '../../../rows/codec.ts';
import { toStateRow, type DeliveryRow, type StateRow } from '../../../rows/delivery-rows.ts';
import type { BacklogChange } from '../../backlog.ts';
import { batchStatement, insertOf, insertStatement, type BatchRow, type Columns } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';

/** What both tables have. */
export type StoredDelivery = Omit<
  DeliveryRow,
  'event_type' | 'due_at' | 'fallback_status' | 'is_paused' | 'deleted_at' | 'held_until'
> & { shard: number; environment: number; rev: number; schedule_position: number };

export type OpenStored = StoredDelivery & StateRow & { due_at: number };

const SHARED_COLUMNS = {
  id: 'uuid',
  environment: 'int4',
  event_id: 'uuid',
  destination_id: 'uuid',
  subscription_id: 'uuid',
  origin: 'int2',
  status: 'int2',
  dead_reason: 'int2',
  rev: 'int4',
  schedule_position: 'int4',
  attempt_count: 'int4',
  response_codes: 'bytea',
  updated_at: 'int8',
  completed_at: 'int8',
} as const;

const OPEN_COLUMNS = { ...SHARED_COLUMNS, due_at: 'int8', scheduled_at: 'int8', fallback_status: 'int2' } as const;

/** Beside the shard. */
export const SHARED_NAMES: string = Object.keys(SHARED_COLUMNS).join(', ');

/** All of a row of the table `d`, by name: with `d.*` a column added later would invalidate the prepared statement. */
const allOf = (columns: Columns): string => ['shard', ...Object.keys(columns)].map((name) => `d.${name}`).join(', ');

export const ALL_OPEN: string = allOf(OPEN_COLUMNS);

/** Rows go only as they were seen. What they were comes back. */
export const takeStatement = <Row>(name: string, table: string, columns: string, condition = 'true') =>
  batchStatement<Row>(
    name,
    { id: 'uuid', rev: 'int4' },
    ({ rows, inShard }) => `
    DELETE FROM ${table} d USING ${rows}
    WHERE ${inShard('d')} AND d.id = r.id AND d.rev = r.rev AND ${condition}
    RETURNING ${columns}`,
  );

const TAKE_OPEN = takeStatement<OpenStored>('open_deliveries_take', 'open_deliveries', ALL_OPEN);

export const TAKE_DONE = takeStatement<StoredDelivery>(
  'done_deliveries_take',
  'done_deliveries',
  allOf(SHARED_COLUMNS),
);

export type SeenRow = { shard: number; id: Uint8Array; rev: number };

/** Those that nobody has moved since: they count no more. */
export async function takeOpen(tx: Tx, rows: readonly SeenRow[], change: BacklogChange): Promise<OpenStored[]> {
  const seen = rows.map(({ shard, id, rev }) => [shard, id, rev] as const);
  const taken = await tx.batch(TAKE_OPEN, seen);
  for (const row of taken) countOut(change, row);
  return taken;
}

/** For one that comes back; a new one has a shorter way (insert-deliveries.ts). */
export const insertOpen: Insertion<OpenStored> = createInsertion('open_deliveries', OPEN_COLUMNS);

export const insertDone: Insertion<StoredDelivery> = createInsertion('done_deliveries', SHARED_COLUMNS);

type Insertion<Row> = (tx: Tx, deliveries: readonly Row[]) => Promise<unknown>;

function createInsertion(table: string, columns: Columns): Insertion<StoredDelivery> {
  const insert = insertStatement(`${table}_insert`, insertOf(table, columns));
  const names = Object.keys(columns) as (keyof StoredDelivery)[];
  return (tx, deliveries) =>
    tx.batch(
      insert,
      deliveries.map((row): BatchRow => [row.shard, ...names.map((name) => row[name])]),
    );
}

/** The row as a move leaves it, by a clock that may be behind. Attempts are counted by whoever records one. */
export function toMovedRow(row: StoredDelivery, state: DeliveryState, now: number): StoredDelivery & StateRow {
  return { ...row, ...toStateRow(state), updated_at: Math.max(row.updated_at, now), rev: row.rev + 1 };
}

export function countOut(change: BacklogChange, row: StoredDelivery): void {
  change.add(formatId('dst', row.destination_id), row.environment, -1);
}

const CODE_BYTES = 2;

/** The codes with one more, of which the last are kept. */
export function appendCode(codes: Uint8Array, code: number | null): Uint8Array {
  const all = Buffer.concat([codes, encodeResponseCode(code)]);
  return all.subarray(Math.max(0, all.length - CODE_BYTES * RESPONSE_CODES_MAX));
}

/** The shard and the bytes of an id, which name a row. */
export function keyOf(id: string): [shard: number, id: Uint8Array] {
  return [idShard(id), idBytes(id)];
}

export function timesOf(ids: readonly string[]): number[] {
  return ids.map((id) => idTime(id));
}
