// A response's body: where it ends, by what its head says (RFC 9112, section 6.3).
import type { KeptBody } from './kept-body.ts';
import { malformed } from './response-fault.ts';
import type { ResponseHead } from './response-head.ts';

const CR = 0x0d;
const LF = 0x0a;
const TAB = 0x09;
const SPACE = 0x20;
const SEMICOLON = 0x3b;
const EMPTY_LINE_BYTES = 2;
/** "1\r\n" before a chunk and "\r\n" after it. */
const FRAMING_BYTES_MIN = 5;

export interface ResponseBody {
  readonly isComplete: boolean;
  /** It ends with the connection. */
  readonly isUntilClose: boolean;
  /** Of what was read: the body's bytes, and what framed them at least. */
  readonly wireBytes: number;
  /** Returns the index behind what it took, all there was unless it is complete now. Throws ResponseFault. */
  read(bytes: Buffer, from: number): number;
}

/** Throws ResponseFault where two readers could differ about the end. */
export function createBody({ code, headers }: ResponseHead, kept: KeptBody): ResponseBody {
  const lengths = headers.filter(([name]) => name === 'content-length');
  const codings = headers.filter(([name]) => name === 'transfer-encoding').flatMap(([, value]) => value.split(','));
  if (lengths.length > 1) throw malformed('it has two lengths');
  if (lengths.length > 0 && codings.length > 0) throw malformed('it has a length and a transfer coding');
  // Whatever their headers say of what another request would have got.
  if (code === 204 || code === 304) return new SizedBody(0, kept);
  if (codings.length > 0) {
    const last = codings.map((coding) => coding.trim().toLowerCase()).findLast((coding) => coding !== '');
    return last === 'chunked' ? new ChunkedBody(kept) : new BodyUntilClose(kept);
  }
  if (lengths.length === 0) return new BodyUntilClose(kept);
  const [, length] = lengths[0]!;
  if (!/^\d+$/.test(length)) throw malformed('its length is no number');
  return new SizedBody(Number(length), kept);
}

class SizedBody implements ResponseBody {
  readonly isUntilClose = false;
  readonly #kept: KeptBody;
  readonly #bytes: number;

  constructor(bytes: number, kept: KeptBody) {
    this.#bytes = bytes;
    this.#kept = kept;
  }

  get isComplete(): boolean {
    return this.#kept.offered === this.#bytes;
  }

  get wireBytes(): number {
    return this.#kept.offered;
  }

  read(bytes: Buffer, from: number): number {
    const end = Math.min(bytes.length, from + this.#bytes - this.#kept.offered);
    this.#kept.add(bytes, from, end);
    return end;
  }
}

class BodyUntilClose implements ResponseBody {
  readonly isComplete = false;
  readonly isUntilClose = true;
  readonly #kept: KeptBody;

  constructor(kept: KeptBody) {
    this.#kept = kept;
  }

  get wireBytes(): number {
    return this.#kept.offered;
  }

  read(bytes: Buffer, from: number): number {
    this.#kept.add(bytes, from, bytes.length);
    return bytes.length;
  }
}

/** What comes next. An extension says nothing to us, nor does a trailer. */
type Part = 'size' | 'extension' | 'size_end' | 'data' | 'data_cr' | 'data_end' | 'trailer';

/** In chunks (section 7.1), byte by byte where it is not data: nothing of its framing is held. */
class ChunkedBody implements ResponseBody {
  isComplete = false;
  readonly isUntilClose = false;
  wireBytes = 0;
  readonly #kept: KeptBody;
  #part: Part = 'size';
  #hasSize = false;
  /** Of the chunk's data. */
  #left = 0;
  /** Of the trailer's line. */
  #lineBytes = 0;
  #last = 0;

  constructor(kept: KeptBody) {
    this.#kept = kept;
  }

  read(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length && !this.isComplete) {
      if (this.#part === 'data') at = this.#readData(bytes, at);
      else this.#readFraming(bytes[at++]!);
    }
    return at;
  }

  #readData(bytes: Buffer, from: number): number {
    const end = Math.min(bytes.length, from + this.#left);
    this.#kept.add(bytes, from, end);
    this.#left -= end - from;
    this.wireBytes += end - from;
    if (this.#left === 0) this.#part = 'data_cr';
    return end;
  }

  #readFraming(byte: number): void {
    switch (this.#part) {
      case 'size':
        return this.#readSize(byte);
      case 'extension':
        if (byte === CR) this.#part = 'size_end';
        return refuse(byte === LF);
      case 'size_end':
        this.#part = this.#left === 0 ? 'trailer' : 'data';
        return refuse(byte !== LF);
      case 'data_cr':
        this.#part = 'data_end';
        return refuse(byte !== CR);
      case 'data_end':
        this.#part = 'size';
        this.#hasSize = false;
        this.wireBytes += FRAMING_BYTES_MIN;
        return refuse(byte !== LF);
      default:
        return this.#readTrailer(byte);
    }
  }

  #readSize(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== null) {
      this.#hasSize = true;
      this.#left = this.#left * 16 + digit;
      return;
    }
    refuse(!this.#hasSize);
    // Some servers pad the size with spaces.
    if (byte === CR) this.#part = 'size_end';
    else if (byte === SEMICOLON || byte === SPACE || byte === TAB) this.#part = 'extension';
    else refuse(true);
  }

  #readTrailer(byte: number): void {
    this.#lineBytes++;
    if (byte === LF) {
      refuse(this.#last !== CR);
      this.isComplete = this.#lineBytes === EMPTY_LINE_BYTES;
      this.#lineBytes = 0;
    }
    this.#last = byte;
  }
}

function refuse(isWrong: boolean): void {
  if (isWrong) throw malformed('its chunks are not framed as they should be');
}

/** Null: it is none. */
function hexDigit(byte: number): number | null {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : null;
}
