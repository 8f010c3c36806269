// That the service does not answer, while a page waits for it to come back: a query that is asked again and again has
// failed for nobody, and its place on the page would stay empty without a word.
import { notifyManager, useQueryClient } from '@tanstack/react-query';
import type { Query } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { ApiError } from '../api/client.ts';
import { Fault } from './show.tsx';

/** One that is asked once more at once is no news. */
const FAILURES_MIN = 2;

export function Away() {
  const cache = useQueryClient().getQueryCache();
  const reason = useSyncExternalStore(
    // Not while another component is being drawn.
    (tell) => cache.subscribe(notifyManager.batchCalls(tell)),
    () => cache.findAll({ type: 'active', predicate: isWaiting })[0]?.state.fetchFailureReason ?? null,
  );
  return <Fault error={reason} />;
}

function isWaiting({ state }: Query): boolean {
  const { fetchFailureCount: failures, fetchFailureReason: reason, fetchStatus } = state;
  return fetchStatus === 'fetching' && failures >= FAILURES_MIN && reason instanceof ApiError && reason.status === 0;
}
