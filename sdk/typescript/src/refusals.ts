// From what the service says of a refusal to the class of its code.
import * as errors from './errors.ts';

const CLASSES = {
  invalid_request: errors.InvalidRequestError,
  invalid_url: errors.InvalidUrlError,
  invalid_event_type: errors.InvalidEventTypeError,
  invalid_event_type_pattern: errors.InvalidEventTypePatternError,
  invalid_filter: errors.InvalidFilterError,
  invalid_cursor: errors.InvalidCursorError,
  unauthorized: errors.UnauthorizedError,
  forbidden: errors.ForbiddenError,
  destination_not_found: errors.DestinationNotFoundError,
  subscription_not_found: errors.SubscriptionNotFoundError,
  delivery_not_found: errors.DeliveryNotFoundError,
  event_not_found: errors.EventNotFoundError,
  not_found: errors.NotFoundError,
  method_not_allowed: errors.MethodNotAllowedError,
  idempotency_key_conflict: errors.IdempotencyKeyConflictError,
  rotation_in_progress: errors.RotationInProgressError,
  operation_in_progress: errors.OperationInProgressError,
  operation_ended: errors.OperationEndedError,
  delivery_too_old: errors.DeliveryTooOldError,
  event_too_old: errors.EventTooOldError,
  body_too_large: errors.BodyTooLargeError,
  unsupported_media_type: errors.UnsupportedMediaTypeError,
  url_not_reachable: errors.UrlNotReachableError,
  destination_not_subscribed: errors.DestinationNotSubscribedError,
  over_destination_limit: errors.OverDestinationLimitError,
  over_subscription_limit: errors.OverSubscriptionLimitError,
  over_fanout_limit: errors.OverFanoutLimitError,
  over_operation_limit: errors.OverOperationLimitError,
  rate_limited: errors.RateLimitedError,
  internal_error: errors.InternalErrorError,
  unavailable: errors.UnavailableError,
} satisfies Record<errors.ErrorCode, unknown>;

/** As the service writes it. */
export type Refused = {
  code: string;
  message: string;
  request_id: string;
  param?: string;
  operation_id?: string;
  retry_after_seconds?: number;
};

/** Whatever else answers at an address may also speak of an `error`. */
export function isRefused(value: unknown): value is Refused {
  const { code, message, request_id: requestId, param, retry_after_seconds: wait = 0 } = (value ?? {}) as Refused;
  return [code, message, requestId ?? '', param ?? ''].every((one) => typeof one === 'string') && wait >= 0;
}

export function refusalOf(
  { code, message, request_id: requestId, param, operation_id: operationId }: Refused,
  status: number,
  retryAfterSeconds: number | undefined,
): errors.ApiError {
  const details = { code, status, requestId, param, retryAfterSeconds, operationId };
  if (!Object.hasOwn(CLASSES, code)) return new errors.ApiError(message, details);
  // The class of a code wants that code.
  const Class = CLASSES[code as errors.ErrorCode] as typeof errors.ApiError<string>;
  return new Class(message, details);
}
