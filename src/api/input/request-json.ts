// From a request's bytes to its value, by the rules that JSON.parse does not have: where an object's exact bytes
// matter they are kept (an event's body, a filter), duplicate names and lone surrogates are refused, nesting is
// bounded.
import { isUtf8 } from 'node:buffer';
import { ApiError } from '../../model/error.ts';
import { isHeldByDouble } from '../../json/wide-number.ts';
import { JsonReader, setMember } from '../../json/reader.ts';
import { CLOSE_ARRAY, CLOSE_OBJECT, JsonSyntaxError, OPEN_ARRAY, OPEN_OBJECT } from '../../json/scanner.ts';

/** Levels of objects and arrays within one another, the outermost included. */
const NESTING_MAX = 64;

const NAME_IN_MESSAGE_MAX = 128;
/** No request has so many fields. */
const MEMBERS_MAX = 64;
const LINE_END = 0x0a;
/** Of a JSON number: digits and no more. */
const WHOLE = /^-?\d+$/;

/** How the members of a request body are read; each part is a name on the top level. */
export type BodyShape = {
  /** If its value is an object, it is kept as it was sent, in a RawObject. */
  raw?: string;
  /** Whether any JSON is welcome in `raw`: it may hold lone surrogates. */
  isRawOpaque?: boolean;
  /** No other member is an object or array: of one that is refused, whatever is in it, nothing is made. */
  isFlat?: boolean;
  /** An array whose objects are requests of their own, each read by `shape` into a JsonItem; one more than `max`. */
  items?: { name: string; shape: BodyShape; max: number };
};

/** One object of a list of requests. A fault of it leaves the others alone. */
export class JsonItem {
  readonly value: unknown;
  readonly fault: ApiError | null;
  /** How long it is in the request. */
  readonly byteLength: number;

  constructor(parts: { value: unknown; fault: ApiError | null; byteLength: number }) {
    this.value = parts.value;
    this.fault = parts.fault;
    this.byteLength = parts.byteLength;
  }
}

/** What a kept object may hold of a request beside its own bytes: less than the objects made of any event take. */
const KEPT_BESIDE_BYTES = 512;

/** An object that was checked and not parsed. Valid only as long as the request's bytes are. */
export class RawObject {
  /** A view of the request's bytes, from `{` to `}`. */
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** For keeping: it does not hold on to much more than itself. Mostly no copy, which costs a microsecond. */
  keptBytes(): Uint8Array {
    const { bytes } = this;
    return bytes.buffer.byteLength - bytes.length <= KEPT_BESIDE_BYTES ? bytes : new Uint8Array(bytes);
  }

  text(): string {
    return this.bytes.toString();
  }
}

/** The object that a request body is; throws ApiError `invalid_request`. */
export function parseRequestJson(bytes: Buffer, shape: BodyShape): Record<string, unknown> {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw invalid('the request body begins with a byte order mark; send the JSON without it');
  }
  if (!isUtf8(bytes)) throw invalid('the request body is not valid UTF-8');
  const reader = new RequestReader(bytes);
  try {
    return reader.readRequest(shape);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw invalid(`the request body is not valid JSON: ${error.message} at ${describePosition(bytes, error.position)}`);
  }
}

class RequestReader extends JsonReader {
  /** What is wrong with the request (or item) being read although it is JSON; the first fault counts. */
  private fault: ApiError | null = null;
  /** The top-level member being read. */
  private member = '';

  readRequest(shape: BodyShape): Record<string, unknown> {
    const value = this.readTop(shape);
    if (this.scanner.peek() !== 0 || this.scanner.position < this.bytes.length) this.scanner.fail('nothing more');
    if (this.fault !== null) throw this.fault;
    return value as Record<string, unknown>;
  }

  /** The value of a request, or of an item; anything but an object is a fault. */
  private readTop(shape: BodyShape): unknown {
    const { scanner } = this;
    if (scanner.peek() !== OPEN_OBJECT) {
      scanner.skipValue(0);
      this.fault ??= invalid('a JSON object is expected here', '');
      return null;
    }
    const members: Record<string, unknown> = {};
    let count = 0;
    for (let more = scanner.begin(CLOSE_OBJECT); more; more = scanner.next(CLOSE_OBJECT)) {
      // Nothing more is made of what is refused already, not even a name: of millions, with an escape in each, that
      // would take a fifth of a second; of a list there twice, again and again, a fault of each item.
      if (this.fault === null) this.readMember(members, shape, ++count);
      else scanner.skipMember(1);
    }
    return members;
  }

  private readMember(members: Record<string, unknown>, shape: BodyShape, count: number): void {
    const name = this.readName();
    if (Object.hasOwn(members, name))
      this.fault ??= invalid(`"${clip(name)}" is there twice; send it once`, pointTo(name));
    else if (count > MEMBERS_MAX) this.fault ??= tooManyFields(name);
    if (this.fault === null) setMember(members, name, this.readTopMember(name, shape));
    else this.scanner.skipValue(1);
  }

