// Pages of lists in the order of ids, which begin with their time.
import { firstIdBytesAt, idBytes } from '../../model/id.ts';
import type { Page, TimeRange } from '../store.ts';
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
