// A response's head: where it ends, and what its lines say (RFC 9112, sections 2 to 5).
import { RESPONSE_HEADER_BYTES_MAX } from '../model/attempt.ts';
import { malformed, ResponseFault } from './response-fault.ts';

export type ResponseHead = {
  code: number;
  /** In order, names in lower case, values without white space around them. Latin-1 keeps every byte. */
  headers: Headers;
  /** Of the final response. */
  bodyEnd: BodyEnd;
  /** For how many ms the receiver keeps the connection; 0: it does not, Infinity: it does not say for how long. */
  keptAliveMs: number;
};

type Headers = readonly (readonly [name: string, value: string])[];

/** Where the body ends: after so many bytes, with its last chunk, or with the connection. */
export type BodyEnd = number | 'chunked' | 'close';

const CR = 0x0d;
const LF = 0x0a;
const NOTHING = Buffer.alloc(0);
const BEGINNINGS = ['HTTP/1.1', 'HTTP/1.0'];
const BEGINNING_LENGTH = 8;
/** Scripts of a few lines end theirs with a line feed alone, which a client may take for an end (RFC 9112, 2.2). */
const LINE_END = /\r?\n/;
/** Nothing goes on with it (RFC 9112, 2.2). */
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\r\n]*)?(?=\r?\n[^\t ])/;
/** A header may go on in a line that begins with white space, with a space for the line's end (RFC 9112, 5.2). */
const FOLD = /\r?\n[\t ]+/g;
/** RFC 9110, 5.6.2 */
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110, 5.5 */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Of the Keep-Alive header, in seconds (RFC 2068, 19.7.1.1). */
const KEEP_ALIVE_TIMEOUT = /(?:^|[,;\s])timeout\s*=\s*"?(\d+)/i;

/** Finds the end of one head in pieces of any size. */
export class HeadReader {
  head: ResponseHead | null = null;
  /** From its status line to its empty line; without the empty lines that may come before. */
  #bytes: Buffer = NOTHING;
  #statusLineBytes = 0;
  #lineBytes = 0;

  /** Of the header lines so far. */
  get headerBytes(): number {
    return this.#statusLineBytes === 0 ? 0 : this.#bytes.length - this.#statusLineBytes;
  }

  /** Returns the index behind what it took, all of it unless `head` is there now. Throws ResponseFault. */
  read(bytes: Buffer, from: number): number {
    const start = this.#bytes.length === 0 ? behindEmptyLines(bytes, from) : from;
    const end = this.#findEnd(bytes, start);
    const part = bytes.subarray(start, end ?? bytes.length);
    // Most come in one piece, which need not be copied.
    const all = end !== null && this.#bytes.length === 0 ? part : Buffer.concat([this.#bytes, part]);
    this.#bytes = all;
    if (this.headerBytes > RESPONSE_HEADER_BYTES_MAX) throw new ResponseFault('headers_too_long');
    if (end === null) {
      if (!isBeginning(all)) throw malformed('it does not begin with HTTP/1.1');
      return bytes.length;
    }
    this.head = headOf(all.toString('latin1'));
    return end;
  }

  /** The index behind the empty line; null: it is not here yet. */
  #findEnd(bytes: Buffer, from: number): number | null {
    let lineBytes = this.#lineBytes;
    let last = from > 0 ? bytes[from - 1] : this.#bytes.at(-1);
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]!;
      lineBytes++;
      if (byte === LF) {
        if (lineBytes === 1 || (lineBytes === 2 && last === CR)) return at + 1;
        if (this.#statusLineBytes === 0) this.#statusLineBytes = this.#bytes.length + at + 1 - from;
        lineBytes = 0;
      }
      last = byte;
    }
    this.#lineBytes = lineBytes;
    return null;
  }
}

/** A client may skip them (RFC 9112, 2.2, asks servers to). */
function behindEmptyLines(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && (bytes[at] === CR || bytes[at] === LF)) at++;
  return at;
}

/** What is no HTTP at all is refused at once, not at the deadline. */
function isBeginning(bytes: Buffer): boolean {
  const beginning = bytes.toString('latin1', 0, BEGINNING_LENGTH);
  return BEGINNINGS.some((expected) => expected.startsWith(beginning));
}

