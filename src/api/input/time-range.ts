// `since` and `until` of a list.
import { ApiError } from '../../model/error.ts';
import type { TimeRange } from '../../store/store.ts';
import { parseBound, TIME_RULE } from '../../model/time.ts';

/** Unix ms, inclusive and exclusive; throws ApiError `invalid_request`. */
export function readTimeRange(query: { since?: string; until?: string }): TimeRange {
  // In a query a plus sign stands for a space; an offset that was not percent-encoded still means what it says.
  const since = readTime(query.since?.replace(' ', '+'), 'since');
  return { since, until: readTime(query.until?.replace(' ', '+'), 'until') };
}

/** Unix ms; throws ApiError `invalid_request`. `param`: of a query, or a pointer into the body. */
export function readTime(text: string | null = null, param: string): number | null {
  const time = text === null ? null : parseBound(text);
  if (text === null || time !== null) return time;
  throw new ApiError('invalid_request', `"${param.replace('/', '')}" is not a time: ${TIME_RULE}`, { param });
}
