// Ids from outside. One that is malformed, of another kind or unknown is one and the same thing: not found.
import { ApiError, type ErrorCode } from '../../model/error.ts';
import { isId, type IdOf, type IdPrefix } from '../../model/id.ts';

type NotFoundCode = Extract<ErrorCode, `${string}not_found`>;

const NOUNS: Record<NotFoundCode, string> = {
  destination_not_found: 'destination',
  subscription_not_found: 'subscription',
  delivery_not_found: 'delivery',
  event_not_found: 'event',
  not_found: 'resource',
};

export function notFound(
  code: NotFoundCode,
  { noun = NOUNS[code], ...details }: { noun?: string; param?: string } = {},
): ApiError {
  return new ApiError(code, `there is no ${noun} of this id in this environment`, details);
}

const CODES = {
  dst: 'destination_not_found',
  sub: 'subscription_not_found',
  dlv: 'delivery_not_found',
  evt: 'event_not_found',
  key: 'not_found',
  op: 'not_found',
} as const satisfies Partial<Record<IdPrefix, NotFoundCode>>;

/** The id in a path (`:id`), or the error that says there is none of it. */
export function readPathId<P extends keyof typeof CODES>(params: unknown, prefix: P, name = 'id'): IdOf<P> {
  const text = (params as Record<string, string>)[name]!;
  if (!isId(prefix, text)) throw notFound(CODES[prefix]);
  return text;
}
