// What a receiver sends, on its way from the socket to undici. undici's limits leave out most of what is neither header
// nor body (reason phrases, empty lines, chunk extensions, white space), so here every byte is counted.
import type { Socket } from 'node:net';
import { RESPONSE_BODY_READ_BYTES_MAX, RESPONSE_HEADER_BYTES_MAX } from '../model/attempt.ts';
import type { ReadingTime } from './reading-time.ts';
import { ResponseFault, ResponseHead } from './response-head.ts';

export type Intake = ReturnType<typeof createIntake>;

/** Of one response, for everything but its headers, its body and the shortest framing of its chunks. */
const RESPONSE_PADDING_BYTES_MAX = 32_768;
/** A body in chunks of one byte is six times as long on the wire: past this its rest is of no interest, either. */
const RESPONSE_BYTES_MAX = RESPONSE_HEADER_BYTES_MAX + RESPONSE_BODY_READ_BYTES_MAX + RESPONSE_PADDING_BYTES_MAX;
/** "1\r\n" before a chunk and "\r\n" after it. */
const CHUNK_FRAMING_BYTES_MIN = 5;
/** undici gets no more at once, so that no more than this passes a limit before anybody looks. */
const PIECE_BYTES_MAX = 2_048;
/** What is longer than this, as hardly any response is, waits for reading time. */
const READ_AT_ONCE_BYTES_MAX = 2_048;

/** Puts itself between the socket and whoever reads from it. */
export function createIntake(socket: Socket, readingTime: ReadingTime) {
  const read = socket.read.bind(socket) as (bytes?: number) => Buffer | null;
  let counts: ResponseCounts | null = null;
  let isWaiting = false;

  const goOn = (): void => {
    isWaiting = false;
    socket.emit('readable');
  };

  const mayRead = (): boolean => {
    if (socket.destroyed || isWaiting) return false;
    isWaiting = counts !== null && counts.rawBytes >= READ_AT_ONCE_BYTES_MAX && !readingTime.take(goOn);
    return !isWaiting;
  };

  socket.read = (): Buffer | null => {
    if (!mayRead()) return null;
    // The rest stays in the socket, whose end undici is to hear of only after it.
    const piece = socket.readableLength > PIECE_BYTES_MAX ? read(PIECE_BYTES_MAX) : read();
    if (piece === null) return null;
    try {
      // Nothing may come between two responses: an endless something would be read for as long as the socket is kept,
      // and what lies behind a response, perhaps still unread, would be taken for the beginning of the next.
      if (counts === null) socket.destroy();
      else counts.take(piece);
    } catch (error) {
      socket.destroy(error as ResponseFault);
    }
    return socket.destroyed ? null : piece;
  };

  return {
    /** To be called before each request. */
    expectResponse: (): void => void (counts = new ResponseCounts()),
    /** To be called when the exchange is over: whatever comes then costs the connection. */
    endResponse: (): void => void (counts = null),
    /** Hears of each piece of body that undici found. */
    countBody: (bytes: number): void => counts?.countBody(bytes),
  };
}

class ResponseCounts {
  rawBytes = 0;
  readonly #head = new ResponseHead();
  /** Of the body and of what its pieces take on the wire at least. */
  #bodyBytes = 0;

  countBody(bytes: number): void {
    this.#bodyBytes += bytes + CHUNK_FRAMING_BYTES_MIN;
  }

  /** Throws ResponseFault if the pieces taken before this one, all of them parsed by now, were too much. */
  take(piece: Buffer): void {
    const headerBytes = this.#head.isComplete ? this.#head.headerBytes : 0;
    if (this.rawBytes - headerBytes - this.#bodyBytes > RESPONSE_PADDING_BYTES_MAX) throw new ResponseFault('padded');
    if (this.rawBytes > RESPONSE_BYTES_MAX) throw new ResponseFault('body_limit');
    this.rawBytes += piece.length;
    if (!this.#head.isComplete) this.#head.read(piece);
  }
}
