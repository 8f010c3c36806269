// Values of JSON text where JSON.parse does not do: JSON.parse drops duplicate keys and the digits of long numbers, and
// V8's may misread a key that is written with an escape. V8 compares such a key, still escaped, with the key at that
// place of an object that it parsed before, maybe another customer's: after {"a":1,"\\":2}, the second key of
// {"a":1,"\n":2} is a backslash too (nodejs/node#63785).
import { CLOSE_ARRAY, CLOSE_OBJECT, JsonScanner, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './scanner.ts';

/** As JSON.parse, which it is unless some key has an escape. The text is known to be JSON. */
export function parseJson(text: string): unknown {
  return hasEscapedKey(text) ? new JsonReader(Buffer.from(text)).readValue(0) : JSON.parse(text);
}

const REST_OF_STRING = /[^"\\]*(?:\\.[^"\\]*)*"\s*(:?)/y;

/** Whether JSON.parse might misread a key. */
export function hasEscapedKey(text: string): boolean {
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', REST_OF_STRING.lastIndex)) {
    REST_OF_STRING.lastIndex = at;
    if (REST_OF_STRING.exec(text)?.[1] === ':') return true;
  }
  return false;
}

const NOT_ASCII = /[\x80-\xff]/;
const LETTER_T = 0x74;
const LETTER_F = 0x66;
const LETTER_N = 0x6e;

/**
 * Makes values of what the scanner moves over. Of duplicate keys the last counts. Who wants something else of numbers,
 * names or objects overrides the method that reads those.
 */
export class JsonReader {
  readonly scanner: JsonScanner;
  protected readonly bytes: Buffer;
  private readonly latin1: string | null;

  /**
   * `latin1`: the bytes as such, to cut strings out of: that takes half as long as decoding each. It is for who reads
   * everything and soon forgets it: a slice keeps all of what it was cut from.
   */
  constructor(bytes: Buffer, latin1: string | null = null) {
    this.bytes = bytes;
    this.latin1 = latin1;
    this.scanner = new JsonScanner(bytes);
  }

  /** `depth`: the nesting around the value. */
  readValue(depth: number): unknown {
    const first = this.scanner.peek();
    if (first === QUOTE) return this.readString();
    if (first === OPEN_OBJECT) return this.readObject(depth + 1);
    if (first === OPEN_ARRAY) return this.readArray(depth + 1);
    const start = this.scanner.position;
    this.scanner.skipScalar(first);
    if (first === LETTER_T) return true;
    if (first === LETTER_F) return false;
    return first === LETTER_N ? null : this.readNumber(this.cut(start, this.scanner.position));
  }

  protected readObject(depth: number): unknown {
    const { scanner } = this;
    const object: Record<string, unknown> = {};
    for (let more = scanner.begin(CLOSE_OBJECT); more; more = scanner.next(CLOSE_OBJECT)) {
      setMember(object, this.readName(), this.readValue(depth));
    }
    return object;
  }

  protected readArray(depth: number): unknown {
    const { scanner } = this;
    const array: unknown[] = [];
    for (let more = scanner.begin(CLOSE_ARRAY); more; more = scanner.next(CLOSE_ARRAY)) {
      array.push(this.readValue(depth));
    }
    return array;
  }

  /** A member's name and the colon behind it. */
  protected readName(): string {
    if (this.scanner.peek() !== QUOTE) this.scanner.fail('a member name in double quotes');
    const name = this.readString();
    this.scanner.expectColon();
    return name;
  }

  protected readString(): string {
    const { scanner } = this;
    const start = scanner.position;
    scanner.skipString();
    if (!scanner.hasEscape) return this.cut(start + 1, scanner.position - 1);
    return JSON.parse(this.cut(start, scanner.position)) as string;
  }

  protected readNumber(text: string): unknown {
    return Number(text);
  }

  protected cut(start: number, end: number): string {
    if (this.latin1 === null) return this.bytes.toString('utf8', start, end);
    const cut = this.latin1.slice(start, end);
    return NOT_ASCII.test(cut) ? this.bytes.toString('utf8', start, end) : cut;
  }
}

/** As JSON.parse does: `__proto__` is a name like any other. Assigned, it would become the prototype. */
export function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
