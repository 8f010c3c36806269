// A connection to a receiver, for one exchange after the other. What comes goes to the exchange that is under way, in
// pieces and within its reading time; what comes while there is none costs the connection.
// And what such an exchange is stopped by (Aborter).
import { Socket } from 'node:net';
import type { ReadingTime } from './reading-time.ts';

/** What a connection tells the exchange on it. */
export interface Incoming {
  /** So many bytes have come. */
  readonly bytesRead: number;
  /** Bytes have come, to be read now. Returns how many of them are the exchange's; if not all, it is over. */
  read(bytes: Buffer): number;
  /** The other side has closed its side. */
  ended(): void;
  /** The connection is gone; null: without an error. */
  lost(error: Error | null): void;
}

/** Whom a connection may be used for. */
export type Place = { readonly environment: number; readonly origin: string };

/** No more is read at once, so that no more than this passes a limit before anybody looks. */
const PIECE_BYTES_MAX = 2_048;
/** What is longer than this, as hardly any response is, waits for reading time. */
const READ_AT_ONCE_BYTES_MAX = 2_048;

export class Connection {
  readonly socket: Socket;
  readonly place: Place;
  /** Has carried an exchange before this one: it may have been closed at the other end meanwhile. */
  isReused = false;
  /** For how many ms the receiver keeps it from the end of the last exchange; 0: it does not. */
  keptAliveMs = Number.POSITIVE_INFINITY;
  readonly #readingTime: ReadingTime;
  #exchange: Incoming | null = null;
  /** What has come and is not read yet. */
  #unread: Buffer | null = null;
  #isEnded = false;
  #isGone = false;
  #error: Error | null = null;

  constructor(socket: Socket, place: Place, readingTime: ReadingTime) {
    this.socket = socket;
    this.place = place;
    this.#readingTime = readingTime;
    if (socket instanceof TcpSocket) socket.onBytes((bytes) => this.#take(bytes));
    else socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('error', (error) => (this.#error = error));
    socket.on('end', () => {
      this.#isEnded = true;
      if (this.#unread === null) this.#end();
    });
    socket.on('close', () => {
      this.#isGone = true;
      if (this.#unread === null) this.#end();
    });
  }

  /** From now on this exchange hears what comes. */
  begin(exchange: Incoming): void {
    this.#exchange = exchange;
  }

  /** The exchange is over. */
  finish(): void {
    this.#exchange = null;
  }

  #take(bytes: Buffer): void {
    this.#unread = bytes;
    this.#read();
    // They are ours during this call only.
    if (this.#unread !== null) this.#unread = Buffer.from(this.#unread);
  }

  readonly #read = (): void => {
    while (this.#unread !== null) {
      const exchange = this.#exchange;
      // An endless something would be read for as long as the connection is kept, and what lies behind a response be
      // taken for the beginning of the next.
      if (exchange === null) return void this.socket.destroy();
      const isLong = exchange.bytesRead >= READ_AT_ONCE_BYTES_MAX;
      if (isLong && !this.#readingTime.take(this.#read)) return void this.socket.pause();
      this.#readPiece(exchange, this.#unread);
    }
    if (this.#isEnded || this.#isGone) this.#end();
    else if (this.socket.isPaused()) this.socket.resume();
  };

  #readPiece(exchange: Incoming, bytes: Buffer): void {
    const taken = exchange.read(bytes.length > PIECE_BYTES_MAX ? bytes.subarray(0, PIECE_BYTES_MAX) : bytes);
    this.#unread = taken < bytes.length ? bytes.subarray(taken) : null;
  }

  /** Only once all is read: pausing holds up bytes, but neither the end of TLS nor an error of writing. */
  #end(): void {
    if (this.#isEnded) this.#exchange?.ended();
    if (this.#isGone) this.#exchange?.lost(this.#error);
    this.socket.destroy();
  }
}

// A TCP socket whose bytes come by a call instead of as a stream: all of them are read into one buffer. A buffer for
// each read, and the stream around it, were a fortieth of an event's CPU time.

const READ_BUFFER = Buffer.allocUnsafeSlow(65_536);
export const TCP_OPTIONS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

export class TcpSocket extends Socket {
  readonly #hears: { bytes: (bytes: Buffer) => void };

  constructor() {
    const hears = { bytes: (_: Buffer): void => {} };
    super({
      ...TCP_OPTIONS,
      onread: {
        buffer: READ_BUFFER,
        callback: (length) => {
          hears.bytes(READ_BUFFER.subarray(0, length));
          return true;
        },
      },
    });
    this.#hears = hears;
    // Nobody listens yet: whoever speaks first, before a request, does not speak HTTP.
    this.onBytes(() => this.destroy());
  }

  /** From now on this hears what comes. The bytes may be read during the call only. */
  onBytes(hear: (bytes: Buffer) => void): void {
    this.#hears.bytes = hear;
  }
}

// How an attempt on the wire is stopped from outside.

/** What an attempt sees of it; an AbortSignal has the same. */
export type Abort = Omit<Aborter, 'abort'>;

/** An AbortController and its signal in one, at a tenth of the cost: every attempt needs one, hardly any uses it. */
export class Aborter {
  aborted = false;
  #listeners: (() => void)[] = [];

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const index = this.#listeners.indexOf(listener);
    if (index >= 0) this.#listeners.splice(index, 1);
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
