// Pages of lists in the order of ids, which begin with their time.
import { firstIdBytesAt, formatId, idBytes, type DeliveryId } from '../../model/id.ts';
import type { CountedDeliveries, Page, TimeRange } from '../store.ts';
import { ID_BYTES_MAX } from './codec.ts';

/** The ids from `since` on and below both `until` and the cursor. */
export function idRange({ since, until }: TimeRange, before: string | null): [low: Uint8Array, high: Uint8Array] {
  const end = until === null ? ID_BYTES_MAX : firstIdBytesAt(until);
  const cursor = before === null ? end : idBytes(before);
  return [firstIdBytesAt(since ?? 0), Buffer.compare(cursor, end) < 0 ? cursor : end];
}

/** `rows` has one more than `limit` where there are more. */
export function toPage<Row, Value extends { id: Id }, Id>(
  rows: readonly Row[],
  limit: number,
  toValue: (row: Row) => Value,
): Page<Value, Id> {
  const shown = rows.slice(0, limit).map((row) => toValue(row));
  return { rows: shown, next: rows.length > limit ? shown.at(-1)!.id : null };
}

export type CountRow = { count: number; oldest: Uint8Array | null; newest: Uint8Array | null };

/** As many as `limit` may have more behind them. */
export function toCounted({ count, oldest, newest }: CountRow, limit: number): CountedDeliveries {
  const toId = (bytes: Uint8Array | null): DeliveryId | null => (bytes === null ? null : formatId('dlv', bytes));
  return { count, oldest: toId(oldest), newest: toId(newest), next: count < limit ? null : toId(oldest) };
}
