// undici gives up on a connection when the receiver says "100 Continue" though nobody asked for it. Some do say so,
// and a client has to put up with it (RFC 9110, 15.2), so it is taken out of the bytes before undici reads them.
import type { Socket } from 'node:net';

export interface ContinueSkipper {
  /** To be called before each request. */
  expectResponse(): void;
  /** Whether the response expected last began with a 100: then something of it has come. */
  readonly hasSkipped: boolean;
}

/** "HTTP/1.1 100 Continue", the end of that line, perhaps headers, an empty line. One arrives in one piece. */
const CONTINUE = /^HTTP\/1\.[01] 100(?: [^\r\n]*)?\r\n(?:[^\r\n]+\r\n){0,16}\r\n/;
const STATUS_AT = 'HTTP/1.1 '.length;
const DIGIT_ONE = 0x31;
const CONTINUE_BYTES_MAX = 1_024;
/** A flood is left to undici, which then gives up. */
const SKIPPED_MAX = 16;

/** Puts itself between the socket and whoever reads from it. */
export function skipContinue(socket: Socket): ContinueSkipper {
  const read = socket.read.bind(socket) as () => Buffer | null;
  let isBeginning = false;
  let skipped = 0;

  /** The bytes without a 100 at their beginning; empty if there is nothing else yet. */
  const skip = (bytes: Buffer): Buffer => {
    isBeginning = false;
    // Nearly always it is no 1xx, and one comparison tells.
    while (bytes[STATUS_AT] === DIGIT_ONE && skipped < SKIPPED_MAX) {
      const found = CONTINUE.exec(bytes.toString('latin1', 0, CONTINUE_BYTES_MAX));
      if (found === null) break;
      skipped++;
      bytes = bytes.subarray(found[0].length);
    }
    isBeginning = bytes.length === 0;
    return bytes;
  };

  socket.read = (): Buffer | null => {
    for (;;) {
      const chunk = read();
      if (!isBeginning || chunk === null) return chunk;
      const rest = skip(chunk);
      if (rest.length > 0) return rest;
    }
  };

  return {
    expectResponse() {
      isBeginning = true;
      skipped = 0;
    },
    get hasSkipped() {
      return skipped > 0;
    },
  };
}
