// One HTTP/1.1 response, read as its bytes come and bounded in every direction: whatever it hides its bytes in, it is
// over soon.
import {
  RESPONSE_BODY_KEPT_BYTES_MAX,
  RESPONSE_BODY_READ_BYTES_MAX,
  RESPONSE_HEADER_BYTES_MAX,
  SUCCESS_BODY_KEPT_BYTES_MAX,
} from '../model/attempt.ts';
import { ResponseFault, malformed } from './response-fault.ts';
import { HeadReader, type BodyEnd, type ResponseHead } from './response-head.ts';

/** For everything but the headers, the body and the shortest framing of its chunks. */
const PADDING_BYTES_MAX = 32_768;
/** A body in chunks of one byte is six times as long on the wire: past this its rest is of no interest, either. */
const RESPONSE_BYTES_MAX = RESPONSE_HEADER_BYTES_MAX + RESPONSE_BODY_READ_BYTES_MAX + PADDING_BYTES_MAX;
/** A receiver has little to say before its response; a flood would keep us busy until the deadline. */
const INTERIM_RESPONSES_MAX = 16;
const SWITCHING_PROTOCOLS = 101;

export class ResponseReader {
  /** Of the final response; null until all of its head is here. */
  head: ResponseHead | null = null;
  /** For how many ms the connection can be used again once the response is complete; 0: not at all. */
  keptAliveMs = 0;
  bytesRead = 0;
  #headReader = new HeadReader();
  #body: ResponseBody | null = null;
  #kept: KeptBody | null = null;
  #interimCount = 0;

  get isComplete(): boolean {
    return this.#body !== null && this.#body.isComplete;
  }

  /** What is kept of the body; null until all of the head is here. */
  get body(): Uint8Array | null {
    return this.#kept === null ? null : this.#kept.toBytes();
  }

  /** There was more of the body than is kept. */
  get isBodyCut(): boolean {
    return this.#kept !== null && this.#kept.isCut;
  }

  /** Returns how many of the bytes belong to the response: all, unless it is complete. Throws ResponseFault. */
  read(bytes: Buffer): number {
    this.bytesRead += bytes.length;
    let at = 0;
    while (at < bytes.length && !this.isComplete) {
      at = this.#body === null ? this.#readHead(bytes, at) : this.#body.read(bytes, at);
    }
    if (!this.isComplete) this.#refuseFlood();
    return at;
  }

  /** The other side says no more. True: that was the end of the response. */
  end(): boolean {
    return this.#body !== null && this.#body.isUntilClose;
  }

  #readHead(bytes: Buffer, from: number): number {
    const end = this.#headReader.read(bytes, from);
    const { head } = this.#headReader;
    if (head === null) return end;
    if (head.code >= 200) this.#beginBody(head);
    else this.#passInterim(head);
    return end;
  }

  #beginBody(head: ResponseHead): void {
    const kept = new KeptBody(head.code < 300 ? SUCCESS_BODY_KEPT_BYTES_MAX : RESPONSE_BODY_KEPT_BYTES_MAX);
    const body = createBody(head.bodyEnd, kept);
    this.head = head;
    this.#kept = kept;
    this.#body = body;
    this.keptAliveMs = head.keptAliveMs;
  }

  /** Also "100 Continue", though nobody asked for it: a client has to put up with that (RFC 9110, 15.2). */
  #passInterim({ code }: ResponseHead): void {
    const isUnwanted = code === SWITCHING_PROTOCOLS || ++this.#interimCount > INTERIM_RESPONSES_MAX;
    if (isUnwanted) throw new ResponseFault('interim_unwanted');
    this.#headReader = new HeadReader();
  }

  #refuseFlood(): void {
    const { wireBytes } = this.#body ?? { wireBytes: 0 };
    const padding = this.bytesRead - this.#headReader.headerBytes - wireBytes;
    if (padding > PADDING_BYTES_MAX) throw new ResponseFault('padded');
    const isLong = this.#kept !== null && this.#kept.offered >= RESPONSE_BODY_READ_BYTES_MAX;
    if (isLong || this.bytesRead > RESPONSE_BYTES_MAX) throw new ResponseFault('body_limit');
  }
}

// A response's body, by where its head says that it ends.

const CR = 0x0d;
const LF = 0x0a;
const TAB = 0x09;
const SPACE = 0x20;
const SEMICOLON = 0x3b;
const EMPTY_LINE_BYTES = 2;
/** "1\r\n" before a chunk and "\r\n" after it. */
const FRAMING_BYTES_MIN = 5;

interface ResponseBody {
  readonly isComplete: boolean;
  /** It ends with the connection. */
  readonly isUntilClose: boolean;
  /** Of what was read: the body's bytes, and what framed them at least. */
  readonly wireBytes: number;
  /** Returns the index behind what it took, all there was unless it is complete now. Throws ResponseFault. */
  read(bytes: Buffer, from: number): number;
}

function createBody(end: BodyEnd, kept: KeptBody): ResponseBody {
  if (end === 'chunked') return new ChunkedBody(kept);
  return new SizedBody(end, kept);
}

class SizedBody implements ResponseBody {
  readonly isUntilClose: boolean;
  readonly #kept: KeptBody;
  readonly #bytes: number;

  constructor(end: number | 'close', kept: KeptBody) {
    this.isUntilClose = end === 'close';
    this.#bytes = end === 'close' ? Number.POSITIVE_INFINITY : end;
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

// The beginning of a response's body, as much of it as is kept, in memory of its own: chunks from the network are views
// of read buffers, which would be kept alive whole. One growing buffer: an array for each chunk of one byte takes a
// hundred.

const NOTHING = new Uint8Array(0);

class KeptBody {
  /** Bytes that there were, kept or not. */
  offered = 0;
  readonly #bytesMax: number;
  #buffer = NOTHING;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get isCut(): boolean {
    return this.offered > this.#bytes;
  }

  /** Keeps what fits. */
  add(chunk: Buffer, from: number, to: number): void {
    this.offered += to - from;
    const end = Math.min(to, from + this.#bytesMax - this.#bytes);
    if (end <= from) return;
    const needed = this.#bytes + end - from;
    if (needed > this.#buffer.length) this.#growTo(this.#bytes === 0 ? needed : Math.min(2 * needed, this.#bytesMax));
    // Not `chunk.copy`: called with a short array as its target, V8 first moves that out of its own heap.
    this.#buffer.set(chunk.subarray(from, end), this.#bytes);
    this.#bytes = needed;
  }

  #growTo(bytes: number): void {
    const larger = new Uint8Array(bytes);
    larger.set(this.#buffer);
    this.#buffer = larger;
  }

  /** Without spare room: posting an array to the store's thread copies all of its memory. */
  toBytes(): Uint8Array {
    return this.#bytes === this.#buffer.length ? this.#buffer : this.#buffer.slice(0, this.#bytes);
  }
}
