// Stands between a socket and Node's parser of HTTP where a connection sends more than a request at a time. The parser
// alone would make requests of all that each read brings, hundreds at times. Here it gets one head at a time, and what
// a connection may not begin yet goes back to the socket: unread, so that in the end TCP itself holds the caller back.
import type { Socket } from 'node:net';
import { HeadEnds } from './head-ends.ts';

/** What a socket keeps of what came in, while nobody reads it: what one read brought, and as much again. */
const UNREAD_BYTES = 2 * 65_536;

/** Set by Node while a connection's answers pile up. Its parser must get nothing then, and it resumes the socket. */
type PausedByNode = { _paused?: boolean };

type Reader = {
  readonly socket: Socket;
  /** What comes is thrown away. */
  readonly isShut: boolean;
  readonly mayRead: boolean;
  hold(bytes: number): void;
  release(bytes: number): void;
};

export class Turns {
  readonly #reader: Reader;
  #hasBegun = false;
  readonly #ends = new HeadEnds();
  #isHolding = false;

  constructor(reader: Reader) {
    this.#reader = reader;
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

  /** A request has ended: another may begin. */
  next(): void {
    if (this.#isHolding) this.#reader.socket.resume();
  }

  /** The connection has ended. */
  stop(): void {
    this.#countHeld(false);
  }

  #take(chunk: Buffer, parse: (piece: Buffer) => void): void {
    let from = 0;
    while (from < chunk.length && !this.#reader.isShut && !this.#reader.socket.destroyed) {
      if (!this.#mayParse()) return this.#putBack(chunk.subarray(from));
      const end = this.#ends.next(chunk, from);
      parse(from === 0 && end === chunk.length ? chunk : chunk.subarray(from, end));
      from = end;
    }
    this.#countHeld(false);
  }

  #mayParse(): boolean {
    const { socket, mayRead } = this.#reader;
    return mayRead && (socket as PausedByNode)._paused !== true;
  }

  /** Paused before, for a flowing stream would hand it out again at once. */
  #putBack(rest: Buffer): void {
    this.#reader.socket.pause();
    this.#reader.socket.unshift(rest);
    this.#countHeld(true);
  }

  #countHeld(isHolding: boolean): void {
    if (isHolding === this.#isHolding) return;
    this.#isHolding = isHolding;
    if (isHolding) this.#reader.hold(UNREAD_BYTES);
    else this.#reader.release(UNREAD_BYTES);
  }
}
