// Which failures are worth another try, and when. A request that is not safe to repeat is only sent again when the
// service itself has said that it did nothing (429): after silence or a 503 nobody knows.
import { ApiError, ConnectionError, TimeoutError, UnexpectedAnswerError } from './errors.ts';

export const RETRIES_MAX = 3;

const FIRST_DELAY_MS = 250;
const DELAY_MS_MAX = 15_000;
const RATE_LIMITED = 429;
const UNAVAILABLE = 503;

/** `isRepeatable`: sending it twice has the effect of once. */
export function isWorthRetrying(error: unknown, isRepeatable: boolean): boolean {
  if (error instanceof ApiError && error.status === RATE_LIMITED) return true;
  if (!isRepeatable) return false;
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true;
  if (!(error instanceof ApiError || error instanceof UnexpectedAnswerError)) return false;
  return error.status === RATE_LIMITED || error.status === UNAVAILABLE;
}

/** After so many retries: never earlier than the service asked for. */
export function delayMsOf(retries: number, error: unknown): number {
  return backoffMsOf(retries) + (retryAfterSecondsOf(error) ?? 0) * 1000;
}

/** Longer each time, and never all clients at once. */
export function backoffMsOf(retries: number): number {
  return Math.min(DELAY_MS_MAX, FIRST_DELAY_MS * 2 ** retries) * (0.5 + Math.random() / 2);
}

function retryAfterSecondsOf(error: unknown): number | undefined {
  return error instanceof ApiError || error instanceof UnexpectedAnswerError ? error.retryAfterSeconds : undefined;
}

/** Of the header: seconds, or a date. */
export function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
