// How operations look on the wire.
import type { Operation, OperationRequest } from '../../model/operation.ts';
import { formatTime, formatTimeOrNull } from '../../model/time.ts';
import type { Found } from '../../operate/work.ts';
import { present } from './present.ts';

export function presentOperation({ request, ...operation }: Operation) {
  return { ...present(operation), kind: request.kind, request: presentRequest(request) };
}

export function presentDryRun({ count, oldest, newest }: Found) {
  return { count, oldest: formatTimeOrNull(oldest), newest: formatTimeOrNull(newest) };
}

/** What was given of it. */
function presentRequest({ kind: _, since, until, ...request }: OperationRequest) {
  const members: [string, unknown][] = Object.entries(present(request));
  const given = members.filter(([, value]) => value !== null && value !== false);
  return {
    ...Object.fromEntries(given),
    ...(since === null ? {} : { since: formatTime(since) }),
    ...(until === null ? {} : { until: formatTime(until) }),
    per_second: request.perSecond,
  };
}
