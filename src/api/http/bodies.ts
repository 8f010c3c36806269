// The bodies of requests, read by the same rules for every endpoint, and of answers, as far as they take memory. What
// is too long is refused while it is being read, and all of them together may hold only so much.
//
// Not Fastify's own reading (`parseAs: 'buffer'`): it keeps a Buffer for each chunk, hundreds of bytes for a chunk of
// one, tells nobody how much it holds until the body is whole, and cannot be made to give up a body that somebody else
// needs the room of.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { MIMEType } from 'node:util';
import type { FastifyReply } from 'fastify';
import { ApiError } from '../../model/error.ts';
import { bytesInMemoryOf, CHUNK_BYTES, cutIntoChunks } from '../output/pieces.ts';
import type { Connections } from './connections.ts';

type BodyResult = (error: ApiError | null, bytes: Buffer) => void;

type Exchange = { request: IncomingMessage; response: ServerResponse; bytesMax: number };

const EMPTY = Buffer.alloc(0);
const UTF_8 = /^utf-?8$/i;

/** Calls back once: with the whole body (empty when there is none), or with why it was refused. */
export function readBody(exchange: Exchange, connections: Connections, done: BodyResult): void {
  const { request, bytesMax } = exchange;
  const length = declaredLength(request);
  if (length === 0) return done(null, EMPTY);
  if (length !== null && length > bytesMax) return done(tooLarge(bytesMax), EMPTY);
  const isExpecting = request.headers.expect?.toLowerCase() === '100-continue';
  const mediaFault = length === null && !isExpecting ? null : findMediaFault(request);
  if (mediaFault !== null) return done(mediaFault, EMPTY);
  // Key and size are known by now: a client that waits for it sends no body in vain.
  if (isExpecting) exchange.response.writeContinue();
  receive(exchange, connections, done);
}

/** For a request whose body nobody asks for: kept, it would be kept in as many pieces as the caller likes. */
export function discardBody(request: IncomingMessage): void {
  if (declaredLength(request) !== 0) request.resume();
}

/** Null: to be seen. */
function declaredLength({ headers }: IncomingMessage): number | null {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;
}

function receive({ request, bytesMax }: Exchange, connections: Connections, done: BodyResult): void {
  const length = declaredLength(request);
  const connection = connections.of(request.socket);
  const received = new GrowingBuffer(length ?? bytesMax);
  const finish = (error: ApiError | null): void => {
    request.off('data', onData).off('end', onEnd).off('close', onClose);
    if (connection !== undefined) connection.refuseBody = null;
    connection?.refund(received.capacity);
    done(error, error === null ? received.take() : EMPTY);
  };
  const onData = (chunk: Buffer): void => {
    // Only now is it certain that a request of unknown length has a body that must be of some type.
    const fault = received.length === 0 && length === null ? findMediaFault(request) : null;
    if (fault !== null) return finish(fault);
    if (received.length + chunk.length > bytesMax) return finish(tooLarge(bytesMax));
    const before = received.capacity;
    received.append(chunk);
    const hasRoom = connection?.charge(received.capacity - before) ?? true;
    if (!hasRoom && connection?.refuseBody != null) finish(overBudget());
  };
  const onEnd = (): void => finish(null);
  const onClose = (): void => finish(new ApiError('invalid_request', 'the request ended before its body did'));
  if (connection !== undefined) connection.refuseBody = () => finish(overBudget());
  request.on('data', onData).once('end', onEnd).once('close', onClose).on('error', ignoreError);
}

/** A connection that breaks is seen by 'close'; without a listener for the error Node would not tell us more. */
function ignoreError(): void {}

function findMediaFault(request: IncomingMessage): ApiError | null {
  const { 'content-type': type, 'content-encoding': contentEncoding } = request.headers;
  if (contentEncoding !== undefined) {
    return unsupported('a Content-Encoding is not supported; send the body as it is');
  }
  if (type === undefined) return unsupported('the Content-Type header is missing; send application/json');
  return isJsonType(type) ? null : unsupported('the Content-Type must be application/json, in UTF-8');
}

