// The checks that need no body, in this order: is it HTTP/1.1 as it should be, who is calling (401), is there such a
// route (404, 405), may this key call it (403).
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKey, Scope } from '../model/api-key.ts';
import { ApiError } from '../model/error.ts';
import type { Authenticator } from './auth.ts';
import { checkHttp } from './http/rules.ts';
import type { ApiApp } from './route-config.ts';

/** All that any route takes. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];

/** The `onRequest` step; throws ApiError. */
export function checkAccess(
  app: ApiApp,
  authenticator: Authenticator,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  checkHttp(request, reply);
  const { scope } = request.routeOptions.config;
  const needsKey = request.is404 ? isVersioned(request.url) : scope !== null;
  const key = needsKey ? authenticator.authenticate(request.headers.authorization) : null;
  if (request.is404) throw refuseRoute(app, request, reply);
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

function refuseRoute(app: ApiApp, request: FastifyRequest, reply: FastifyReply): ApiError {
  const url = pathOf(request.url);
  const allowed = METHODS.filter((method) => app.findRoute({ method, url }) !== null);
  if (allowed.length === 0) return new ApiError('not_found', 'there is nothing at this path');
  reply.header('allow', allowed.join(', '));
  return new ApiError('method_not_allowed', `this path takes ${allowed.join(', ')}, not ${request.method}`);
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
