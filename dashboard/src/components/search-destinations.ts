// Destinations by what is written: a search says how many it looked at, and goes on when it is told to.
import { useInfiniteQuery } from '@tanstack/react-query';
import { destinationSteps, isFoundBy, STEP_MAX } from '../api/destination-steps.ts';
import { count } from '../words/numbers.ts';
import { useMode } from './environment.ts';

const SHOWN_MAX = 100;

export const GO_ON = `Search ${count(STEP_MAX)} more`;

/** An empty text asks for nothing. */
export function useDestinationSearch(text: string, state?: string) {
  const steps = { ...destinationSteps(useMode(), state), enabled: text !== '' };
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = useInfiniteQuery(steps);
  const read = data?.pages.flatMap(({ destinations }) => destinations) ?? [];
  const found = read.filter((destination) => isFoundBy(text, destination));
  const among = hasNextPage ? `the newest ${count(read.length)} searched` : `all ${count(read.length)} searched`;
  const cut = found.length > SHOWN_MAX ? `; the newest ${SHOWN_MAX} of them are shown` : '';
  return {
    shown: found.slice(0, SHOWN_MAX),
    said: isFetching ? 'Searching…' : `${count(found.length)} found, ${among}${cut}.`,
    isRead: data !== undefined,
    error,
    isFetching,
    hasMore: hasNextPage,
    goOn: () => void (isFetching || (data === undefined ? refetch() : fetchNextPage())),
  };
}
