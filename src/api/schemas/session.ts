import { Type } from './type.ts';
import { mode, scopes } from './api-key.ts';
import { closed, FUTURE_TIME, id, named, nullable, time } from './fields.ts';

export const signInInput = named(
  'SignInInput',
  closed({ key: Type.String({ minLength: 1, maxLength: 256, description: 'An API key.' }) }),
);

export const session = named(
  'Session',
  closed({
    mode,
    key: named('SessionKey', closed({ id: id('key'), name: nullable(Type.String()), scopes })),
    expires_at: time('8 hours after it began, or when its key ends to be valid.', FUTURE_TIME),
  }),
);
export const sessionList = named(
  'SessionList',
  closed({ sessions: Type.Array(session, { maxItems: 2, description: 'At most one of each mode.' }) }),
);