  private readTopMember(name: string, shape: BodyShape): unknown {
    const first = this.scanner.peek();
    this.member = name;
    if (name === shape.raw && first === OPEN_OBJECT) return this.readRaw(shape);
    if (name === shape.items?.name && first === OPEN_ARRAY) return this.readItems(shape.items);
    return shape.isFlat === true ? this.readScalar(first) : this.readValue(1);
  }

  /** Of an object or array only that it is one. */
  private readScalar(first: number): unknown {
    if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return this.readValue(1);
    this.scanner.skipValue(1);
    return first === OPEN_ARRAY ? [] : {};
  }

  private readRaw(shape: BodyShape): RawObject {
    const { scanner } = this;
    const start = scanner.position;
    scanner.deepest = 0;
    scanner.hasLoneSurrogate = false;
    scanner.skipValue(1);
    if (scanner.deepest > NESTING_MAX) this.fault ??= tooDeep(this.member);
    if (shape.isRawOpaque !== true) this.noteSurrogate(this.member);
    return new RawObject(this.bytes.subarray(start, scanner.position));
  }

  /** Nothing is made of more than are refused: of a million, each with a fault of its own, it would fill the memory. */
  private readItems({ shape, max }: NonNullable<BodyShape['items']>): JsonItem[] {
    const { scanner } = this;
    const items: JsonItem[] = [];
    for (let more = scanner.begin(CLOSE_ARRAY); more; more = scanner.next(CLOSE_ARRAY)) {
      if (items.length <= max) items.push(this.readItem(shape));
      else scanner.skipValue(0);
    }
    return items;
  }

  private readItem(shape: BodyShape): JsonItem {
    this.scanner.peek();
    const start = this.scanner.position;
    const faultAround = this.fault;
    this.fault = null;
    const value = this.readTop(shape);
    const item = new JsonItem({ value, fault: this.fault, byteLength: this.scanner.position - start });
    this.fault = faultAround;
    return item;
  }

  override readValue(depth: number): unknown {
    const { scanner } = this;
    const first = scanner.peek();
    if (depth === NESTING_MAX && (first === OPEN_OBJECT || first === OPEN_ARRAY)) {
      this.fault ??= tooDeep(this.member);
      scanner.skipValue(depth);
      return null;
    }
    const value = super.readValue(depth);
    if (typeof value === 'string') this.noteSurrogate(this.member);
    return value;
  }

  /**
   * A whole number that a double cannot hold is an id, and rounded would be read back as another customer's. A fraction
   * is a measure, and has been rounded by whoever wrote it.
   */
  protected override readNumber(text: string): number {
    const value = Number(text);
    if (!Number.isFinite(value) || (WHOLE.test(text) && !isHeldByDouble(text))) {
      this.fault ??= wideNumber(text, this.member);
    }
    return value;
  }

  protected override readName(): string {
    const name = super.readName();
    this.noteSurrogate(null);
    return name;
  }

  protected override readString(): string {
    this.scanner.hasLoneSurrogate = false;
    return super.readString();
  }

  private noteSurrogate(within: string | null): void {
    if (this.scanner.hasLoneSurrogate) this.fault ??= loneSurrogate(within);
  }
}

/** A JSON pointer (RFC 6901) to a member on the top level. */
export function pointTo(name: string): string {
  return `/${clip(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** A name from outside, short enough for a message. */
export function clip(name: string): string {
  return name.length <= NAME_IN_MESSAGE_MAX ? name : `${name.slice(0, NAME_IN_MESSAGE_MAX)}…`;
}

/** Counted byte by byte: split into its lines, a body of nothing but line ends would take a tenth of a second. */
function describePosition(bytes: Buffer, position: number): string {
  let line = 1;
  for (let at = 0; at < position; at++) if (bytes[at] === LINE_END) line++;
  const lineStart = position === 0 ? 0 : bytes.lastIndexOf(LINE_END, position - 1) + 1;
  const column = bytes.toString('utf8', lineStart, position).length + 1;
  return `byte ${position} (line ${line}, column ${column})`;
}

function tooManyFields(name: string): ApiError {
  const message = `"${clip(name)}" is one field too many: no request has more than ${MEMBERS_MAX}`;
  return invalid(message, pointTo(name));
}

function tooDeep(name: string): ApiError {
  return invalid(`"${clip(name)}" nests deeper than ${NESTING_MAX} levels of objects and arrays`, pointTo(name));
}

/** The field may take strings (in `metadata`), or numbers of its own range only: what to send instead depends on it. */
function wideNumber(text: string, name: string): ApiError {
  const remedy = 'send a number that it can, or a string where one is allowed';
  return invalid(`a double cannot hold ${clip(text)} in "${clip(name)}" exactly; ${remedy}`, pointTo(name));
}

function loneSurrogate(within: string | null): ApiError {
  const message = 'a string has half of a surrogate pair (\\ud800 to \\udfff), which is no character';
  return within === null ? invalid(message) : invalid(message, pointTo(within));
}

function invalid(message: string, param?: string): ApiError {
  return new ApiError('invalid_request', message, param === undefined ? {} : { param });
}
