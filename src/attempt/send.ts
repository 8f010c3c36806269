// One HTTP/1.1 POST on a connection, and what came back, within one deadline and bounded in every direction.
// An exchange is its own handler for undici: one object per request, no streams.
import type { Dispatcher } from 'undici';
import {
  RESPONSE_BODY_KEPT_BYTES_MAX,
  RESPONSE_BODY_READ_BYTES_MAX,
  SUCCESS_BODY_KEPT_BYTES_MAX,
} from '../model/attempt.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { Abort } from './abort.ts';
import { ConnectionGoneError } from './pools.ts';
import type { Connection } from './pools.ts';
import { ResponseFault } from './response-head.ts';
import type { FaultEnd } from './response-head.ts';

/**
 * How an exchange ended. `stale`: the reused connection was gone before a byte of a response came.
 * `refused`: the request could not be written, a fault of ours. The others but `complete` and `body_limit`
 * may have come at any point; the reply holds what had arrived.
 */
export type ReplyEnd =
  | 'complete'
  | FaultEnd
  | 'timed_out'
  | 'cancelled'
  | 'closed'
  | 'stale'
  | 'interim_unwanted'
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

type SendOptions = {
  clock: Clock;
  connection: Connection;
  path: string;
  headers: string[];
  payload: Uint8Array;
  timeoutMs: number;
  abort?: Abort | undefined;
  /** Asked right before the first byte is written. No: nothing is, and the end is `cancelled`. */
  mayWrite?: (() => boolean) | undefined;
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
  /** Null: it is over. */
  #resolve: ((reply: Reply) => void) | null;
  readonly #connection: Connection;
  readonly #abort: Abort | undefined;
  readonly #mayWrite: (() => boolean) | undefined;
  readonly #timer: Timer;
  #hasBegun = false;
  #interimCount = 0;
  readonly #kept = new KeptBody();

  constructor({ clock, connection, timeoutMs, abort, mayWrite }: SendOptions, resolve: (reply: Reply) => void) {
    this.#resolve = resolve;
    this.#connection = connection;
    this.#abort = abort;
    this.#mayWrite = mayWrite;
    this.#timer = clock.setTimer(() => this.#cut('timed_out'), timeoutMs);
  }

  start({ path, headers, payload, abort }: SendOptions): void {
    abort?.addEventListener('abort', this.#cancel);
    if (abort?.aborted === true) return this.#cancel();
    this.#connection.intake.expectResponse();
    this.#connection.client.dispatch({ path, method: 'POST', headers, body: payload }, this);
  }

  readonly #cancel = (): void => this.#cut('cancelled');

  get body(): Uint8Array | null {
    return this.code === null ? null : this.#kept.toBytes();
  }

  get isBodyTruncated(): boolean {
    return this.code !== null && (this.end !== 'complete' || this.#kept.offered > this.#kept.length);
  }

  /** Not when it is dispatched: on a connection that was idle undici writes a turn later, with all others of the turn. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#mayWrite?.() !== false) return;
    this.#finish('cancelled');
    controller.abort(new Error('called off before it was written'));
  }

  onResponseStarted(): void {
    this.#hasBegun = true;
  }

  onResponseStart(controller: Dispatcher.DispatchController, statusCode: number): void {
    if (this.#resolve === null) return;
    if (statusCode < 200) {
      if (statusCode === 101 || ++this.#interimCount > INTERIM_RESPONSES_MAX) this.#cut('interim_unwanted');
      return;
    }
    this.code = statusCode;
    this.rawHeaders = controller.rawHeaders as Buffer[];
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#resolve === null) return;
    this.#connection.intake.countBody(chunk.length);
    this.#kept.add(chunk, this.code! < 300 ? SUCCESS_BODY_KEPT_BYTES_MAX : RESPONSE_BODY_KEPT_BYTES_MAX);
    if (this.#kept.offered >= RESPONSE_BODY_READ_BYTES_MAX) this.#cut('body_limit');
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
    if (error instanceof ResponseFault) return error.end;
    const { socket, isReused } = this.#connection;
    const code = error.code ?? '';
    if (code === 'UND_ERR_INVALID_ARG') return 'refused';
    if (code.startsWith('ERR_SSL_')) return 'tls_failed';
    // A system error (reset, broken pipe, …), the other side's FIN, or a socket that closed before we wrote to it.
    const isClosed = error.errno !== undefined || socket.readableEnded || error instanceof ConnectionGoneError;
    if (isClosed) return isReused && !this.#hasBegun ? 'stale' : 'closed';
    // undici itself gave up on the socket: on 101 Switching Protocols.
    if (code === 'UND_ERR_SOCKET') return 'interim_unwanted';
    return 'malformed';
  }

  /** Ends it from our side. The socket has a half-read response on it, so it goes. */
  #cut(end: ReplyEnd): void {
    this.#finish(end);
    this.#connection.socket.destroy();
  }

  #finish(end: ReplyEnd): void {
    const resolve = this.#resolve;
    if (resolve === null) return;
    this.#resolve = null;
    this.end = end;
    this.#timer.cancel();
    this.#connection.intake.endResponse();
    this.#abort?.removeEventListener('abort', this.#cancel);
    resolve(this);
  }
}

// The beginning of a response's body, as much of it as is kept, in memory of its own: undici's chunks are views of read
// buffers, which would be kept alive whole. One growing buffer: an array for each chunk of one byte takes a hundred.

const NOTHING = new Uint8Array(0);

class KeptBody {
  /** Bytes that there were, kept or not. */
  offered = 0;
  #buffer = NOTHING;
  #bytes = 0;

  get length(): number {
    return this.#bytes;
  }

  /** Keeps what fits into `bytesMax` in all. */
  add(chunk: Uint8Array, bytesMax: number): void {
    this.offered += chunk.length;
    const kept = chunk.subarray(0, Math.max(0, bytesMax - this.#bytes));
    if (kept.length === 0) return;
    const needed = this.#bytes + kept.length;
    if (needed > this.#buffer.length) this.#growTo(this.#bytes === 0 ? needed : Math.min(2 * needed, bytesMax));
    this.#buffer.set(kept, this.#bytes);
    this.#bytes = needed;
  }

  #growTo(bytes: number): void {
    const larger = new Uint8Array(bytes);
    larger.set(this.#buffer);
    this.#buffer = larger;
  }

  /** Without spare room: posting an array to the store's thread copies all of its memory. */
  toBytes(): Uint8Array {
    return this.#bytes === this.#buffer.length ? this.#buffer : this.#buffer.slice(0, this.#bytes);
  }
}
