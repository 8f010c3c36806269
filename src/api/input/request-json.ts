// From a request's bytes to its value, by the rules that JSON.parse does not have: where an object's exact bytes
// matter they are kept (an event's body, a filter), duplicate names and lone surrogates are refused, nesting is
// bounded.
import { isUtf8 } from 'node:buffer';
import { ApiError } from '../../model/error.ts';
import { JsonScanner, JsonSyntaxError, QUOTE } from '../../json/scanner.ts';

/** Levels of objects and arrays within one another, the outermost included. */
const NESTING_MAX = 64;

const NAME_IN_MESSAGE_MAX = 128;

/** How the members of a request body are read; each part is a name on the top level. */
export type BodyShape = {
  /** If its value is an object, it is kept as it was sent, in a RawObject. */
  raw?: string;
  /** Whether any JSON is welcome in `raw`: it may hold lone surrogates. */
  isRawOpaque?: boolean;
  /** An array whose objects are requests of their own, each read by `shape` into a JsonItem. */
  items?: { name: string; shape: BodyShape };
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

/** An object that was checked and not parsed. Valid only as long as the request's bytes are. */
export class RawObject {
  /** A view of the request's bytes, from `{` to `}`. */
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** For keeping: it does not hold on to the rest of the request. */
  copyBytes(): Uint8Array {
    return new Uint8Array(this.bytes);
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

class RequestReader {
  private readonly bytes: Buffer;
  private readonly scanner: JsonScanner;
  /** What is wrong with the request (or item) being read although it is JSON; the first fault counts. */
  private fault: ApiError | null = null;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.scanner = new JsonScanner(bytes);
  }

  readRequest(shape: BodyShape): Record<string, unknown> {
    const value = this.readTop(shape);
    if (this.scanner.peek() !== 0 || this.scanner.position < this.bytes.length) this.scanner.fail('nothing more');
    if (this.fault !== null) throw this.fault;
    return value as Record<string, unknown>;
  }

  /** The value of a request, or of an item; anything but an object is a fault. */
  private readTop(shape: BodyShape): unknown {
    const { scanner } = this;
    if (!scanner.takeObjectStart()) {
      scanner.skipValue(0);
      this.fault ??= invalid('a JSON object is expected here', '');
      return null;
    }
    const members: Record<string, unknown> = {};
    if (scanner.takeObjectEnd()) return members;
    do {
      const name = this.readName();
      if (Object.hasOwn(members, name)) this.fault ??= invalid(`"${clip(name)}" is there twice`, pointTo(name));
      setMember(members, name, this.readTopMember(name, shape));
    } while (scanner.takeComma());
    if (!scanner.takeObjectEnd()) scanner.fail('"," or "}"');
    return members;
  }

  private readTopMember(name: string, shape: BodyShape): unknown {
    const first = this.scanner.peek();
    if (name === shape.raw && first === 0x7b) return this.readRaw(name, shape);
    if (name === shape.items?.name && first === 0x5b) return this.readItems(shape.items.shape);
    return this.readValue(1, name);
  }

  private readRaw(name: string, shape: BodyShape): RawObject {
    const { scanner } = this;
    const start = scanner.position;
    scanner.deepest = 0;
    scanner.hasLoneSurrogate = false;
    scanner.skipValue(1);
    this.checkSkipped(name, shape.isRawOpaque === true);
    return new RawObject(this.bytes.subarray(start, scanner.position));
  }

  private checkSkipped(name: string, isOpaque: boolean): void {
    if (this.scanner.deepest > NESTING_MAX) this.fault ??= tooDeep(name);
    if (this.scanner.hasLoneSurrogate && !isOpaque) this.fault ??= loneSurrogate(name);
  }

  private readItems(shape: BodyShape): JsonItem[] {
    const { scanner } = this;
    const items: JsonItem[] = [];
    scanner.takeArrayStart();
    if (scanner.takeArrayEnd()) return items;
    do {
      scanner.peek();
      items.push(this.readItem(shape));
    } while (scanner.takeComma());
    if (!scanner.takeArrayEnd()) scanner.fail('"," or "]"');
    return items;
  }

  private readItem(shape: BodyShape): JsonItem {
    const faultAround = this.fault;
    const start = this.scanner.position;
    this.fault = null;
    const value = this.readTop(shape);
    const item = new JsonItem({ value, fault: this.fault, byteLength: this.scanner.position - start });
    this.fault = faultAround;
    return item;
  }

  /** `depth`: the nesting around the value. `name`: the top-level member it is in. */
  private readValue(depth: number, name: string): unknown {
    const { scanner } = this;
    const first = scanner.peek();
    if (first === QUOTE) return this.readString(name);
    if (first !== 0x7b && first !== 0x5b) return this.readNumberOrLiteral(first, name);
    if (depth === NESTING_MAX) {
      this.fault ??= tooDeep(name);
      scanner.skipValue(depth);
      return null;
    }
    return first === 0x7b ? this.readObject(depth + 1, name) : this.readArray(depth + 1, name);
  }

  private readObject(depth: number, name: string): Record<string, unknown> {
    const { scanner } = this;
    const members: Record<string, unknown> = {};
    scanner.takeObjectStart();
    if (scanner.takeObjectEnd()) return members;
    do setMember(members, this.readName(), this.readValue(depth, name));
    while (scanner.takeComma());
    if (!scanner.takeObjectEnd()) scanner.fail('"," or "}"');
    return members;
  }

  private readArray(depth: number, name: string): unknown[] {
    const { scanner } = this;
    const elements: unknown[] = [];
    scanner.takeArrayStart();
    if (scanner.takeArrayEnd()) return elements;
    do elements.push(this.readValue(depth, name));
    while (scanner.takeComma());
    if (!scanner.takeArrayEnd()) scanner.fail('"," or "]"');
    return elements;
  }

  private readName(): string {
    if (this.scanner.peek() !== QUOTE) this.scanner.fail('a member name in double quotes');
    const name = this.readString(null);
    this.scanner.expectColon();
    return name;
  }

  private readString(within: string | null): string {
    const { scanner } = this;
    const start = scanner.position;
    scanner.hasLoneSurrogate = false;
    scanner.skipString();
    if (scanner.hasLoneSurrogate) this.fault ??= loneSurrogate(within);
    if (!scanner.hasEscape) return this.bytes.toString('utf8', start + 1, scanner.position - 1);
    return JSON.parse(this.bytes.toString('utf8', start, scanner.position)) as string;
  }

  private readNumberOrLiteral(first: number, name: string): unknown {
    const { scanner } = this;
    const start = scanner.position;
    scanner.skipScalar(first);
    const value: unknown = JSON.parse(this.bytes.toString('latin1', start, scanner.position));
    if (value === Infinity || value === -Infinity) {
      this.fault ??= invalid(`a number in "${clip(name)}" is too large`, pointTo(name));
    }
    return value;
  }
}

/** As JSON.parse does: `__proto__` is a name like any other. */
function setMember(members: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') members[name] = value;
  else Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
}

/** A JSON pointer (RFC 6901) to a member on the top level. */
export function pointTo(name: string): string {
  return `/${clip(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** A name from outside, short enough for a message. */
export function clip(name: string): string {
  return name.length <= NAME_IN_MESSAGE_MAX ? name : `${name.slice(0, NAME_IN_MESSAGE_MAX)}…`;
}

function describePosition(bytes: Buffer, position: number): string {
  const before = bytes.subarray(0, position).toString();
  const line = before.split('\n').length;
  const column = before.length - before.lastIndexOf('\n');
  return `byte ${position} (line ${line}, column ${column})`;
}

function tooDeep(name: string): ApiError {
  return invalid(`"${clip(name)}" nests deeper than ${NESTING_MAX} levels of objects and arrays`, pointTo(name));
}

function loneSurrogate(within: string | null): ApiError {
  const message = 'a string has half of a surrogate pair (\\ud800 to \\udfff), which is no character';
  return within === null ? invalid(message) : invalid(message, pointTo(within));
}

function invalid(message: string, param?: string): ApiError {
  return new ApiError('invalid_request', message, param === undefined ? {} : { param });
}