let lastText = '';
let lastHead: ResponseHead | null = null;

/** A busy receiver says the same again and again, for as long as its date is the same: that need not be parsed. */
function headOf(text: string): ResponseHead {
  if (lastHead === null || text !== lastText) {
    lastHead = parseHead(text);
    lastText = text;
  }
  return lastHead;
}

/** `text`: the lines of a head, the empty one too, each with its end. */
function parseHead(text: string): ResponseHead {
  const match = STATUS_LINE.exec(text);
  if (match === null) throw malformed('its first line is no status line');
  const lines = text.replace(FOLD, ' ').split(LINE_END);
  const headers: [string, string][] = [];
  // The last two are the empty one, and what is behind its end: nothing.
  for (const line of lines.slice(1, -2)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon));
    const value = withoutSpaceAround(line, colon + 1);
    if (!FIELD_NAME.test(name)) throw malformed('a header line has no valid name');
    if (!FIELD_VALUE.test(value)) throw malformed('a header has a control character in it');
    headers.push([name.toLowerCase(), value]);
  }
  const [code, isVersion10] = [Number(match[2]), match[1] === '0'];
  const bodyEnd = code < 200 ? 0 : findBodyEnd(code, headers);
  const mayBeKept = bodyEnd !== 'close' && !(isBodyless(code) && announcesBody(headers));
  return { code, headers, bodyEnd, keptAliveMs: mayBeKept ? readKeptAliveMs(isVersion10, headers) : 0 };
}

/** Whatever its headers say of what another request would have got. */
function isBodyless(code: number): boolean {
  return code === 204 || code === 304;
}

/** Receivers may send that body after all: on a kept connection the next response would seem to begin with it. */
function announcesBody(headers: Headers): boolean {
  return headers.some(isCoding) || headers.filter(isLength).some(([, length]) => !/^0+$/.test(length));
}

/**
 * RFC 9112, section 6.3. A length that is there twice is one (RFC 9110, 8.6), and beside a transfer coding none. Throws
 * ResponseFault of two that differ.
 */
function findBodyEnd(code: number, headers: Headers): BodyEnd {
  const lengths = new Set(headers.filter(isLength).map(([, value]) => value));
  const codings = headers.filter(isCoding).flatMap(([, value]) => value.split(','));
  if (lengths.size > 1) throw malformed('it has two lengths');
  if (isBodyless(code)) return 0;
  if (codings.length > 0) {
    const last = codings.map((coding) => coding.trim().toLowerCase()).findLast((coding) => coding !== '');
    return last === 'chunked' ? 'chunked' : 'close';
  }
  const [length] = lengths;
  if (length === undefined) return 'close';
  if (!/^\d+$/.test(length)) throw malformed('its length is no number');
  return Number(length);
}

function isLength([name]: Headers[number]): boolean {
  return name === 'content-length';
}

function isCoding([name]: Headers[number]): boolean {
  return name === 'transfer-encoding';
}

/** HTTP's own white space (RFC 9110, 5.6.3): `trim` would also take 0xA0, which may be half of a letter. */
function withoutSpaceAround(line: string, from: number): string {
  let start = from;
  let end = line.length;
  while (start < end && isSpace(line.charCodeAt(start))) start++;
  while (end > start && isSpace(line.charCodeAt(end - 1))) end--;
  return line.slice(start, end);
}

function isSpace(char: number): boolean {
  return char === 0x20 || char === 0x09;
}

/** RFC 9112, 9.3 */
function readKeptAliveMs(isVersion10: boolean, headers: Headers): number {
  const options = headers
    .filter(([name]) => name === 'connection')
    .flatMap(([, value]) => value.toLowerCase().split(','));
  const has = (option: string): boolean => options.some((text) => text.trim() === option);
  // A transfer coding, where HTTP/1.0 has none or a length says otherwise: its end is a guess (RFC 9112, 6.1).
  const isGuess = headers.some(isCoding) && (isVersion10 || headers.some(isLength));
  if (has('close') || (isVersion10 && !has('keep-alive')) || isGuess) return 0;
  const [, seconds] = KEEP_ALIVE_TIMEOUT.exec(headers.find(([name]) => name === 'keep-alive')?.[1] ?? '') ?? [];
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1_000;
}
