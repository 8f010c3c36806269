// A list of the API: `for await` walks all of it and asks for pages as it gets there; `page()` reads one.
import { UnexpectedAnswerError } from './errors.ts';

/** `next_cursor` goes into the next call's `cursor`; null: that was the last page. */
export type Page<T> = { data: T[]; has_more: boolean; next_cursor: string | null };

/** `limit`: 1-100 a page. A walk takes as many at once as it can unless told otherwise. */
export type PageQuery = { cursor?: string | null; limit?: number };

const PAGE_MAX = 100;

export class List<T> implements AsyncIterable<T> {
  readonly #read: (query: PageQuery) => Promise<Page<T>>;
  readonly #query: PageQuery;

  constructor(query: PageQuery, read: (query: PageQuery) => Promise<Page<T>>) {
    this.#query = query;
    this.#read = read;
  }

  /** The page at `cursor`, or the first. */
  page(): Promise<Page<T>> {
    return this.#readPage(this.#query);
  }

  /** Page after page, from `cursor` on. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    const limit = this.#query.limit ?? PAGE_MAX;
    let cursor = this.#query.cursor ?? null;
    do {
      const page = await this.#readPage({ ...this.#query, limit, cursor });
      yield page;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { data } of this.pages()) yield* data;
  }

  /** Without a cursor or null a walk would ask for the first page for ever, and of a cache for the same one. */
  async #readPage(query: PageQuery): Promise<Page<T>> {
    const page: Partial<Page<T>> = await this.#read(query);
    const { data, next_cursor: next } = page;
    const leadsOn = next === null || (typeof next === 'string' && next !== query.cursor);
    if (leadsOn && areRows(data)) return page as Page<T>;
    throw new UnexpectedAnswerError('the answer is no page of a list; is the base URL that of Postrider?', {
      status: 200,
    });
  }
}

/** Whatever the API lists has an id. */
export function areRows(data: unknown): data is object[] {
  return Array.isArray(data) && data.every(isRow);
}

function isRow(row: { id?: unknown; event_id?: unknown } | null): boolean {
  return typeof (row?.id ?? row?.event_id) === 'string';
}
