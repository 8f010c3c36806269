// One HTTP request of a delivery, and how it ended. An outcome is a value: performing never throws.

export const OUTCOMES = [
  'succeeded',
  'bad_status',
  'timed_out',
  'connect_failed',
  'dns_failed',
  'tls_failed',
  'blocked',
  'reset',
  'invalid_response',
  'cancelled',
] as const;

export type Outcome = (typeof OUTCOMES)[number];
export type AttemptTrigger = 'schedule' | 'manual';

export const RESPONSE_BODY_READ_BYTES_MAX = 65_536;
export const RESPONSE_BODY_KEPT_BYTES_MAX = 16_384;
/** Of a 2xx little is kept: most attempts succeed, and nobody debugs a success. */
export const SUCCESS_BODY_KEPT_BYTES_MAX = 1_024;
export const RESPONSE_HEADER_BYTES_MAX = 16_384;
export const ATTEMPT_ERROR_LENGTH_MAX = 500;
/** Response bodies of older attempts are dropped; their codes and headers stay. */
export const ATTEMPTS_WITH_BODY_MAX = 20;

/** What came back from one request. */
export type AttemptResult = {
  outcome: Outcome;
  startedAt: number;
  durationMs: number;
  responseCode: number | null;
  /** As received, in order, names in lower case; null when no complete header block came. */
  responseHeaders: readonly (readonly [name: string, value: string])[] | null;
  /** The part that is kept; null when no response came. */
  responseBody: Uint8Array | null;
  responseBodyTruncated: boolean;
  /** For people, ≤ 500 characters; never names a resolved address. Null on success. */
  error: string | null;
  /** From Retry-After on 429 and 503: Unix ms before which the receiver wants nothing; not yet bounded. */
  retryAfterAt: number | null;
};

/** An attempt as the delivery's history keeps it. `attempt` counts from 1. */
export type Attempt = Omit<AttemptResult, 'retryAfterAt'> & { attempt: number; trigger: AttemptTrigger };

/**
 * `responseHeaders`: as JSON, for they are only kept. Nothing in a store looks at them, and an attempt may have
 * thousands.
 */
export type StoredAttempt = Omit<Attempt, 'responseHeaders'> & { responseHeaders: string | null };

/** Of a request to try out a destination. `sentHeaders`: names and values in turn; none: it was never written. */
export type TestAttempt = Attempt & { sentHeaders: readonly string[]; sentBody: Uint8Array };
