// The two tables a delivery may be in: open while it is unfinished, done from then on. It moves as a whole row, inside
// one transaction, and `rev` goes with it: who moves it says which revision was seen.
import { RESPONSE_CODES_MAX } from '../../../../model/delivery.ts';
import { formatId, idBytes, idShard, idTime } from '../../../../model/id.ts';
import type { DeliveryState } from '../../../../model/delivery.ts';
import { encodeResponseCode } from '../../../rows/codec.ts';
import { toStateRow } from '../../../rows/delivery-rows.ts';
import type { StateRow } from '../../../rows/delivery-rows.ts';
import type { BacklogChange } from '../../backlog.ts';
import { batchStatement, insertStatement } from '../../wire/statement.ts';
import type { BatchRow } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';

/** What both tables have. */
export type StoredDelivery = {
  shard: number;
  id: Uint8Array;
  environment: number;
  event_id: Uint8Array;
  destination_id: Uint8Array;
  subscription_id: Uint8Array;
  origin: number;
  status: number;
  dead_reason: number | null;
  rev: number;
  schedule_position: number;
  attempt_count: number;
  response_codes: Uint8Array;
  updated_at: number;
  completed_at: number | null;
};

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

const SHARED_NAMES = Object.keys(SHARED_COLUMNS).join(', ');
const OPEN_NAMES = Object.keys(OPEN_COLUMNS).join(', ');

/** All columns of a delivery that has ended. */
export const DONE_NAMES: string = `shard, ${SHARED_NAMES}`;

/** All of a row of the table `d`, by name: with `d.*` a column added later would invalidate the prepared statement. */
export const ALL_OPEN: string = ['shard', ...Object.keys(OPEN_COLUMNS)].map((name) => `d.${name}`).join(', ');
const ALL_DONE = ['shard', ...Object.keys(SHARED_COLUMNS)].map((name) => `d.${name}`).join(', ');

const INSERT_OPEN = insertStatement('open_deliveries_insert', {
  columns: OPEN_COLUMNS,
  write: (rows) => `INSERT INTO open_deliveries (shard, ${OPEN_NAMES}) SELECT r.shard, ${OPEN_NAMES} FROM ${rows}`,
});

const INSERT_DONE = insertStatement('done_deliveries_insert', {
  columns: SHARED_COLUMNS,
  write: (rows) => `INSERT INTO done_deliveries (shard, ${SHARED_NAMES}) SELECT r.shard, ${SHARED_NAMES} FROM ${rows}`,
});

const KEY = { id: 'uuid', rev: 'int4' } as const;

/** Only as it was seen. What it was comes back. */
export const TAKE_OPEN = batchStatement<OpenStored>(
  'open_deliveries_take',
  KEY,
  ({ rows, inShard }) => `
    DELETE FROM open_deliveries d USING ${rows}
    WHERE ${inShard('d')} AND d.id = r.id AND d.rev = r.rev
    RETURNING ${ALL_OPEN}`,
);

export const TAKE_DONE = batchStatement<StoredDelivery>(
  'done_deliveries_take',
  KEY,
  ({ rows, inShard }) => `
    DELETE FROM done_deliveries d USING ${rows}
    WHERE ${inShard('d')} AND d.id = r.id AND d.rev = r.rev
    RETURNING ${ALL_DONE}`,
);

/** For one that comes back; a new one has a shorter way (insert-deliveries.ts). */
export function insertOpen(tx: Tx, deliveries: readonly OpenStored[]): Promise<unknown> {
  return tx.batch(
    INSERT_OPEN,
    deliveries.map((row) => valuesOf(row, Object.keys(OPEN_COLUMNS))),
  );
}

export function insertDone(tx: Tx, deliveries: readonly StoredDelivery[]): Promise<unknown> {
  return tx.batch(
    INSERT_DONE,
    deliveries.map((row) => valuesOf(row, Object.keys(SHARED_COLUMNS))),
  );
}

function valuesOf(row: StoredDelivery, names: readonly string[]): BatchRow {
  return [row.shard, ...names.map((name) => row[name as keyof StoredDelivery])];
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
