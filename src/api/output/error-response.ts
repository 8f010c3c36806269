// Every error leaves through here: as one of the codes of model/error.ts, in the one shape, with the request's id.
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../model/error.ts';
import { StoreError } from '../../store/store.ts';
import type { ApiServices } from '../services.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

const UNAVAILABLE_RETRY_SECONDS = 1;

/** The error object of a response, or of one event in a batch. */
export function describeError(error: ApiError, requestId: string) {
  const { code, message, param, operationId } = error;
  return {
    code,
    message,
    request_id: requestId,
    ...(param === undefined ? {} : { param }),
    ...(operationId === undefined ? {} : { operation_id: operationId }),
  };
}

export function renderError(error: ApiError, requestId: string): string {
  return JSON.stringify({ error: describeError(error, requestId) });
}

/** The headers that belong to an error's code. */
function errorHeaders(error: ApiError): Record<string, string> {
  const headers: Record<string, string> = {};
  if (error.code === 'unauthorized') headers['www-authenticate'] = 'Bearer';
  const wait = retryAfterSecondsOf(error);
  if (wait !== null) headers['retry-after'] = String(wait);
  return headers;
}

/** Whole seconds to wait before the same request may be sent again; null: it would fail as it did. */
export function retryAfterSecondsOf({ code, retryAfterSeconds }: ApiError): number | null {
  const wait = retryAfterSeconds ?? (code === 'unavailable' ? UNAVAILABLE_RETRY_SECONDS : null);
  return wait === null ? null : Math.max(0, Math.ceil(wait));
}

type ErrorContext = Pick<ApiServices, 'log' | 'onStoreAway'> & { requestId: string; route: string };

/** What a caller is told. What is no fault of the caller's is logged, and says nothing. */
export function toApiError(error: unknown, context: ErrorContext): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof StoreError && (error.code === 'disk_full' || error.code === 'unavailable')) {
    context.onStoreAway(error);
    return storeAway();
  }
  if (error instanceof StoreError && error.code === 'key_locked') return keyLocked();
  const refusal = toRefusal(error);
  if (refusal !== null) return refusal;
  const { requestId, route, log } = context;
  log.error({ err: error, request_id: requestId, route }, 'a request failed');
  if (error instanceof StoreError && error.code === 'unwritable') return storeAway();
  return new ApiError('internal_error', 'something went wrong here, not with your request; it was logged');
}

function storeAway(): ApiError {
  return new ApiError('unavailable', 'the service cannot store or read data just now; try again');
}

function keyLocked(): ApiError {
  return new ApiError(
    'unavailable',
    'an earlier request with this idempotency_key has not ended yet; send this one again, with the same key',
    { param: '/idempotency_key' },
  );
}

/** What Fastify itself refuses before our code sees it. */
function toRefusal(error: unknown): ApiError | null {
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new ApiError('unsupported_media_type', 'the Content-Type header is malformed; send application/json');
  }
  const isCallersFault = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
  if (typeof code === 'string' && code.startsWith('FST_ERR_') && isCallersFault) {
    return new ApiError('invalid_request', 'the request is malformed; check its method, path and headers');
  }
  return null;
}

/** Answers with an error, and goes on reading what is left of a long request so that the answer is seen. */
export function sendError(error: ApiError, request: FastifyRequest, reply: FastifyReply): void {
  reply.code(error.status);
  if (hasMuchToDiscard(request.raw)) {
    writeError(error, request, reply);
    discardRest(request.raw, () => reply.raw.end());
    return;
  }
  const payload = prepareError(error, request, reply);
  reply.send(payload);
}

/**
 * Writes an error with the reply's status as the last answer of its connection, whole but without ending the response.
 * `onWritten` is called when it is on its way.
 */
export function writeError(
  error: ApiError,
  request: FastifyRequest,
  reply: FastifyReply,
  onWritten?: () => void,
): void {
  const payload = prepareError(error, request, reply);
  reply.header('connection', 'close').header('content-length', Buffer.byteLength(payload));
  const { raw } = reply.hijack();
  raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders);
  raw.write(payload, onWritten);
}

function prepareError(error: ApiError, request: FastifyRequest, reply: FastifyReply): string {
  reply.headers(errorHeaders(error)).header('content-type', JSON_TYPE);
  return renderError(error, request.id);
}

// Refusing a request that is still being sent. Closing the connection at once would reset it, and many clients
// then never read the answer: so the answer goes out first, and what still comes in is read and thrown away.

/** A rest of at most this much is left to Node, which discards it and keeps the connection. */
const SMALL_REST_BYTES = 65_536;
/** In time this is bounded by the server's request timeout, which also counts for a request that was refused. */
const DISCARDED_BYTES_MAX = 64 * 1024 * 1024;

/** Whether a request has more to come than is worth keeping its connection for. */
function hasMuchToDiscard(request: IncomingMessage): boolean {
  if (request.complete || request.readableEnded) return false;
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  return encoding !== undefined || Number(length ?? 0) > SMALL_REST_BYTES;
}

/** Calls back when the request has ended, or is longer than is worth waiting for. */
function discardRest(request: IncomingMessage, done: () => void): void {
  let discarded = 0;
  const end = (): void => {
    request.off('data', discard);
    done();
  };
  const discard = (chunk: Uint8Array): void => {
    discarded += chunk.length;
    if (discarded > DISCARDED_BYTES_MAX) end();
  };
  if (request.destroyed) return end();
  request.on('data', discard).once('end', end).once('close', end).on('error', end).resume();
}
