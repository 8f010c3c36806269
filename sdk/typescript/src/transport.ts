// One call of the API: a URL, a try, its answer or its error, and another try where that is safe. Uses nothing but the
// platform's fetch, so it runs wherever that is.
import { chunksOf } from './chunks.ts';
import { boundTimeout, Deadline, inWords, type CallOptions } from './deadline.ts';
import { ApiError, ConnectionError, TimeoutError, UnexpectedAnswerError } from './errors.ts';
import { isRefused, refusalOf } from './refusals.ts';
import { delayMsOf, isWorthRetrying, readRetryAfter, RETRIES_MAX } from './retries.ts';

export type Query = Record<string, string | number | boolean | Date | readonly string[] | null | undefined>;

export type Call = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  query?: Query | undefined;
  /** JSON. */
  body?: string;
  /** Of a POST: sending it twice has the effect of once. Every other method is so anyway. */
  isRepeatable?: boolean;
  /** Where the client's own is too short for what is asked. */
  timeoutMs?: number;
};

/**
 * `due`: what every answer of Postrider to it has, and of which type. What answers `{"ok":true}` to everything, such as
 * a gateway in maintenance, has done nothing.
 */
export type AnsweredCall = Call & { due: Due };
type Due = Readonly<Record<string, 'string' | 'number' | 'object'>>;

export type TransportOptions = {
  apiKey: string;
  baseUrl: string;
  timeoutMs: number;
  maxRetries: number;
  fetch: typeof globalThis.fetch;
};

type Answer = { text: string; json: unknown };

/** Named: inferred, it would be a Uint8Array with a type argument, which TypeScript before 5.7 does not know. */
type ByteStream = ReadableStream<Uint8Array>;

/** That the deadline is shared among: one that hangs leaves time for two more. */
const TRIES_IN_DEADLINE = 3;
/** The answer to a batch of 1,000 events with 100,000 deliveries has less than half of it. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const STREAM_TYPE = 'text/event-stream';

export class Transport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    checkOptions(options);
    this.#options = { ...options, timeoutMs: boundTimeout(options.timeoutMs) };
  }

  /** The answer's JSON. */
  async call<T>(call: AnsweredCall, options: CallOptions = {}): Promise<T> {
    return (await this.#exchange(call, options)).json as T;
  }

  /** The answer's JSON as it came, with all digits of its numbers. */
  async callText(call: AnsweredCall, options: CallOptions = {}): Promise<string> {
    return (await this.#exchange(call, options)).text;
  }

  #exchange(call: AnsweredCall, options: CallOptions): Promise<Answer> {
    return this.#retrying(call, options, async (signal) => readAnswer(await this.#send(call, signal), call.due));
  }

  /** Resolves when it is gone. */
  delete(path: string, options: CallOptions = {}): Promise<void> {
    const call = { method: 'DELETE', path } as const;
    let wasUnanswered = false;
    return this.#retrying(call, options, async (signal) => {
      try {
        const response = await this.#send(call, signal);
        if (response.status === 204) return;
        await refuse(response);
      } catch (error) {
        // The first DELETE did it, then; its answer was lost on the way.
        if (wasUnanswered && error instanceof ApiError && error.status === 404) return;
        wasUnanswered ||= error instanceof ConnectionError || signal.aborted;
        throw error;
      }
    });
  }

  /** An answer that goes on for as long as somebody reads it; `signal` ends it, and no deadline does. */
  async open(call: Call, signal: AbortSignal, timeoutMs: number, lastId: string | null): Promise<ByteStream> {
    return this.#retrying(call, { signal, timeoutMs }, (limit) => this.#openOnce(call, signal, limit, lastId));
  }

  /** One try, for those who have been connected and count their tries themselves. */
  async reopen(call: Call, signal: AbortSignal, timeoutMs: number, lastId: string | null): Promise<ByteStream> {
    const deadline = new Deadline(timeoutMs, signal);
    return deadline.within(timeoutMs, (limit) => this.#openOnce(call, signal, limit, lastId));
  }

  async #openOnce(call: Call, signal: AbortSignal, limit: AbortSignal, lastId: string | null): Promise<ByteStream> {
    // What limits the opening must not cut what was opened: only an opening that fails passes the abort on.
    const opening = new AbortController();
    const stop = (): void => opening.abort();
    limit.addEventListener('abort', stop, { once: true });
    try {
      const response = await this.#send(call, AbortSignal.any([signal, opening.signal]), {
        accept: STREAM_TYPE,
        ...(lastId === null ? {} : { 'last-event-id': lastId }),
      });
      if (!response.ok) await refuse(response);
      if (response.body === null || !response.headers.get('content-type')?.startsWith(STREAM_TYPE)) {
        throw unexpected(response, 'is no stream');
      }
      return response.body;
    } finally {
      limit.removeEventListener('abort', stop);
    }
  }

  async #retrying<T>(call: Call, options: CallOptions, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timeoutMs = boundTimeout(options.timeoutMs ?? Math.max(call.timeoutMs ?? 0, this.#options.timeoutMs));
    const isRepeatable = call.method !== 'POST' || call.isRepeatable === true;
    const deadline = new Deadline(timeoutMs, options.signal);
    const { maxRetries } = this.#options;
    const attemptMs = isRepeatable ? timeoutMs / Math.min(TRIES_IN_DEADLINE, maxRetries + 1) : timeoutMs;
    for (let retries = 0; ; retries++) {
      deadline.throwIfAborted();
      try {
        return await deadline.within(attemptMs, attempt);
      } catch (error) {
        const delayMs = delayMsOf(retries, error);
        const isOver = retries >= maxRetries || delayMs >= deadline.remainingMs;
        if (isOver || !isWorthRetrying(error, isRepeatable))
          throw retries === 0 ? error : ofAllTries(error, retries + 1, deadline);
        await deadline.wait(delayMs);
      }
    }
  }

  async #send(call: Call, signal: AbortSignal, headers: Record<string, string> = {}): Promise<Response> {
    const { apiKey, baseUrl, fetch } = this.#options;
    const { method, path, query = {}, body } = call;
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const url = `${baseUrl.replace(/\/+$/, '')}${path}${searchOf(query)}`;
    try {
      return await fetch(url, {
        method,
        headers: { accept: 'application/json', authorization: `Bearer ${apiKey}`, ...type, ...headers },
        ...(body === undefined ? {} : { body }),
        // A redirect would turn a POST into a GET.
        redirect: 'manual',
        signal,
      });
    } catch (error) {
      throw new ConnectionError(`${method} ${path}: no answer from ${baseUrl}${inParentheses(error)}`, {
        cause: error,
      });
    }
  }
}

