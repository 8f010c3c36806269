// Lists are walked by cursor: onward here, back with the browser, and to the newest from anywhere.
import { Link, useSearch } from '@tanstack/react-router';
import { ApiError, type Page } from '../api/client.ts';
import type { Search } from '../router.tsx';
import { start } from './filters.tsx';
import { Fault } from './show.tsx';

/** A parameter that is refused would be refused again: the way on is the list without what is wrong in the address. */
export function ListFault({ error, retry }: { error: unknown; retry: () => void }) {
  const search: Search = useSearch({ strict: false });
  if (!(error instanceof ApiError) || error.param === null) return <Fault error={error} retry={retry} />;
  const isOfCursor = error.param === 'cursor';
  return (
    <Fault error={error}>
      <p>
        <Link to="." search={isOfCursor ? { ...search, ...start(search) } : {}}>
          {isOfCursor ? 'To the beginning of the list' : 'Clear the filters'}
        </Link>
      </p>
    </Fault>
  );
}

/** `query` made the page; its cursor goes on only with the same filters. */
export function Pager({ page, query }: { page: Page<unknown> | undefined; query: Search }) {
  const search: Search = useSearch({ strict: false });
  if (page === undefined || (!page.has_more && search['cursor'] === undefined)) return null;
  return (
    <nav className="pager" aria-label="Pages of the list">
      {search['cursor'] === undefined ? (
        <span className="muted">Newest first</span>
      ) : (
        <Link className="button slim" to="." search={{ ...search, ...start(search) }}>
          Newest
        </Link>
      )}
      {page.has_more && page.next_cursor !== null && (
        <Link className="button slim" to="." search={{ ...search, since: query['since'], cursor: page.next_cursor }}>
          Older
        </Link>
      )}
    </nav>
  );
}
