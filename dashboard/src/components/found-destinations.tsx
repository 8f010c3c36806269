import { DestinationTable } from './destination-table.tsx';
import { ListFault } from './pager.tsx';
import { GO_ON, useDestinationSearch } from './search-destinations.ts';

export function FoundDestinations({ text, state }: { text: string; state: string | undefined }) {
  const { shown, said, isRead, error, isFetching, hasMore, goOn } = useDestinationSearch(text, state);
  return (
    <>
      <ListFault error={error} retry={goOn} />
      {(isRead || error === null) && (
        <section className="card">
          <header>
            <span role="status">{said}</span>
            {hasMore && (
              <button type="button" className="button slim" aria-disabled={isFetching} onClick={goOn}>
                {GO_ON}
              </button>
            )}
          </header>
          {shown.length > 0 && <DestinationTable destinations={shown} />}
        </section>
      )}
    </>
  );
}
