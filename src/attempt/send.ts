// One HTTP/1.1 POST on a connection, and what came back, within one deadline and bounded in every direction.
import type { Socket } from 'node:net';
import type { AttemptResult } from '../model/attempt.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { Abort, Connection, Incoming } from './connection.ts';
import { ResponseFault, type FaultEnd } from './response-fault.ts';
import { ResponseReader } from './response.ts';

/**
 * How an exchange ended. `stale`: the reused connection was gone before a byte of a response came. The others but
 * `complete` and `body_limit` may have come at any point; the reply holds what had arrived.
 */
export type ReplyEnd = 'complete' | FaultEnd | 'timed_out' | 'cancelled' | 'closed' | 'stale';

export type Reply = {
  readonly end: ReplyEnd;
  /** Set once a complete final header block came. */
  readonly code: number | null;
  readonly headers: AttemptResult['responseHeaders'];
  readonly body: Uint8Array | null;
  readonly isBodyTruncated: boolean;
  /** As in ResponseFault. */
  readonly detail: string | null;
};

/** `head`: from the request line to the empty line, in Latin-1. */
type Request = { head: string; payload: Uint8Array };

type SendOptions = {
  clock: Clock;
  connection: Connection;
  request: Request;
  timeoutMs: number;
  abort?: Abort | undefined;
  /** Asked right before the request is written. No: nothing is, and the end is `cancelled`. */
  mayWrite?: (() => boolean) | undefined;
};

const COPIED_BYTES_MAX = 16_384;

/** Never rejects. Afterwards the connection is either fit for another request or destroyed. */
export function send(options: SendOptions): Promise<Reply> {
  return new Promise((resolve) => new Exchange(options, resolve).start(options));
}

class Exchange implements Incoming, Reply {
  end: ReplyEnd = 'complete';
  detail: string | null = null;
  /** Null: it is over. */
  #resolve: ((reply: Reply) => void) | null;
  readonly #connection: Connection;
  readonly #abort: Abort | undefined;
  readonly #timer: Timer;
  readonly #response = new ResponseReader();

  constructor({ clock, connection, timeoutMs, abort }: SendOptions, resolve: (reply: Reply) => void) {
    this.#resolve = resolve;
    this.#connection = connection;
    this.#abort = abort;
    this.#timer = clock.setTimer(() => this.#cut('timed_out'), timeoutMs);
  }

  start({ request, abort, mayWrite }: SendOptions): void {
    const { socket } = this.#connection;
    abort?.addEventListener('abort', this.#cancel);
    if (abort?.aborted === true || mayWrite?.() === false) return this.#finish('cancelled');
    if (socket.destroyed) return this.lost(null);
    this.#connection.begin(this);
    writeTo(socket, request);
  }

  readonly #cancel = (): void => this.#cut('cancelled');

  // ── Reply ──

  get code(): number | null {
    return this.#response.head === null ? null : this.#response.head.code;
  }

  get headers(): AttemptResult['responseHeaders'] {
    return this.#response.head === null ? null : this.#response.head.headers;
  }

  get body(): Uint8Array | null {
    return this.#response.body;
  }

  get isBodyTruncated(): boolean {
    return this.code !== null && (this.end !== 'complete' || this.#response.isBodyCut);
  }

  // ── Incoming ──

  read(bytes: Buffer): number {
    try {
      const taken = this.#response.read(bytes);
      if (this.#response.isComplete) this.#complete();
      return taken;
    } catch (error) {
      if (!(error instanceof ResponseFault)) throw error;
      this.detail = error.detail;
      this.#cut(error.end);
      return bytes.length;
    }
  }

  ended(): void {
    if (this.#response.end()) this.#complete();
    else this.lost(null);
  }

  lost(error: (Error & { code?: string }) | null): void {
    this.detail = error instanceof ResponseFault ? error.detail : (error?.code ?? null);
    this.#finish(this.#endOf(error));
  }

  #endOf(error: (Error & { code?: string }) | null): ReplyEnd {
    if (error instanceof ResponseFault) return error.end;
    if (error?.code?.startsWith('ERR_SSL_') === true) return 'tls_failed';
    return this.#connection.isReused && this.#response.bytesRead === 0 ? 'stale' : 'closed';
  }

  #complete(): void {
    this.#connection.keptAliveMs = this.#response.keptAliveMs;
    this.#finish('complete');
  }

  /** Ends it from our side. The connection has a half-read response on it, so it goes. */
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
    this.#connection.finish();
    this.#abort?.removeEventListener('abort', this.#cancel);
    resolve(this);
  }
}

/** At once and, if it is short, by one write: two cost more than copying does. */
function writeTo(socket: Socket, { head, payload }: Request): void {
  if (payload.length > COPIED_BYTES_MAX) {
    socket.cork();
    socket.write(head, 'latin1');
    socket.write(payload);
    socket.uncork();
    return;
  }
  const bytes = Buffer.allocUnsafe(head.length + payload.length);
  bytes.write(head, 'latin1');
  bytes.set(payload, head.length);
  socket.write(bytes);
}
