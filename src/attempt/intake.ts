// What comes on a TCP connection, be it HTTP or TLS: in pieces and within reading time, and its end once all is heard.
import { Socket } from 'node:net';
import type { ReadingTime } from './reading-time.ts';

/** Who is told of it. */
export interface Hearer {
  /** A piece has come. It is the hearer's during the call only. */
  heard(piece: Buffer): void;
  /** The other side has closed its side. */
  ended(): void;
  /** The connection is gone; null: without an error. */
  lost(error: Error | null): void;
}

/** No more is read at once, so that no more than this passes a limit before anybody looks. */
export const PIECE_BYTES_MAX = 2_048;
/** What is longer than this, as hardly any response is, waits for reading time. */
const READ_AT_ONCE_BYTES_MAX = 2_048;

export class Intake {
  readonly socket: TcpSocket;
  readonly #readingTime: ReadingTime;
  #hearer: Hearer | null = null;
  /** What has come and is not heard yet. */
  #unread: Buffer | null = null;
  /** So many more do not wait for reading time. */
  #atOnceBytes = READ_AT_ONCE_BYTES_MAX;
  #isEnded = false;
  #isGone = false;
  #error: Error | null = null;

  constructor(socket: TcpSocket, readingTime: ReadingTime) {
    this.socket = socket;
    this.#readingTime = readingTime;
    socket.onBytes((bytes) => this.#take(bytes));
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

  /** Something has come that nobody has heard yet. */
  get hasUnread(): boolean {
    return this.#unread !== null;
  }

  /** To be called before anything comes. */
  hear(hearer: Hearer): void {
    this.#hearer = hearer;
  }

  /** What comes now belongs to another exchange, which hardly ever has more than `atOnceBytes`. */
  begin(atOnceBytes: number = READ_AT_ONCE_BYTES_MAX): void {
    this.#atOnceBytes = atOnceBytes;
  }

  #take(bytes: Buffer): void {
    this.#unread = bytes;
    this.#read();
    // They are ours during this call only.
    if (this.#unread !== null) this.#unread = Buffer.from(this.#unread);
  }

  readonly #read = (): void => {
    while (this.#unread !== null) {
      if (this.#atOnceBytes <= 0 && !this.#readingTime.take(this.#read)) return void this.socket.pause();
      this.#readPiece(this.#unread);
      // Closed by who heard it, and not by an error: of no more interest.
      if (this.socket.destroyed && this.socket.errored === null) this.#unread = null;
    }
    if (this.#isEnded || this.#isGone) this.#end();
    else if (this.socket.isPaused()) this.socket.resume();
  };

  #readPiece(bytes: Buffer): void {
    const piece = bytes.subarray(0, PIECE_BYTES_MAX);
    this.#atOnceBytes -= piece.length;
    this.#unread = piece.length < bytes.length ? bytes.subarray(piece.length) : null;
    this.#hearer?.heard(piece);
  }

  /** Only once all is heard: pausing holds up bytes, but neither an end nor an error of writing. */
  #end(): void {
    if (this.#isEnded) this.#hearer?.ended();
    if (this.#isGone) this.#hearer?.lost(this.#error);
  }
}

// A TCP socket whose bytes come by a call instead of as a stream: all of them are read into one buffer. A buffer for
// each read, and the stream around it, were a fortieth of an event's CPU time.

const READ_BUFFER = Buffer.allocUnsafeSlow(65_536);
const TCP_OPTIONS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

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
