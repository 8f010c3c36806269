// For receivers: is this request from Postrider? By Standard Webhooks 1.0.0: the signature is over the raw body, so a
// body that a framework has parsed and written anew does not do.
import { Webhook } from 'standardwebhooks';
import { chunksOf } from './chunks.ts';
import { PostriderError } from './errors.ts';
import type { Schema } from './shapes.ts';

/** What a destination gets. `id` is the same each time an event is sent: it is what to tell repeats by. */
export type WebhookEvent<Data = Record<string, unknown>> = Omit<Schema<'WebhookPayload'>, 'data'> & { data: Data };

export type VerifyOptions = {
  /** The raw body, where the request no longer has it. */
  body?: string | Uint8Array;
  /** How far the timestamp may be from now (300). */
  toleranceSeconds?: number;
  /** A longer body is refused while it is being read (1 MiB). */
  maxBytes?: number;
};

/** A Request of the Fetch standard: Hono's `c.req.raw`, a worker's, Deno's, Bun's. */
type FetchRequest = {
  headers: { get(name: string): string | null };
  body: ReadableStream<Uint8Array> | null;
  bodyUsed: boolean;
};

/**
 * Node's IncomingMessage, and what Express, Fastify and serverless platforms make of it, names of headers in any case;
 * `body` or `rawBody` may have the raw body.
 */
type NodeRequest = {
  headers: Record<string, string | string[] | undefined>;
  body?: unknown;
  rawBody?: unknown;
  readableEnded?: boolean;
  [Symbol.asyncIterator]?: () => AsyncIterator<unknown>;
};

export type WebhookRequest = FetchRequest | NodeRequest;

/** Answer 401 to it: what came is forged, altered, too old, or for another secret. */
export class WebhookVerificationError extends PostriderError {
  override name = 'WebhookVerificationError';
}

const TOLERANCE_SECONDS = 300;
const BYTES_MAX = 1024 * 1024;
/** No destination has a shorter one. */
const SECRET_BYTES_MIN = 24;

export const webhooks = {
  /**
   * Resolves to what was sent if one of its signatures is by one of the secrets (`whsec_…`); otherwise rejects with
   * WebhookVerificationError. Rejects with TypeError for a secret that is none, and where the raw body is gone.
   */
  async verify<Data = Record<string, unknown>>(
    request: WebhookRequest,
    secret: string | readonly string[],
    options: VerifyOptions = {},
  ): Promise<WebhookEvent<Data>> {
    checkOptions(options);
    const signers = signersOf(secret);
    const id = headerOf(request, 'webhook-id');
    const signatures = headerOf(request, 'webhook-signature');
    const sentAt = readTimestamp(headerOf(request, 'webhook-timestamp'), options.toleranceSeconds ?? TOLERANCE_SECONDS);
    const body = decode(await rawBodyOf(request, options));
    const expected = signers.map((signer) => signer.sign(id, sentAt, body));
    const isGenuine = signatures.split(' ').some((given) => expected.some((one) => isEqual(given, one)));
    if (!isGenuine) {
      throw new WebhookVerificationError('no signature fits: another secret, or the body is not the raw one');
    }
    return parse(body) as WebhookEvent<Data>;
  },
};

/** One that is none is the receiver's mistake, such as a variable that is not set. */
function signersOf(secret: string | readonly string[]): Webhook[] {
  const message = 'the secret is missing or none: it is what the destination was created with, whsec_…';
  const secrets = [secret].flat();
  if (secrets.length === 0) throw new TypeError(message);
  try {
    return secrets.map(signerOf);
  } catch (cause) {
    throw new TypeError(message, { cause });
  }
}

/** A variable that is not set may become base64: `null` is a key of three bytes, with which anybody may sign. */
function signerOf(secret: string): Webhook {
  const signer = new Webhook(secret);
  const { length } = atob(secret.replace(/^whsec_/, ''));
  if (length < SECRET_BYTES_MIN) throw new Error(`it has ${length} bytes, fewer than ${SECRET_BYTES_MIN}`);
  return signer;
}

/** Not a number, such as that of an unset variable, is above nothing: it would turn the limit off without a word. */
function checkOptions({ toleranceSeconds, maxBytes }: VerifyOptions): void {
  if (!((toleranceSeconds ?? TOLERANCE_SECONDS) >= 0))
    throw new TypeError('toleranceSeconds is a number of seconds, 0 or more');
  if (!((maxBytes ?? BYTES_MAX) > 0)) throw new TypeError('maxBytes is a number of bytes above 0');
}

function headerOf({ headers }: WebhookRequest, name: string): string {
  const value =
    typeof headers.get === 'function'
      ? headers.get(name)
      : Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  if (typeof value !== 'string' || value === '') throw new WebhookVerificationError(`there is no header ${name}`);
  return value;
}

function readTimestamp(value: string, toleranceSeconds: number): Date {
  const seconds = /^\d{1,12}$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isNaN(seconds)) throw new WebhookVerificationError('webhook-timestamp is no number of seconds');
  const ageSeconds = Date.now() / 1000 - seconds;
  if (Math.abs(ageSeconds) > toleranceSeconds) {
    const age = `${Math.round(Math.abs(ageSeconds))} s ${ageSeconds > 0 ? 'ago' : 'ahead of this clock'}`;
    throw new WebhookVerificationError(`it was signed ${age}, more than the tolerance of ${toleranceSeconds} s`);
  }
  return new Date(seconds * 1000);
}

async function rawBodyOf(request: WebhookRequest, options: VerifyOptions): Promise<string | Uint8Array> {
  const { body } = request;
  const { rawBody } = request as NodeRequest;
  for (const raw of [options.body, rawBody, body]) {
    if (typeof raw === 'string' || raw instanceof Uint8Array) return raw;
  }
  const { bodyUsed } = request as Partial<FetchRequest>;
  if (body === null && bodyUsed === false) return '';
  const maxBytes = options.maxBytes ?? BYTES_MAX;
  if (body instanceof ReadableStream && !bodyUsed) return readAll(chunksOf(body), maxBytes);
  const { readableEnded, [Symbol.asyncIterator]: iterate } = request as NodeRequest;
  if (iterate === undefined || readableEnded === true || body !== undefined) {
    throw new TypeError('the raw body is gone: read it before it is parsed, or give it as `body`');
  }
  return readAll({ [Symbol.asyncIterator]: () => iterate.call(request) }, maxBytes);
}

async function readAll(chunks: AsyncIterable<unknown>, maxBytes: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const piece = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : (chunk as Uint8Array);
    length += piece.length;
    if (length > maxBytes) throw new WebhookVerificationError(`the body is longer than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.length;
  }
  return whole;
}

function decode(body: string | Uint8Array): string {
  if (typeof body === 'string') return body;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw new WebhookVerificationError('the body is no UTF-8');
  }
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new WebhookVerificationError('the body is no JSON');
  }
}

/** In the same time wherever they differ. */
function isEqual(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}
