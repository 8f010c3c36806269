// /v1/api-keys: a test key manages test keys only, a live key both. Whoever may make keys may give them any scope.
import { Type } from '../schemas/type.ts';
import { DEFAULT_SCOPES, type ApiKey, type Mode } from '../../model/api-key.ts';
import { ApiError } from '../../model/error.ts';
import { mintApiKey } from '../../runtime/mint-api-key.ts';
import { notFound, readPathId } from '../input/path-id.ts';
import { present } from '../output/present.ts';
import { LOCATION, type ApiApp, type Shared } from '../route-config.ts';
import { apiKeyInput, apiKeyPage, createdApiKey, type ApiKeyInput } from '../schemas/api-key.ts';
import { closed, pageQuery } from '../schemas/fields.ts';
import type { ApiServices } from '../services.ts';
import { parseTime, TIME_RULE } from '../../model/time.ts';

const tags = ['API keys'];

export function addApiKeyRoutes(app: ApiApp, services: ApiServices, { cursors }: Shared): void {
  const { store, authenticator } = services;

  app.get('/v1/api-keys', listing, async ({ caller, query }) => {
    const environments = [...(await readEnvironments(services, caller)).values()];
    const scope = { endpoint: 'api-keys', prefix: 'key', environments, filters: [] } as const;
    const page = await store.listApiKeys({ environments, ...cursors.open(scope, query) });
    return cursors.close(scope, { ...page, rows: page.rows.map((key) => present(key)) });
  });

  app.post('/v1/api-keys', creation, async ({ caller, body }, reply) => {
    const { key, secret } = await create(services, caller, body);
    reply.code(201).header('location', `/v1/api-keys/${key.id}`);
    return { ...present(key), secret };
  });

  app.delete('/v1/api-keys/:id', revocation, async ({ caller, params }, reply) => {
    const id = readPathId(params, 'key');
    const environments = [...(await readEnvironments(services, caller)).values()];
    if (!(await store.revokeApiKey({ environments, id }))) throw notFound('not_found');
    await authenticator.refresh();
    return reply.code(204).send(null);
  });
}

const listing = {
  schema: {
    tags,
    operationId: 'listApiKeys',
    summary: 'List API keys, newest first',
    querystring: closed(pageQuery),
    response: { 200: apiKeyPage },
  },
  config: { scope: 'admin', errors: ['invalid_cursor'] },
} as const;

const creation = {
  schema: {
    tags,
    operationId: 'createApiKey',
    summary: 'Make an API key',
    description: 'Its text is in the answer and nowhere else. `mode` is that of the calling key unless given.',
    body: apiKeyInput,
    response: { 201: createdApiKey },
  },
  config: {
    scope: 'admin',
    errors: [],
    responseHeaders: { 201: LOCATION },
  },
} as const;

const revocation = {
  schema: {
    tags,
    operationId: 'revokeApiKey',
    summary: 'Revoke an API key',
    description: 'It is refused at once here, and within a second on every node.',
    response: { 204: Type.Null({ description: 'It is revoked.' }) },
  },
  config: { scope: 'admin', errors: ['not_found'] },
} as const;

async function create(services: ApiServices, caller: ApiKey, input: ApiKeyInput) {
  const mode = input.mode ?? caller.mode;
  const environment = (await readEnvironments(services, caller)).get(mode);
  if (environment === undefined) {
    throw new ApiError(
      'forbidden',
      `a ${caller.mode} key makes no ${mode} keys; use a live key with the scope "admin"`,
      {
        param: '/mode',
      },
    );
  }
  const minted = mintApiKey(
    {
      mode,
      environment,
      name: input.name ?? null,
      scopes: input.scopes ?? DEFAULT_SCOPES,
      expiresAt: readExpiry(input.expires_at ?? null, services.clock.now()),
    },
    services,
  );
  await services.store.createApiKey(minted.key);
  await services.authenticator.refresh();
  return minted;
}

/** The environments whose keys the caller manages: its own, and for a live key its account's test half too. */
async function readEnvironments({ store }: ApiServices, caller: ApiKey): Promise<Map<Mode, number>> {
  const all = await store.readEnvironments();
  const own = all.find(({ environment }) => environment === caller.environment);
  const managed = all.filter(({ account, environment }) => {
    return environment === caller.environment || (caller.mode === 'live' && account === own?.account);
  });
  return new Map(managed.map(({ mode, environment }) => [mode, environment]));
}

function readExpiry(text: string | null, now: number): number | null {
  if (text === null) return null;
  const time = parseTime(text);
  if (time !== null && time > now) return time;
  const message =
    time === null
      ? `"expires_at" is not a time: ${TIME_RULE}`
      : '"expires_at" is in the past; give a later time, or none';
  throw new ApiError('invalid_request', message, { param: '/expires_at' });
}
