// Stands between a socket and Node's parser of HTTP where a connection sends more than a request at a time. The parser
// alone would make requests of all that each read brings, hundreds at times. Here it gets one head at a time, and what
// a connection may not begin yet goes back to the socket: unread, so that in the end TCP itself holds the caller back.
// So does what is more than a connection's share of a turn of the event loop.
import type { Socket } from 'node:net';
import type { Clock } from '../../runtime/clock.ts';

/** What a socket keeps of what came in, while nobody reads it: what one read brought, and as much again. */
const UNREAD_BYTES = 2 * 65_536;

/**
 * What the parser gets of a connection in a turn, beside the end of what was read before. In chunks of one byte 64 KiB
 * take it 30 ms, and Node hands out up to 32 times as much of one socket before anybody else has a turn.
 */
const TURN_BYTES = 16_384;

/** Set by Node while a connection's answers pile up. Its parser must get nothing then, and it resumes the socket. */
type PausedByNode = { _paused?: boolean };

type Reader = {
  readonly socket: Socket;
  /** What comes is thrown away. */
  readonly isShut: boolean;
  readonly mayRead: boolean;
  charge(bytes: number): void;
  refund(bytes: number): void;
};

export class Turns {
  readonly #reader: Reader;
  readonly #clock: Pick<Clock, 'afterTurn'>;
  #hasBegun = false;
  readonly #ends = new HeadEnds();
  #isCharged = false;
  /** In the next turn. */
  #goesOn = false;

  constructor(reader: Reader, clock: Pick<Clock, 'afterTurn'>) {
    this.#reader = reader;
    this.#clock = clock;
  }

  /**
   * From the next read on. Until then the parser takes the bytes from the operating system itself, which saves a tenth
   * of an ordinary request's CPU time; a listener of ours in place of Node's ends that.
   */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { socket } = this.#reader;
    // None where Node has let go of the connection, which is shut then.
    const [parse = (): void => {}] = socket.listeners('data') as ((piece: Buffer) => void)[];
    socket.off('data', parse);
    socket.on('data', (chunk: Buffer) => this.#take(chunk, parse));
  }

  /**
   * What was put back may go on, when everybody else has had a turn: a request has ended, and another may begin. A
   * connection may have brought thousands that are answered at once, and nothing lets go of the event loop between
   * their ends and the next beginnings.
   */
  next(): void {
    if (!this.#isCharged || this.#goesOn) return;
    this.#goesOn = true;
    this.#clock.afterTurn(() => {
      this.#goesOn = false;
      if (this.#isCharged) this.#reader.socket.resume();
    });
  }

  /** The connection has ended. */
  stop(): void {
    this.#setCharged(false);
  }

  #take(chunk: Buffer, parse: (piece: Buffer) => void): void {
    // Node resumes the socket whenever its request's reader wants more, also before the next turn.
    const share = chunk.subarray(0, this.#goesOn ? 0 : TURN_BYTES);
    let from = 0;
    while (from < chunk.length && !this.#reader.isShut && !this.#reader.socket.destroyed) {
      if (!this.#mayParse()) return this.#putBack(chunk.subarray(from));
      if (from === share.length) {
        this.#putBack(chunk.subarray(from));
        return this.next();
      }
      const end = this.#ends.next(share, from);
      parse(from === 0 && end === chunk.length ? chunk : chunk.subarray(from, end));
      from = end;
    }
    this.#setCharged(false);
  }

  #mayParse(): boolean {
    const { socket, mayRead } = this.#reader;
    return mayRead && (socket as PausedByNode)._paused !== true;
  }

  /** Paused before, for a flowing stream would hand it out again at once. */
  #putBack(rest: Buffer): void {
    this.#reader.socket.pause();
    this.#reader.socket.unshift(rest);
    this.#setCharged(true);
  }

  #setCharged(isCharged: boolean): void {
    if (isCharged === this.#isCharged) return;
    this.#isCharged = isCharged;
    if (isCharged) this.#reader.charge(UNREAD_BYTES);
    else this.#reader.refund(UNREAD_BYTES);
  }
}

// Cuts what a connection sends so that no piece completes the heads of two requests. Every head ends with an empty
// line; an empty line may be in a body as well, and then a piece is only shorter than it could be.

const EMPTY_LINE = Buffer.from('\r\n\r\n');
const EMPTY_LINE_CODE = 0x0d0a0d0a;

export class HeadEnds {
  /** The last bytes of the piece before, for an empty line that began there; 0 once it is complete. */
  #tail = 0;

  /** Where the piece that begins at `from` ends. Each piece is asked for once, in order. */
  next(chunk: Buffer, from: number): number {
    const first = this.#findEnd(chunk, from);
    if (first === -1) {
      for (let at = Math.max(from, chunk.length - 3); at < chunk.length; at++) this.#shiftIn(chunk[at]!);
      return chunk.length;
    }
    this.#tail = 0;
    // The usual request is all there is: its head and its body go together.
    if (chunk.indexOf(EMPTY_LINE, first) !== -1) return first;
    for (let at = Math.max(first, chunk.length - 3); at < chunk.length; at++) this.#shiftIn(chunk[at]!);
    return chunk.length;
  }

  #findEnd(chunk: Buffer, from: number): number {
    if (this.#tail !== 0) {
      let window = this.#tail;
      for (let at = from; at < Math.min(from + 3, chunk.length); at++) {
        window = (window << 8) | chunk[at]! | 0;
        if (window === EMPTY_LINE_CODE) return at + 1;
      }
    }
    const found = chunk.indexOf(EMPTY_LINE, from);
    return found === -1 ? -1 : found + EMPTY_LINE.length;
  }

  #shiftIn(byte: number): void {
    this.#tail = ((this.#tail << 8) | byte) & 0xffffff;
  }
}
