// `since` and `until` of a list.
import { ApiError } from '../../model/error.ts';
import type { TimeRange } from '../../store/store.ts';
import { parseBound, TIME_RULE } from '../../model/time-input.ts';

/** Unix ms, inclusive and exclusive; throws ApiError `invalid_request`. */
export function readTimeRange(query: { since?: string; until?: string }): TimeRange {
  return { since: readTime(query.since, 'since'), until: readTime(query.until, 'until') };
}

function readTime(text: string | undefined, param: string): number | null {
  if (text === undefined) return null;
  // In a query a plus sign stands for a space; an offset that was not percent-encoded still means what it says.
  const time = parseBound(text.replace(' ', '+'));
  if (time === null) throw new ApiError('invalid_request', `"${param}" is not a time: ${TIME_RULE}`, { param });
  return time;
}