/** The last try's own limit is a share of the deadline: callers have waited for all of them. */
function ofAllTries(error: unknown, tries: number, deadline: Deadline): unknown {
  if (!(error instanceof TimeoutError)) return error;
  return new TimeoutError(`no answer within ${inWords(deadline.elapsedMs)}, in ${tries} tries`, { cause: error.cause });
}

/** `/v1/destinations/dst_…/test` of its parts. An id is the caller's word: it must not lead elsewhere. */
export function pathOf(...parts: string[]): string {
  for (const part of parts) {
    if (typeof part !== 'string' || /^\.{0,2}$|\p{Surrogate}/u.test(part))
      throw new TypeError(`${JSON.stringify(part)} is no id`);
  }
  return `/v1/${parts.map(encodeURIComponent).join('/')}`;
}

function searchOf(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    if (value instanceof Date && Number.isNaN(value.getTime())) throw new TypeError(`${name} is no valid Date`);
    search.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return search.size === 0 ? '' : `?${search.toString()}`;
}

async function readAnswer(response: Response, due: Due): Promise<Answer> {
  if (!response.ok) return refuse(response);
  const answer = await readJson(response);
  const members = (answer.json ?? {}) as Record<string, unknown>;
  const missing = Object.keys(due).find((name) => typeof members[name] !== due[name]);
  if (missing !== undefined) throw unexpected(response, `has no ${missing}`);
  return answer;
}

/** Throws what an answer that is not the one due says went wrong. */
async function refuse(response: Response): Promise<never> {
  const { json } = await readJson(response);
  const { error } = (json ?? {}) as { error?: unknown };
  if (response.ok || !isRefused(error)) throw unexpected(response, 'is none of Postrider’s');
  throw refusalOf(error, response.status, readRetryAfter(response.headers.get('retry-after')));
}

async function readJson(response: Response): Promise<Answer> {
  const text = await readText(response);
  try {
    return { text, json: JSON.parse(text) as unknown };
  } catch {
    throw unexpected(response, 'is no JSON');
  }
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return '';
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  try {
    for await (const chunk of chunksOf(response.body)) {
      bytes += chunk.length;
      if (bytes > ANSWER_BYTES_MAX) throw unexpected(response, `is longer than ${ANSWER_BYTES_MAX} bytes`);
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    if (error instanceof UnexpectedAnswerError) throw error;
    throw new ConnectionError(`the answer was cut off${inParentheses(error)}`, { cause: error });
  }
}

function unexpected(response: Response, what: string): UnexpectedAnswerError {
  const { status, headers } = response;
  return new UnexpectedAnswerError(`the answer (HTTP ${status}) ${what}; ${hintOf(response)}`, {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: readRetryAfter(headers.get('retry-after')),
  });
}

function hintOf({ status, headers }: Response): string {
  const location = headers.get('location');
  if (location !== null) return `it points to ${location}: is that where it is?`;
  // Postrider says so in JSON.
  if (status === 413) return 'the request is larger than a proxy in front of Postrider allows; raise its limit there';
  // What a proxy says of a service that is down or slow: the URL is right.
  if (status >= 500) return 'a proxy may say so: is Postrider running behind it?';
  return 'is the base URL that of Postrider?';
}

/** What the platform says of a connection, which Node keeps in the error's cause; of TLS, in its `reason`. */
export function reasonOf(error: unknown): string | undefined {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const { reason, message, code } = cause as { reason?: unknown; message?: string; code?: string };
  return [reason, message, code].find((text): text is string => typeof text === 'string' && text !== '');
}

function inParentheses(error: unknown): string {
  const reason = reasonOf(error);
  return reason === undefined ? '' : ` (${reason})`;
}

function checkOptions({ apiKey, baseUrl, maxRetries }: TransportOptions): void {
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError('apiKey is the key that `postrider keys create` printed, without spaces');
  }
  if (typeof baseUrl !== 'string' || !/^https?:$/.test(protocolOf(baseUrl))) {
    throw new TypeError('baseUrl is where Postrider is, such as https://postrider.example.com');
  }
  const { username, password } = new URL(baseUrl);
  // The platform's fetch takes none, and what it says instead would carry the password into a log.
  if (username !== '' || password !== '') throw new TypeError('baseUrl has no user or password: the API key is enough');
  if (!Number.isInteger(maxRetries) || maxRetries < 0 || maxRetries > RETRIES_MAX) {
    throw new TypeError(`maxRetries is 0 to ${RETRIES_MAX}`);
  }
}

function protocolOf(url: string): string {
  try {
    return new URL(url).protocol;
  } catch {
    return '';
  }
}
