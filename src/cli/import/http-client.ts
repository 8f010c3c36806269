// JSON over HTTP with an API that may be slow, busy or away: what can be asked again is asked again, after as long a
// wait as the API wants.
import { delay, systemClock } from '../../runtime/clock.ts';

const REQUEST_MS_MAX = 30_000;
const TOO_LATE = `no answer within ${REQUEST_MS_MAX / 1_000} s`;
/** Of one that fails for a reason that passes. */
const TRIES_MAX = 6;
const BACKOFF_MS = 500;
/** In a row for one request that is answered 429, and each: an import of thousands of endpoints is always too fast. */
const WAITS_MAX = 500;
const WAIT_MS_MAX = 300_000;
const WAIT_MS_TOLD = 5_000;
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
const PASSING = new Set([408, 500, 502, 503, 504]);
const TOO_MANY_REQUESTS = 429;

/** `status`: null where no answer came. `param`: the field to blame. */
export class RequestError extends Error {
  readonly status: number | null;
  readonly code: string;
  readonly param: string | null;

  constructor(message: string, facts: { status: number | null; code: string; param?: string | null }) {
    super(message);
    this.status = facts.status;
    this.code = facts.code;
    this.param = facts.param ?? null;
  }

  /** It may have been carried out all the same, or would be if it were asked again. */
  get isPassing(): boolean {
    return this.status === null || PASSING.has(this.status);
  }
}

type HttpClientOptions = {
  /** What people call it, as in "Svix asks to wait". */
  service: string;
  /** Without a slash at its end. */
  baseUrl: string;
  token: string;
  /** Of a wait that is long enough to wonder. */
  onWait: (text: string) => void;
};

type Answer = { status: number; retryAfterMs: number | null; text: string };
type Request = { method: string; path: string; body?: object };

export class HttpClient {
  readonly #options: HttpClientOptions;

  constructor(options: HttpClientOptions) {
    this.#options = options;
  }

  get(path: string): Promise<unknown> {
    return this.send({ method: 'GET', path });
  }

  /** Asked again after failures that pass: for what comes to the same when it is carried out twice. */
  async send(request: Request): Promise<unknown> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.sendOnce(request);
      } catch (error) {
        if (!(error instanceof RequestError) || !error.isPassing || tries === TRIES_MAX) throw error;
        await this.#wait(error.message, BACKOFF_MS * 2 ** (tries - 1));
      }
    }
  }

  /** The answer's JSON. A 429 says that nothing was done, so it is asked again. Rejects with RequestError. */
  async sendOnce(request: Request): Promise<unknown> {
    for (let waits = 1; ; waits += 1) {
      const answer = await this.#exchange(request);
      if (answer.status !== TOO_MANY_REQUESTS || waits === WAITS_MAX) return this.#read(answer);
      const waitMs = answer.retryAfterMs ?? Math.min(BACKOFF_MS * 2 ** (waits - 1), WAIT_MS_TOLD);
      await this.#wait(`${this.#options.service} is asked too often`, waitMs);
    }
  }

  async #wait(reason: string, ms: number): Promise<void> {
    const waitMs = Math.min(ms, WAIT_MS_MAX);
    if (waitMs >= WAIT_MS_TOLD) this.#options.onWait(`${reason}: asking again in ${Math.ceil(waitMs / 1_000)} s`);
    await delay(systemClock, waitMs);
  }

  async #exchange({ method, path, body }: Request): Promise<Answer> {
    const { service, baseUrl, token } = this.#options;
    const headers: Record<string, string> = { authorization: `Bearer ${token}`, accept: 'application/json' };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const aborter = new AbortController();
    const timer = systemClock.setTimer(() => aborter.abort(new Error(TOO_LATE)), REQUEST_MS_MAX);
    try {
      const response = await fetch(`${baseUrl}${path}`, {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
        // The token is for this address and no other.
        redirect: 'manual',
        signal: aborter.signal,
      });
      const text = await readText(response);
      return { status: response.status, retryAfterMs: readRetryAfter(response.headers.get('retry-after')), text };
    } catch (error) {
      throw new RequestError(`${service} at ${baseUrl}: ${describe(error)}`, { status: null, code: 'no_answer' });
    } finally {
      timer.cancel();
    }
  }

  #read({ status, text }: Answer): unknown {
    const { service, baseUrl } = this.#options;
    if (status === 204) return null;
    const value = parse(text);
    if (status >= 200 && status < 300) {
      if (value !== undefined) return value;
      const message = `${service} answers with something that is not JSON; is ${baseUrl} the address of its API?`;
      throw new RequestError(message, { status, code: 'not_json' });
    }
    const { code, message, param } = readError(value);
    const what = message ?? (status >= 300 && status < 400 ? `a redirect; is ${baseUrl} its address?` : 'no reason');
    throw new RequestError(`${service} answers ${status}: ${what}`, { status, code: code ?? `http_${status}`, param });
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`an answer longer than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Seconds or a date. */
function readRetryAfter(text: string | null): number | null {
  if (text === null) return null;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - systemClock.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

type ErrorFacts = { code: string | null; message: string | null; param: string | null };

/** Postrider's `{error: {code, message, param}}` or Svix's `{code, detail}`. */
function readError(value: unknown): ErrorFacts {
  const outer = asObject(value);
  const error = 'error' in outer ? asObject(outer['error']) : outer;
  const [code, param] = [error['code'], error['param']];
  const message = error['message'] ?? error['detail'];
  return {
    code: typeof code === 'string' ? code : null,
    message:
      message === undefined ? null : (typeof message === 'string' ? message : JSON.stringify(message)).slice(0, 500),
    param: typeof param === 'string' ? param : null,
  };
}

/** Its members; none where it is no object. */
export function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error
    ? cause.message || ((cause as NodeJS.ErrnoException).code ?? error.message)
    : error.message;
}
