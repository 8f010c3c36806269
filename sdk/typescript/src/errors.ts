// What a call throws: one class for each code of the service, and what else can go wrong on the way. All of them are a
// PostriderError; what is only wrong with the arguments is a TypeError, and an abort throws the signal's own reason.
import type { Schema } from './shapes.ts';

/** A code of the service, as https://…/openapi.json lists them. */
export type ErrorCode = Schema<'ErrorCode'>;

export class PostriderError extends Error {
  override name = 'PostriderError';
}

/** No answer came: refused, reset, cut off, no such host. `cause` is what the platform's fetch said. */
export class ConnectionError extends PostriderError {
  override name = 'ConnectionError';
}

/** The deadline passed. `cause` is what the last try came to, if there was one. */
export class TimeoutError extends PostriderError {
  override name = 'TimeoutError';
}

type Answered = { status: number; requestId?: string | undefined; retryAfterSeconds?: number | undefined };

/** The answer is not one of Postrider's: that of a proxy before it, or of something else at this address. */
export class UnexpectedAnswerError extends PostriderError {
  override name = 'UnexpectedAnswerError';
  readonly status: number;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, { status, requestId, retryAfterSeconds }: Answered) {
    super(message);
    this.status = status;
    this.requestId = requestId;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export type Refusal<Code = string> = Answered & {
  code: Code;
  param?: string | undefined;
  operationId?: string | undefined;
};

/** The service refused. A code that this version does not know comes as this class itself. */
export class ApiError<Code extends string = string> extends PostriderError {
  readonly code: Code;
  readonly status: number;
  /** What to name when asking about it: it is in the service's log, too. */
  readonly requestId: string | undefined;
  /** What is to blame: a JSON pointer into the body, or the name of a query parameter. */
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** Of `operation_in_progress`: the operation that stands in the way. */
  readonly operationId: string | undefined;

  constructor(message: string, { code, status, requestId, param, retryAfterSeconds, operationId }: Refusal<Code>) {
    super(message);
    // Not the class's own name, which minifiers shorten.
    this.name = `${code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Error`;
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.param = param;
    this.retryAfterSeconds = retryAfterSeconds;
    this.operationId = operationId;
  }
}

export class InvalidRequestError extends ApiError<'invalid_request'> {}
export class InvalidUrlError extends ApiError<'invalid_url'> {}
export class InvalidEventTypeError extends ApiError<'invalid_event_type'> {}
export class InvalidEventTypePatternError extends ApiError<'invalid_event_type_pattern'> {}
export class InvalidFilterError extends ApiError<'invalid_filter'> {}
export class InvalidCursorError extends ApiError<'invalid_cursor'> {}
export class UnauthorizedError extends ApiError<'unauthorized'> {}
export class ForbiddenError extends ApiError<'forbidden'> {}
export class DestinationNotFoundError extends ApiError<'destination_not_found'> {}
export class SubscriptionNotFoundError extends ApiError<'subscription_not_found'> {}
export class DeliveryNotFoundError extends ApiError<'delivery_not_found'> {}
export class EventNotFoundError extends ApiError<'event_not_found'> {}
export class NotFoundError extends ApiError<'not_found'> {}
export class MethodNotAllowedError extends ApiError<'method_not_allowed'> {}
export class IdempotencyKeyConflictError extends ApiError<'idempotency_key_conflict'> {}
export class RotationInProgressError extends ApiError<'rotation_in_progress'> {}
export class OperationInProgressError extends ApiError<'operation_in_progress'> {}
export class OperationEndedError extends ApiError<'operation_ended'> {}
export class DeliveryTooOldError extends ApiError<'delivery_too_old'> {}
export class EventTooOldError extends ApiError<'event_too_old'> {}
export class BodyTooLargeError extends ApiError<'body_too_large'> {}
export class UnsupportedMediaTypeError extends ApiError<'unsupported_media_type'> {}
export class UrlNotReachableError extends ApiError<'url_not_reachable'> {}
export class DestinationNotSubscribedError extends ApiError<'destination_not_subscribed'> {}
export class OverDestinationLimitError extends ApiError<'over_destination_limit'> {}
export class OverSubscriptionLimitError extends ApiError<'over_subscription_limit'> {}
export class OverFanoutLimitError extends ApiError<'over_fanout_limit'> {}
export class OverOperationLimitError extends ApiError<'over_operation_limit'> {}
export class RateLimitedError extends ApiError<'rate_limited'> {}
export class InternalErrorError extends ApiError<'internal_error'> {}
export class UnavailableError extends ApiError<'unavailable'> {}
