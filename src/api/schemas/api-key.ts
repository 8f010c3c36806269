import { Type } from './type.ts';
import type { Static } from 'typebox';
import { SCOPES } from '../../model/api-key.ts';
import { name } from './destination.ts';
import { closed, FUTURE_TIME, id, named, nullable, omissible, oneOf, pageOf, time, timeInput } from './fields.ts';

export const mode = named('Mode', oneOf(['live', 'test']));
export const scopes = Type.Array(named('Scope', oneOf(SCOPES)), { minItems: 1, uniqueItems: true });

export const apiKeyInput = named(
  'ApiKeyInput',
  closed({
    name: omissible(name),
    mode: omissible(mode),
    scopes: omissible({ ...scopes, description: 'Absent: all but `admin`.' }),
    expires_at: omissible(timeInput('When it ends to be valid; absent: never.', FUTURE_TIME)),
  }),
);
export type ApiKeyInput = Static<typeof apiKeyInput>;

const apiKeyMembers = {
  id: id('key'),
  name: nullable(Type.String()),
  mode,
  prefix: Type.String({ examples: ['pr_test_'] }),
  last4: Type.String({ description: 'The last four characters of the key.', examples: ['x7Qa'] }),
  scopes,
  created_at: time('When it was made.'),
  expires_at: nullable(time('When it ends to be valid; null: never.', FUTURE_TIME)),
  last_used_at: nullable(time('When it was last used, to the minute; null: not yet.')),
};

const apiKey = named('ApiKey', closed(apiKeyMembers));
export const createdApiKey = named(
  'CreatedApiKey',
  closed({ ...apiKeyMembers, secret: Type.String({ description: 'The key. Shown this once.' }) }),
);
export const apiKeyPage = pageOf(apiKey);
