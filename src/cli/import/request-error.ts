// What a request of an import failed with, in the words of either service's API.

type Facts = { status: number | null; code: string; param?: string | null; retryAfterMs?: number | null };

const PASSING = new Set([408, 500, 502, 503, 504]);
const TOO_MANY_REQUESTS = 429;

/** `status`: null where no answer came. `param`: the field to blame. */
export class RequestError extends Error {
  readonly status: number | null;
  readonly code: string;
  readonly param: string | null;
  /** As the service asks. */
  readonly retryAfterMs: number | null;

  constructor(message: string, { status, code, param = null, retryAfterMs = null }: Facts) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
    this.retryAfterMs = retryAfterMs;
  }

  /** It may have been carried out all the same, or would be if it were asked again. */
  get isPassing(): boolean {
    return this.status === null || PASSING.has(this.status);
  }

  /** Nothing was done. */
  get isTooMany(): boolean {
    return this.status === TOO_MANY_REQUESTS;
  }
}
