// One HTTP/1.1 POST on a connection, and what came back, within one deadline and bounded in every direction.
// An exchange is its own handler for undici: one object per request, no streams.
import type { Dispatcher } from 'undici';
import {
  RESPONSE_BODY_KEPT_BYTES_MAX,
  RESPONSE_BODY_READ_BYTES_MAX,
  RESPONSE_HEADER_BYTES_MAX,
  SUCCESS_BODY_KEPT_BYTES_MAX,
} from '../model/attempt.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { Abort } from './abort.ts';
import { ConnectionGoneError } from './pools.ts';
import type { Connection } from './pools.ts';

/**
 * How an exchange ended. `stale`: the reused connection was gone before a byte of a response came.
 * `refused`: the request could not be written, a fault of ours. The others but `complete` and `body_limit`
 * may have come at any point; the reply holds what had arrived.
 */
export type ReplyEnd =
  | 'complete'
  | 'body_limit'
  | 'timed_out'
  | 'cancelled'
  | 'closed'
  | 'stale'
  | 'tls_failed'
  | 'headers_too_long'
  | 'interim_unwanted'
  | 'malformed'
  | 'refused';

export type Reply = {
  readonly end: ReplyEnd;
  /** Set once a complete final header block came. */
  readonly code: number | null;
  /** Names and values in turn, as undici has them. */
  readonly rawHeaders: readonly Buffer[];
  readonly body: Uint8Array | null;
  readonly isBodyTruncated: boolean;
  readonly error: Error | null;
};

export type SendOptions = {
  clock: Clock;
  connection: Connection;
  path: string;
  headers: string[];
  payload: Uint8Array;
  timeoutMs: number;
  abort?: Abort | undefined;
};

/** A receiver has little to say before its response; a flood would keep the parser busy until the deadline. */
const INTERIM_RESPONSES_MAX = 16;

/** Never rejects. Afterwards the connection is either fit for another request or destroyed. */
export function send(options: SendOptions): Promise<Reply> {
  return new Promise((resolve) => new Exchange(options, resolve).start(options));
}

class Exchange implements Dispatcher.DispatchHandler, Reply {
  end: ReplyEnd = 'complete';
  code: number | null = null;
  rawHeaders: readonly Buffer[] = [];
  error: Error | null = null;
  readonly #resolve: (reply: Reply) => void;
  readonly #connection: Connection;
  readonly #abort: Abort | undefined;
  readonly #timer: Timer;
  #isOver = false;
  #hasBegun = false;
  #interimCount = 0;
  #bodyBytes = 0;
  #keptBytes = 0;
  #kept: Uint8Array[] = [];

  constructor({ clock, connection, timeoutMs, abort }: SendOptions, resolve: (reply: Reply) => void) {
    this.#resolve = resolve;
    this.#connection = connection;
    this.#abort = abort;
    this.#timer = clock.setTimer(() => this.#cut('timed_out'), timeoutMs);
  }

  start({ path, headers, payload, abort }: SendOptions): void {
    abort?.addEventListener('abort', this.#cancel);
    if (abort?.aborted === true) return this.#cancel();
    this.#connection.continues.expectResponse();
    this.#connection.client.dispatch({ path, method: 'POST', headers, body: payload }, this);
  }

  readonly #cancel = (): void => this.#cut('cancelled');

  get body(): Uint8Array | null {
    if (this.code === null) return null;
    return this.#kept.length === 1 ? this.#kept[0]! : join(this.#kept, this.#keptBytes);
  }

  get isBodyTruncated(): boolean {
    return this.code !== null && (this.end !== 'complete' || this.#bodyBytes > this.#keptBytes);
  }

  onRequestStart(): void {}

  onResponseStarted(): void {
    this.#hasBegun = true;
  }

  onResponseStart(controller: Dispatcher.DispatchController, statusCode: number): void {
    if (this.#isOver) return;
    if (statusCode < 200) {
      if (statusCode === 101 || ++this.#interimCount > INTERIM_RESPONSES_MAX) this.#cut('interim_unwanted');
      return;
    }
    const rawHeaders = controller.rawHeaders as Buffer[];
    // undici's own limit leaves out what lies between names and values.
    if (headerBytes(rawHeaders) > RESPONSE_HEADER_BYTES_MAX) return this.#cut('headers_too_long');
    this.code = statusCode;
    this.rawHeaders = rawHeaders;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    this.#bodyBytes += chunk.length;
    const isSuccess = this.code! < 300;
    const room = (isSuccess ? SUCCESS_BODY_KEPT_BYTES_MAX : RESPONSE_BODY_KEPT_BYTES_MAX) - this.#keptBytes;
    if (room > 0) {
      // A copy in memory of its own: the chunk is a view of a read buffer of 64 KiB, and a Buffer would be one of
      // Node's pool; either would be kept alive whole, and be copied whole when posted to the store's thread.
      const kept = new Uint8Array(chunk.subarray(0, room));
      this.#kept.push(kept);
      this.#keptBytes += kept.length;
    }
    if (this.#bodyBytes > RESPONSE_BODY_READ_BYTES_MAX) this.#cut('body_limit');
  }

  onResponseEnd(): void {
    this.#finish('complete');
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.error = error;
    this.#connection.socket.destroy();
    this.#finish(this.#endOf(error));
  }

  #endOf(error: Error & { code?: string; errno?: number }): ReplyEnd {
    const { socket, isReused, continues } = this.#connection;
    const code = error.code ?? '';
    if (code === 'UND_ERR_INVALID_ARG') return 'refused';
    if (code.startsWith('ERR_SSL_')) return 'tls_failed';
    // A system error (reset, broken pipe, …), the other side's FIN, or a socket that closed before we wrote to it.
    const isClosed = error.errno !== undefined || socket.readableEnded || error instanceof ConnectionGoneError;
    if (isClosed) return isReused && !this.#hasBegun && !continues.hasSkipped ? 'stale' : 'closed';
    if (code === 'UND_ERR_HEADERS_OVERFLOW') return 'headers_too_long';
    // undici itself gave up on the socket: on 101 Switching Protocols, or on a 100 that was not skipped.
    if (code === 'UND_ERR_SOCKET') return 'interim_unwanted';
    return 'malformed';
  }

  /** Ends it from our side. The socket has a half-read response on it, so it goes. */
  #cut(end: ReplyEnd): void {
    this.#finish(end);
    this.#connection.socket.destroy();
  }

  #finish(end: ReplyEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.end = end;
    this.#timer.cancel();
    this.#abort?.removeEventListener('abort', this.#cancel);
    this.#resolve(this);
  }
}

/** Of the header fields as they came: "name: value\r\n". */
function headerBytes(raw: readonly Buffer[]): number {
  let bytes = raw.length * 2;
  for (const part of raw) bytes += part.length;
  return bytes;
}

function join(parts: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
