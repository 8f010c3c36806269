// Destinations by what is written: a search says how many it looked at, and goes on when it is told to.
import { useInfiniteQuery } from '@tanstack/react-query';
import { destinationSteps, isFoundBy, STEP_MAX } from '../api/destination-steps.ts';
import { count } from '../words/numbers.ts';
import { DestinationTable } from './destination-table.tsx';
import { useMode } from './environment.ts';
import { ListFault } from './pager.tsx';

const SHOWN_MAX = 100;

export function FoundDestinations({ text, state }: { text: string; state: string | undefined }) {
  const steps = destinationSteps(useMode(), state);
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = useInfiniteQuery(steps);
  const read = data?.pages.flatMap(({ destinations }) => destinations) ?? [];
  const found = read.filter((destination) => isFoundBy(text, destination));
  const among = hasNextPage ? `the newest ${count(read.length)} searched` : `all ${count(read.length)} searched`;
  const cut = found.length > SHOWN_MAX ? `; the newest ${SHOWN_MAX} of them are shown` : '';
  return (
    <>
      <ListFault error={error} retry={() => void (data === undefined ? refetch() : fetchNextPage())} />
      {(data !== undefined || error === null) && (
        <section className="card">
          <header>
            <span role="status">{isFetching ? 'Searching…' : `${count(found.length)} found, ${among}${cut}.`}</span>
            {hasNextPage && (
              <button
                type="button"
                className="button slim"
                aria-disabled={isFetching}
                onClick={() => void (isFetching || fetchNextPage())}
              >
                Search {count(STEP_MAX)} more
              </button>
            )}
          </header>
          {found.length > 0 && <DestinationTable destinations={found.slice(0, SHOWN_MAX)} />}
        </section>
      )}
    </>
  );
}
