// Stands between a socket and Node's parser of HTTP. The parser alone would make requests of all that one read
// brought, hundreds at times, and each would be worked on at once. Here it gets one head at a time, and what a
// connection may not begin yet goes back to the socket: unread, so that in the end TCP itself holds the caller back.
import type { Socket } from 'node:net';
import { HeadEnds } from './head-ends.ts';

/** What a socket keeps of what came in, while nobody reads it: what one read brought, and as much again. */
export const UNREAD_BYTES = 2 * 65_536;

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
  readonly #parse: (piece: Buffer) => void;
  readonly #ends = new HeadEnds();
  #isHolding = false;

  /** For a connection that Node's server has just set up: takes the place of its listener. */
  constructor(reader: Reader) {
    this.#reader = reader;
    const [parse] = reader.socket.listeners('data') as [(piece: Buffer) => void];
    this.#parse = parse;
    reader.socket.off('data', parse);
    // It must not be the parser that takes the bytes from the operating system; a new listener ends that.
    reader.socket.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  /** A request has ended: another may begin. */
  next(): void {
    if (this.#isHolding) this.#reader.socket.resume();
  }

  /** The connection has ended. */
  stop(): void {
    this.#countHeld(false);
  }

  #take(chunk: Buffer): void {
    let from = 0;
    while (from < chunk.length && !this.#reader.isShut) {
      if (!this.#mayParse()) return this.#putBack(chunk.subarray(from));
      const end = this.#ends.next(chunk, from);
      this.#parse(from === 0 && end === chunk.length ? chunk : chunk.subarray(from, end));
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
