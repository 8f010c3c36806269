// Times as ranges of ids, which begin with their time.
import { firstIdBytesAt } from '../../model/id.ts';
import type { TimeRange } from '../store.ts';
import { ID_BYTES_MAX } from './codec.ts';

/** The ids from `since` on and below both `until` and the cursor. */
export function idRange({ since, until }: TimeRange, before: Uint8Array | null): [low: Uint8Array, high: Uint8Array] {
  const end = until === null ? ID_BYTES_MAX : firstIdBytesAt(until);
  const high = before !== null && Buffer.compare(before, end) < 0 ? before : end;
  return [firstIdBytesAt(since ?? 0), high];
}
