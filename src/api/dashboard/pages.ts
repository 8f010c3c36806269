// The dashboard's files. Its pages are one document whose script shows what the path says; so every path of theirs is
// answered with it. They are open: what they show is asked of the API, with a session.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../model/error.ts';
import type { ApiApp } from '../route-config.ts';
import { checkHost } from '../session/origin.ts';
import type { BuildFile, BuildReader } from './build.ts';
import { chooseVariant, isUnchanged } from './negotiation.ts';

const PAGE_PATHS = ['/', '/sign-in', '/test', '/test/*', '/live', '/live/*'];

/** Of whatever a browser shows as a page, or a part of one. */
export const PAGE_HEADERS = {
  // Nothing from elsewhere, nothing inline, in nobody's frame.
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // Not `no-referrer`, with which some browsers keep back the Origin too.
  'referrer-policy': 'same-origin',
};
const KEPT = 'public, max-age=31536000, immutable';
/** Asked for again each time: it names the assets of the build that is there. */
const ASKED_AGAIN = 'no-cache';

const RETRY_SECONDS = 2;
const NOT_BUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta http-equiv="refresh" content="${RETRY_SECONDS}"><title>Postrider</title></head>
<body>
<h1>The dashboard is not built yet</h1>
<p><code>npm start</code> builds it in the background, in about a minute; this page then goes on by itself.
Elsewhere, or if it stays: <code>npm run build:dashboard</code>, in Postrider’s folder, builds it and says what is
wrong.</p>
<p>The API works meanwhile.</p>
</body>
</html>
`;

type Parts = { build: BuildReader; hosts: readonly string[] };

export function addPages(app: ApiApp, { build, hosts }: Parts): void {
  // No part of the API: the document leaves them out.
  const options = { schema: { hide: true }, config: { scope: null, errors: [] } };
  for (const path of PAGE_PATHS) {
    app.get(path, options, async (request, reply) => {
      checkHost(request.headers.host, hosts);
      reply.headers(PAGE_HEADERS);
      const current = await build.current();
      return current === null ? sendNotBuilt(reply) : sendFile(request, reply, current.page, ASKED_AGAIN);
    });
  }
  app.get('/assets/*', options, async (request, reply) => {
    checkHost(request.headers.host, hosts);
    const name = (request.params as { '*': string })['*'];
    const file = (await build.current())?.assets.get(name);
    if (file === undefined) throw new ApiError('not_found', 'there is nothing at this path');
    reply.headers(PAGE_HEADERS);
    return sendFile(request, reply, file, KEPT);
  });
}

function sendFile({ headers }: FastifyRequest, reply: FastifyReply, file: BuildFile, cacheControl: string) {
  const { encoding, bytes, etag } = chooseVariant(file, headers['accept-encoding']);
  reply.headers({ etag, 'cache-control': cacheControl, vary: 'accept-encoding' });
  if (isUnchanged(headers['if-none-match'], etag)) return reply.code(304).send();
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.header('content-type', file.type).send(bytes);
}

function sendNotBuilt(reply: FastifyReply) {
  reply.headers({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  return reply.code(503).header('retry-after', RETRY_SECONDS).send(NOT_BUILT);
}
