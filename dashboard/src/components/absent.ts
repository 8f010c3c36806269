import { useQuery } from '@tanstack/react-query';
import type { UseQueryOptions } from '@tanstack/react-query';
import { ApiError } from '../api/client.ts';

/** Whether the service has the endpoint of this query; no until it is known. */
// eslint-disable-next-line typescript/no-explicit-any -- any query: only whether it was answered counts
export function useIsThere(options: UseQueryOptions<any, Error, any, any>): boolean {
  const { data, error } = useQuery({ ...options, staleTime: 60_000 });
  return data !== undefined && data !== null && !(error instanceof ApiError && error.status === 404);
}