function isJsonType(text: string): boolean {
  if (text === 'application/json') return true;
  const type = parseMediaType(text);
  if (type?.essence !== 'application/json') return false;
  // Of several of a parameter MIMEType has the first, and of an empty one nothing.
  const named = text.match(/charset/gi)?.length ?? 0;
  return named === 0 || (named === 1 && UTF_8.test(type.params.get('charset') ?? ''));
}

function parseMediaType(text: string): MIMEType | null {
  try {
    return new MIMEType(text);
  } catch {
    return null;
  }
}

function unsupported(message: string): ApiError {
  return new ApiError('unsupported_media_type', message);
}

function tooLarge(bytesMax: number): ApiError {
  return new ApiError('body_too_large', `the request body is longer than the ${bytesMax} bytes that are possible here`);
}

export function overBudget(): ApiError {
  return new ApiError('unavailable', 'there is no memory for more requests just now; try again', {
    retryAfterSeconds: 1,
  });
}

// Bytes that come in pieces, in one piece of memory: a Buffer of its own for each of a body's chunks costs hundreds of
// bytes, however small a caller makes them.

const CAPACITY_MIN = 4_096;

export class GrowingBuffer {
  /** Bytes so far. */
  length = 0;
  #bytes: Buffer = EMPTY;
  readonly #lengthMax: number;

  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax;
  }

  /** The memory it takes. */
  get capacity(): number {
    return this.#bytes.length;
  }

  append(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (this.length === 0) this.#bytes = chunk;
    else {
      if (length > this.capacity) this.#grow(length);
      chunk.copy(this.#bytes, this.length);
    }
    this.length = length;
  }

  /** All of it, without room that was kept for more: the memory may be kept for long. */
  take(): Buffer {
    if (this.length === this.capacity) return this.#bytes;
    const bytes = this.#bytes.subarray(0, this.length);
    return this.length * 2 > this.capacity ? bytes : Buffer.from(bytes);
  }

  #grow(length: number): void {
    const capacity = Math.max(length, CAPACITY_MIN, Math.min(length * 2, this.#lengthMax));
    const bytes = Buffer.allocUnsafeSlow(capacity);
    this.#bytes.copy(bytes, 0, 0, this.length);
    this.#bytes = bytes;
  }
}

// Counts what an answer takes until its caller has taken it. A long one goes out in chunks, each when the connection
// has taken the one before: written as a whole it would be copied as a whole, and who reads slowly would look like
// who does not read.

/** Up to here an answer is among what is counted for any request. */
const SHORT_LENGTH = 2_048;
/** What Node keeps of an answer that is a stream. */
const STREAM_BYTES = 2 * CHUNK_BYTES;

/** The `onSend` step: what to send instead. Throws ApiError where there is no room for a long answer to a mere read. */
export function holdAnswer(reply: FastifyReply, payload: unknown, connections: Connections): unknown {
  if (typeof payload === 'string' && payload.length <= SHORT_LENGTH) return payload;
  const { raw, request } = reply;
  const connection = connections.of(request.raw.socket);
  if (connection === undefined || request.method === 'HEAD' || payload == null) return payload;
  const charge = (bytes: number): void => {
    if (connection.chargeAnswer(raw, bytes) || request.method !== 'GET' || bytes <= CHUNK_BYTES) return;
    connection.chargeAnswer(raw, -bytes);
    if (payload instanceof Readable) payload.destroy();
    throw overBudget();
  };
  if (payload instanceof Readable) {
    charge(STREAM_BYTES + bytesInMemoryOf(payload));
    if (request.routeOptions.config.isEndless === true) connection.beginEndless();
    return payload;
  }
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload;
  const isLong = payload.length > CHUNK_BYTES;
  const answer = isLong && typeof payload === 'string' ? Buffer.from(payload) : payload;
  charge(answer.length);
  if (!isLong) return answer;
  reply.header('content-length', answer.length);
  return Readable.from(cutIntoChunks(answer as Buffer), { objectMode: false, highWaterMark: CHUNK_BYTES });
}
