// JSON by GET from Svix, which is only read.
import { readRetryAfter } from '../../../sdk/typescript/src/retries.ts';
import { reasonOf } from '../../../sdk/typescript/src/transport.ts';
import { systemClock } from '../../runtime/clock.ts';
import { Patience } from './patience.ts';
import { RequestError } from './request-error.ts';

const REQUEST_MS_MAX = 30_000;
const TOO_LATE = `no answer within ${REQUEST_MS_MAX / 1_000} s`;
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
const MESSAGE_LENGTH_MAX = 500;

type SvixHttpOptions = {
  /** Without a slash at its end. */
  baseUrl: string;
  token: string;
  onWait: (text: string) => void;
};

export class SvixHttp {
  readonly #options: SvixHttpOptions;
  readonly #patience: Patience;

  constructor(options: SvixHttpOptions) {
    this.#options = options;
    this.#patience = new Patience('Svix', options.onWait);
  }

  /** Rejects with RequestError. */
  get(path: string): Promise<unknown> {
    return this.#patience.ask(() => this.#getOnce(path));
  }

  async #getOnce(path: string): Promise<unknown> {
    const { baseUrl, token } = this.#options;
    const aborter = new AbortController();
    const timer = systemClock.setTimer(() => aborter.abort(new Error(TOO_LATE)), REQUEST_MS_MAX);
    try {
      const response = await fetch(`${baseUrl}${path}`, {
        headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
        // The token is for this address and no other.
        redirect: 'manual',
        signal: aborter.signal,
      });
      return this.#read(response, await readText(response));
    } catch (error) {
      if (error instanceof RequestError) throw error;
      throw new RequestError(`Svix at ${baseUrl}: ${reasonOf(error) ?? 'no answer'}`, {
        status: null,
        code: 'no_answer',
      });
    } finally {
      timer.cancel();
    }
  }

  #read({ status, ok, headers }: Response, text: string): unknown {
    const { baseUrl } = this.#options;
    const value = parse(text);
    if (ok) {
      if (value !== undefined) return value;
      const message = `Svix answers with something that is not JSON; is ${baseUrl} the address of its API?`;
      throw new RequestError(message, { status, code: 'not_json' });
    }
    const { code, detail } = asObject(value);
    const noDetail = status >= 300 && status < 400 ? `a redirect; is ${baseUrl} its address?` : 'no reason';
    const what = detail === undefined ? noDetail : typeof detail === 'string' ? detail : JSON.stringify(detail);
    const wait = readRetryAfter(headers.get('retry-after'));
    throw new RequestError(`Svix answers ${status}: ${what.slice(0, MESSAGE_LENGTH_MAX)}`, {
      status,
      code: typeof code === 'string' ? code : `http_${status}`,
      retryAfterMs: wait === undefined ? null : wait * 1_000,
    });
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Its members; none where it is no object. */
export function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}
