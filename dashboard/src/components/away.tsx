// That the service does not answer, or not as it should, while a page asks it again and again: until the query gives up,
// and once more from its next turn on, the page itself knows of no error, and would stay empty without a word.
import { notifyManager, useQueryClient, type Query } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { ApiError } from '../api/client.ts';
import { Fault } from './show.tsx';

/** One that is asked once more at once is no news. */
const FAILURES_MIN = 2;

const TRYING = new Error('The service does not answer. Trying again…');

export function Away() {
  const cache = useQueryClient().getQueryCache();
  const reason = useSyncExternalStore(
    // Not while another component is being drawn.
    (tell) => cache.subscribe(notifyManager.batchCalls(tell)),
    () => cache.findAll({ type: 'active', predicate: isWaiting })[0]?.state.fetchFailureReason ?? null,
  );
  return (
    <div className="away">
      <Fault error={reason instanceof ApiError && reason.status === 0 ? TRYING : reason} />
    </div>
  );
}

function isWaiting({ state }: Query): boolean {
  const {
    fetchFailureCount: failures,
    fetchFailureReason: reason,
    data,
    errorUpdateCount,
    fetchStatus,
    status,
  } = state;
  const isAway = reason instanceof ApiError && (reason.status === 0 || reason.status >= 500);
  const isNews = failures >= FAILURES_MIN || (data === undefined && errorUpdateCount > 0);
  // Where the query has given up the page says so.
  return isAway && isNews && fetchStatus === 'fetching' && status !== 'error';
}
