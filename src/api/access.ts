// The checks that need no body, in this order: is it HTTP/1.1 as it should be, who is calling (401), is there such a
// route (404, 405), may this key call it (403).
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKey, Scope } from '../model/api-key.ts';
import { ApiError } from '../model/error.ts';
import { countHeaderLines } from './input/header-lines.ts';
import type { ApiApp } from './route-config.ts';

/** All that any route takes. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];

/** Says whose request it is, or throws ApiError. */
export type Identify = (request: FastifyRequest) => ApiKey;

/** The `onRequest` step; throws ApiError. */
export function checkAccess(app: ApiApp, identify: Identify, request: FastifyRequest, reply: FastifyReply): void {
  checkHttp(request, reply);
  const { scope } = request.routeOptions.config;
  const needsKey = request.is404 ? isVersioned(request.url) : scope !== null;
  const key = needsKey ? identify(request) : null;
  if (request.is404 || hasParams(request)) checkMethod(app, request, reply);
  if (key === null) return;
  request.caller = key;
  checkScope(key, scope!);
}

/** Whether a path that leads nowhere lies under /v1. As with paths that lead somewhere, it may be percent-encoded. */
function isVersioned(url: string): boolean {
  return /^\/v1(\/|$)/.test(decodeURI(pathOf(url)));
}

function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

function hasParams({ params }: FastifyRequest): boolean {
  return Object.keys(params as object).length > 0;
}

/** Throws ApiError where the path does not take the method. */
function checkMethod(app: ApiApp, request: FastifyRequest, reply: FastifyReply): void {
  const path = pathOf(request.url);
  const allowed = methodsOf(app, path);
  if (allowed.includes(request.method)) return;
  if (allowed.length === 0) {
    // Clients put /v1 before every path: whoever gives them a base URL that has it too meets this first.
    const hint = path.startsWith('/v1/v1/') ? ', which has /v1 twice; leave it out of the base URL' : '';
    throw new ApiError('not_found', `there is nothing at this path${hint}`);
  }
  reply.header('allow', allowed.join(', '));
  throw new ApiError('method_not_allowed', `this path takes ${allowed.join(', ')}, not ${request.method}`);
}

/** A part that is written out in a route is no value of another route's parameter: `/v1/events/batch` is no event. */
function methodsOf(app: ApiApp, url: string): string[] {
  const found = METHODS.flatMap((method) => {
    const route = app.findRoute({ method, url });
    return route === null ? [] : [{ method, paramCount: Object.keys(route.params).length }];
  });
  const least = Math.min(...found.map(({ paramCount }) => paramCount));
  return found.filter(({ paramCount }) => paramCount === least).map(({ method }) => method);
}

function checkScope(key: ApiKey, scope: Scope): void {
  if (key.scopes.includes(scope)) return;
  throw new ApiError('forbidden', `the API key lacks the scope "${scope}"; it has ${key.scopes.join(', ') || 'none'}`);
}

/** A path whose percent-encoding is broken names nothing, like any other unknown name: its `%` stand for themselves. */
export function repairUrl(url: string): string {
  const origin = toOriginForm(url);
  if (!origin.includes('%')) return origin;
  const path = pathOf(origin);
  try {
    decodeURI(path);
    return origin;
  } catch {
    return path.replaceAll('%', '%25') + origin.slice(path.length);
  }
}

/** `GET http://host/path` means `GET /path` (RFC 9112, section 3.2.2). */
function toOriginForm(url: string): string {
  if (url.startsWith('/')) return url;
  const path = /^https?:\/\/[^/?#]*(.*)$/i.exec(url)?.[1] ?? url;
  return path.startsWith('/') ? path : `/${path}`;
}

// What Node's parser lets pass and HTTP/1.1 does not, or we do not. Whoever stands between a caller and us may read
// such a request otherwise than we do, and find its end elsewhere: so its connection ends with the refusal.

/** Throws ApiError. */
function checkHttp({ raw }: FastifyRequest, reply: FastifyReply): void {
  const fault = findFault(raw);
  if (fault === null) return;
  reply.header('connection', 'close');
  throw new ApiError('invalid_request', fault);
}

function findFault(request: IncomingMessage): string | null {
  const { httpVersion, headers } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return 'this is no version of HTTP that is spoken here; send HTTP/1.1';
  }
  const hosts = countHeaderLines(request.rawHeaders, 'host');
  if (hosts === 0 && httpVersion === '1.1') return 'the Host header is missing';
  if (hosts > 1) return 'there is more than one Host header; send one';
  // RFC 9112, section 6.1: HTTP/1.0 has no transfer codings.
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && (encoding.toLowerCase() !== 'chunked' || httpVersion === '1.0')) {
    return 'the only Transfer-Encoding that is understood is "chunked", in HTTP/1.1';
  }
  // Some clients offer to go on in HTTP/2 whenever the connection is a plain one, and take no for an answer.
  const { upgrade } = headers;
  if (upgrade !== undefined && upgrade.toLowerCase() !== 'h2c') {
    return 'no other protocol than HTTP/1.1 is spoken here; leave the Upgrade header out';
  }
  return null;
}
