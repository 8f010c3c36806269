// Lists are walked by cursor: onward here, back with the browser, and to the newest from anywhere.
import { Link, useSearch } from '@tanstack/react-router';
import type { Page } from '../api/client.ts';
import type { Search } from '../router.tsx';
import { start } from './filters.tsx';

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
