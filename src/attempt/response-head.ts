// Where a response's head ends and what its status lines say, read along as the bytes come: undici tells neither the
// HTTP version nor how long a head is with its white space, and gives up on "100 Continue".
import { RESPONSE_HEADER_BYTES_MAX } from '../model/attempt.ts';

const CR = 0x0d;
const LF = 0x0a;
const DIGIT_ZERO = 0x30;
const DIGIT_ONE = 0x31;
const DIGIT_TWO = 0x32;
const DIGIT_NINE = 0x39;
/** "HTTP/1.1 200" */
const MAJOR_VERSION_AT = 5;
const STATUS_AT = 9;
const STATUS_END = STATUS_AT + 2;

/** The heads of one response: any number of interim ones (1xx) and the final one. */
export class ResponseHead {
  /** Of the header lines of the head that is being read, or of the final one. */
  headerBytes = 0;
  isComplete = false;
  #isStatusLine = true;
  /** Of the line that is being read, carriage returns left out. */
  #lineBytes = 0;
  #status = 0;

  /** Reads on; what lies behind the final head is left alone. May change bytes; throws ResponseFault. */
  read(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && !this.isComplete; at++) {
      if (this.#isStatusLine) this.#readStatusLine(bytes, at);
      else this.#readHeaderLine(bytes[at]!);
    }
  }

  #readStatusLine(bytes: Buffer, at: number): void {
    const byte = bytes[at]!;
    if (byte === CR) return;
    if (byte === LF) {
      // Empty lines before a response are skipped by undici's parser, too.
      if (this.#lineBytes > 0) this.#beginHeaders();
      return;
    }
    const place = this.#lineBytes++;
    if (place === MAJOR_VERSION_AT) refuseVersion(byte);
    if (place < STATUS_AT || place > STATUS_END) return;
    this.#status = this.#status * 10 + byte - DIGIT_ZERO;
    // undici gives up on a connection on which "100 Continue" comes though nobody asked for it. Some receivers do say
    // so, and a client has to put up with it (RFC 9110, 15.2): it passes as an interim response without a meaning.
    if (place === STATUS_END && this.#status === 100) bytes[at] = DIGIT_TWO;
  }

  #beginHeaders(): void {
    this.#isStatusLine = false;
    this.#lineBytes = 0;
    this.headerBytes = 0;
  }

  #readHeaderLine(byte: number): void {
    if (byte === LF && this.#lineBytes === 0) return this.#end();
    if (byte === LF) this.#lineBytes = 0;
    else if (byte !== CR) this.#lineBytes++;
    this.headerBytes++;
    if (this.headerBytes > RESPONSE_HEADER_BYTES_MAX) throw new ResponseFault('headers_too_long');
  }

  #end(): void {
    this.isComplete = this.#status >= 200;
    this.#isStatusLine = true;
    this.#lineBytes = 0;
    this.#status = 0;
  }
}

/** undici's parser would take 0.9 and 2.0, too; what is no digit, and minor versions, are left to that parser. */
function refuseVersion(digit: number): void {
  const isDigit = digit >= DIGIT_ZERO && digit <= DIGIT_NINE;
  if (isDigit && digit !== DIGIT_ONE) throw new ResponseFault('malformed');
}

// Why a response was cut while undici was reading it.

/** `body_limit` is no fault of the receiver: the rest of the body is of no interest. */
export type FaultEnd = 'headers_too_long' | 'malformed' | 'padded' | 'body_limit' | 'tls_failed';

export class ResponseFault extends Error {
  readonly end: FaultEnd;
  readonly code: string | undefined;
  constructor(end: FaultEnd, code?: string) {
    super(end);
    this.end = end;
    this.code = code;
  }
}
