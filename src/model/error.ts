// Every error a caller can get, in one table. The reference page and the OpenAPI document are made from it.
import type { OperationId } from './id.ts';

type ErrorEntry = { status: number; meaning: string; remedy: string };

export const ERRORS = {
  invalid_request: {
    status: 400,
    meaning: 'The request is not well-formed JSON, or a field is missing, unknown, of the wrong type or out of range.',
    remedy: 'Correct the field that `param` names, as `message` says.',
  },
  invalid_url: {
    status: 400,
    meaning: 'The URL cannot be a destination: wrong scheme, credentials, fragment, or a host or port that is refused.',
    remedy: 'Use an https URL with a public host; in test mode http is accepted too.',
  },
  invalid_event_type: {
    status: 400,
    meaning:
      'The event type is not 2-10 segments of letters, digits, `_` and `-` joined by dots, or it is one of the ' +
      'service’s own: those begin with `postrider.`.',
    remedy: 'Use a dotted form such as `order.paid`.',
  },
  invalid_event_type_pattern: {
    status: 400,
    meaning: 'The pattern is neither an event type nor `<prefix>.*`, `<prefix>.**` or `**`.',
    remedy: 'Put the wildcard last, after whole segments.',
  },
  invalid_filter: {
    status: 400,
    meaning: 'The filter is not valid; `param` points at the fault inside it.',
    remedy: 'Correct it as `message` says; the guide on filters has the grammar.',
  },
  invalid_cursor: {
    status: 400,
    meaning: 'The cursor was not made by this list with these filters in this environment.',
    remedy: 'Start again without a cursor, and keep the filters the same from page to page.',
  },
  unauthorized: {
    status: 401,
    meaning: 'There is no API key in the request, or it is malformed, unknown, expired or revoked.',
    remedy: 'Send `Authorization: Bearer <API_KEY>` with a valid key.',
  },
  forbidden: {
    status: 403,
    meaning:
      'The API key lacks the scope that this endpoint needs; the message names it. Or a page that is not the ' +
      'dashboard’s asks with its session.',
    remedy: 'Use a key that has the scope.',
  },
  destination_not_found: {
    status: 404,
    meaning: 'There is no such destination in this environment, or it was deleted.',
    remedy: 'Check the id and that the key is of the right mode.',
  },
  subscription_not_found: {
    status: 404,
    meaning: 'There is no such subscription in this environment.',
    remedy: 'Check the id and that the key is of the right mode.',
  },
  delivery_not_found: {
    status: 404,
    meaning: 'There is no such delivery in this environment (or, in the DLQ, it is not dead), or it was pruned.',
    remedy: 'Check the id and that the key is of the right mode.',
  },
  event_not_found: {
    status: 404,
    meaning: 'There is no such event in this environment, or it was pruned.',
    remedy: 'Check the id and that the key is of the right mode.',
  },
  not_found: {
    status: 404,
    meaning: 'There is nothing at this path.',
    remedy: 'Check the path against the API reference.',
  },
  method_not_allowed: {
    status: 405,
    meaning: 'The path exists, but not with this method.',
    remedy: 'Use one of the methods in the `Allow` header.',
  },
  idempotency_key_conflict: {
    status: 409,
    meaning: 'The idempotency key was used within 24 hours for a different event.',
    remedy: 'Use a new key for a new event; repeat the very same request to repeat the old one.',
  },
  rotation_in_progress: {
    status: 409,
    meaning: 'The previous rotation of this destination’s signing key is still in its overlap.',
    remedy: 'Wait until `Retry-After`, or delete the old signing key first.',
  },
  operation_in_progress: {
    status: 409,
    meaning: 'The same was asked for before, and that operation is running or paused: `operation_id` names it.',
    remedy: 'Follow that operation, or cancel it first.',
  },
  operation_ended: {
    status: 409,
    meaning: 'The operation has ended: it can no longer be cancelled, paused or resumed.',
    remedy: 'Ask for a new one.',
  },
  delivery_too_old: {
    status: 410,
    meaning: 'The body of the delivery’s event has been erased; it cannot be sent again.',
    remedy: 'Post the event anew.',
  },
  event_too_old: {
    status: 410,
    meaning: 'The body of the event has been erased; it cannot be replayed.',
    remedy: 'Post the event anew.',
  },
  body_too_large: {
    status: 413,
    meaning: 'The request, or the body of the event, is longer than allowed.',
    remedy: 'Send less, or put the data elsewhere and send a reference to it.',
  },
  unsupported_media_type: {
    status: 415,
    meaning: 'The request is not `application/json` in UTF-8 without a content encoding.',
    remedy: 'Send `Content-Type: application/json` and an uncompressed body.',
  },
  url_not_reachable: {
    status: 422,
    meaning: 'No connection to the URL could be made.',
    remedy: 'Check the name, that the receiver listens, and its certificate; then try again.',
  },
  destination_not_subscribed: {
    status: 422,
    meaning: 'A destination named for the replay has no subscription that matches the event.',
    remedy: 'Name only destinations that subscribe to this event now, or none for all of them.',
  },
  over_destination_limit: {
    status: 422,
    meaning: 'The environment has as many destinations as it may have.',
    remedy: 'Delete destinations that are not used, or raise MAX_DESTINATIONS.',
  },
  over_subscription_limit: {
    status: 422,
    meaning: 'The destination or the environment has as many subscriptions as it may have.',
    remedy:
      'Delete subscriptions that are not used, or use a wildcard; or, for the environment, raise MAX_SUBSCRIPTIONS.',
  },
  over_fanout_limit: {
    status: 422,
    meaning: 'The event, or its replay, would make more deliveries than one may. Nothing was stored.',
    remedy: 'Narrow the subscriptions that match; for a replay name `destination_ids`; or raise MAX_FANOUT.',
  },
  over_operation_limit: {
    status: 422,
    meaning: 'The environment has as many operations that have not ended as it may have.',
    remedy: 'Wait until one has ended, or cancel one.',
  },
  rate_limited: {
    status: 429,
    meaning: 'Too many of these requests at once or in a short time.',
    remedy: 'Wait as long as `Retry-After` says, then try again.',
  },
  internal_error: {
    status: 500,
    meaning: 'A fault of the service; it is in its log under the request id.',
    remedy: 'Try again; repeat events with an idempotency key. If it stays, report it with the request id.',
  },
  unavailable: {
    status: 503,
    meaning:
      'The service cannot store anything just now, or has too much to do. Nothing was accepted, unless the database ' +
      'went away in the moment of storing it.',
    remedy: 'Wait as long as `Retry-After` says, then try again; repeat events with an idempotency key.',
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** `operationId`: of the operation that stands in the way. */
type ErrorDetails = { param?: string; retryAfterSeconds?: number; operationId?: OperationId };

/** An error that a caller is meant to see. `param` is a JSON pointer into the body, or a query parameter's name. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly operationId: OperationId | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.param = details.param;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.operationId = details.operationId;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** For want of a file descriptor. */
export function cannotConnect(): ApiError {
  return new ApiError('unavailable', 'this node can open no connection just now; try again', { retryAfterSeconds: 1 });
}
