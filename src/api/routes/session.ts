// Signing in to the dashboard, and out. A session is a cookie that no script can read, and requests of the dashboard's
// own pages are made with its key (session/sessions.ts). Outside /v1, for programs have no use for it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKey, Mode } from '../../model/api-key.ts';
import { ApiError } from '../../model/error.ts';
import { formatTime } from '../../model/time.ts';
import { UnknownKeyError, type Authenticator } from '../auth.ts';
import { PAGE_HEADERS } from '../dashboard/pages.ts';
import type { ApiApp } from '../route-config.ts';
import { session, sessionList, signInInput } from '../schemas/session.ts';
import type { ApiServices, Dashboard } from '../services.ts';
import { checkHost, checkSameOrigin, isFromThisMachine } from '../session/origin.ts';
import type { Session } from '../session/sessions.ts';

const tags = ['Dashboard'];

export function addSessionRoutes(app: ApiApp, { authenticator }: ApiServices, dashboard: Dashboard): void {
  const { sessions, attempts, hosts } = dashboard;

  app.post('/session', signingIn, async ({ body, method, headers, ip }, reply) => {
    checkSameOrigin(method, headers, hosts);
    attempts.begin(ip);
    const key = await findKey(authenticator, () => authenticator.authenticate(`Bearer ${body.key}`));
    attempts.succeed(ip);
    return present(beginSession(dashboard, key, { headers, reply }));
  });

  app.get('/session', listing, async ({ method, headers }, reply) => {
    checkSameOrigin(method, headers, hosts);
    reply.header('cache-control', 'no-store');
    return { sessions: sessions.list(headers).map(present) };
  });

  app.delete('/session/:mode', signingOut, async ({ params, method, headers }, reply) => {
    checkSameOrigin(method, headers, hosts);
    const { mode } = params as { mode: string };
    if (mode !== 'test' && mode !== 'live') throw new ApiError('not_found', 'a session is of the mode test or live');
    return reply.header('set-cookie', sessions.end(mode, headers)).code(204).send(null);
  });

  app.get('/sign-in/:token', signingInByLink, async (request, reply) => {
    checkHost(request.headers.host, hosts);
    const mode = await useLink(dashboard, authenticator, { request, reply });
    reply.headers(PAGE_HEADERS).header('cache-control', 'no-store');
    return reply.redirect(mode === null ? '/sign-in?reason=link' : `/${mode}/`, 303);
  });
}

type Exchange = { headers: FastifyRequest['headers']; reply: FastifyReply };

function beginSession({ sessions }: Dashboard, key: ApiKey, { headers, reply }: Exchange): Session {
  const begun = sessions.begin(key, headers);
  reply.header('set-cookie', begun.cookie).header('cache-control', 'no-store');
  return begun.session;
}

/** The mode that was signed in to; null: the link was used, is over, or is not for who uses it. */
async function useLink(
  dashboard: Dashboard,
  authenticator: Authenticator,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Promise<Mode | null> {
  const { method, headers, ip, params } = request;
  // Whoever previews a link, or asks for it from elsewhere, does not use it up.
  if (method !== 'GET' || !isFromThisMachine(ip, headers)) return null;
  const id = dashboard.links.use((params as { token: string }).token);
  if (id === null) return null;
  const key = await findKey(authenticator, () => authenticator.authenticateId(id)).catch(nullForApiError);
  return key === null ? null : beginSession(dashboard, key, { headers, reply }).mode;
}

/** The key has been revoked since, or has expired. */
function nullForApiError(error: unknown): null {
  if (error instanceof ApiError) return null;
  throw error;
}

/** Among all keys that are stored by now. */
async function findKey(authenticator: Authenticator, find: () => ApiKey): Promise<ApiKey> {
  try {
    return find();
  } catch (error) {
    if (!(error instanceof UnknownKeyError)) throw error;
    await authenticator.refreshForUnknown();
    return find();
  }
}

function present({ mode, key: { id, name, scopes }, expiresAt }: Session) {
  return { mode, key: { id, name, scopes }, expires_at: formatTime(expiresAt) };
}

const signingIn = {
  schema: {
    tags,
    operationId: 'signIn',
    summary: 'Sign in to the dashboard with an API key',
    description:
      'Sets a cookie, `postrider_test` or `postrider_live`, by which requests of the dashboard’s own pages are made ' +
      'with the key. It counts only with the header `postrider-mode: test` or `live`, and for no page of another ' +
      'origin. The session ends after 8 hours, with its key, or at a sign-out.',
    body: signInInput,
    response: { 200: session },
  },
  config: {
    scope: null,
    errors: [
      'invalid_request',
      'unauthorized',
      'forbidden',
      'body_too_large',
      'unsupported_media_type',
      'rate_limited',
    ],
    responseHeaders: { 200: { 'Set-Cookie': { description: 'The session.', schema: { type: 'string' } } } },
  },
} as const;

const listing = {
  schema: {
    tags,
    operationId: 'listSessions',
    summary: 'Tell which sessions of the dashboard this browser has',
    response: { 200: sessionList },
  },
  config: { scope: null, errors: ['forbidden'] },
} as const;

const signingOut = {
  schema: {
    tags,
    operationId: 'signOut',
    summary: 'Sign out of the dashboard',
    description: '`mode`: `test` or `live`. A session that is not there, or has ended, is no fault.',
    response: { 204: { type: 'null' } },
  },
  config: {
    scope: null,
    errors: ['invalid_request', 'forbidden', 'not_found', 'body_too_large', 'unsupported_media_type'],
    responseHeaders: { 204: { 'Set-Cookie': { description: 'Forgets the session.', schema: { type: 'string' } } } },
  },
} as const;

const signingInByLink = { schema: { hide: true }, config: { scope: null, errors: [] } } as const;
