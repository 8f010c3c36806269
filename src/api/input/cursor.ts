// Cursors: where a list's next page starts, signed together with the list that made it. A cursor cannot be made up,
// and it fits no other endpoint, environment or filters.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../model/error.ts';
import { formatId, idBytes, type IdOf, type IdPrefix } from '../../model/id.ts';
import type { Page, PageRequest } from '../../store/store.ts';

/** What a cursor is bound to, besides the key. `limit` is left out: it may change from page to page. */
type ListScope<P extends IdPrefix> = {
  endpoint: string;
  /** The kind of id that the list is in the order of. */
  prefix: P;
  environments: readonly number[];
  filters: readonly (string | number | null)[];
};

type PageQuery = { cursor?: string; limit?: number };

const LIMIT_DEFAULT = 25;

/** What a list answers when its filters fit nothing. */
export const EMPTY_PAGE = { data: [], has_more: false, next_cursor: null };

const ID_BYTES = 16;
const TAG_BYTES = 16;
const CURSOR_LENGTH = Math.ceil(((ID_BYTES + TAG_BYTES) * 4) / 3);

export type Cursors = ReturnType<typeof createCursors>;

export function createCursors(key: Uint8Array) {
  const tagOf = (scope: ListScope<IdPrefix>, id: Uint8Array): Buffer => {
    const context = JSON.stringify([scope.endpoint, scope.prefix, scope.environments, scope.filters]);
    return createHmac('sha256', key).update(context).update('\n').update(id).digest().subarray(0, TAG_BYTES);
  };

  const read = <P extends IdPrefix>(scope: ListScope<P>, cursor: string): IdOf<P> => {
    if (cursor.length !== CURSOR_LENGTH) throw invalidCursor();
    const bytes = Buffer.from(cursor, 'base64url');
    // Node skips what is not base64url and ignores spare bits: only one text may stand for these bytes.
    if (bytes.length !== ID_BYTES + TAG_BYTES || bytes.toString('base64url') !== cursor) throw invalidCursor();
    const id = bytes.subarray(0, ID_BYTES);
    if (!timingSafeEqual(tagOf(scope, id), bytes.subarray(ID_BYTES))) throw invalidCursor();
    return formatId(scope.prefix, id);
  };

  return {
    /** What to ask the store for; throws ApiError `invalid_cursor`. */
    open: <P extends IdPrefix>(scope: ListScope<P>, { cursor, limit }: PageQuery): PageRequest<IdOf<P>> => ({
      before: cursor === undefined ? null : read(scope, cursor),
      limit: limit ?? LIMIT_DEFAULT,
    }),
    /** The answer to a list request, less the presentation of its rows. */
    close: <P extends IdPrefix, Row>(scope: ListScope<P>, { rows, next }: Page<Row, IdOf<P>>) => {
      const id = next === null ? null : idBytes(next);
      const cursor = id === null ? null : Buffer.concat([id, tagOf(scope, id)]).toString('base64url');
      return { data: rows, has_more: cursor !== null, next_cursor: cursor };
    },
  };
}

function invalidCursor(): ApiError {
  return new ApiError(
    'invalid_cursor',
    'the cursor was not made by this list with these filters; take it from next_cursor, or start without one',
    { param: 'cursor' },
  );
}
