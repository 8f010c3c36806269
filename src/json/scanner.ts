// The grammar of JSON (RFC 8259) over bytes that are known to be UTF-8: one pass that moves a position forward and
// allocates nothing. What it accepts is exactly what JSON.parse accepts.

export const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const LETTER_U = 0x75;

/** Where the text stops being JSON. */
export class JsonSyntaxError extends Error {
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.name = 'JsonSyntaxError';
    this.position = position;
  }
}

/** What was seen in the values skipped and strings read since the members were last reset. */
export class JsonScanner {
  readonly bytes: Uint8Array;
  position = 0;
  /** The deepest nesting that `skipValue` met. */
  deepest = 0;
  /** Whether a string had an escaped surrogate without its other half. */
  hasLoneSurrogate = false;
  /** Whether the last string had an escape. */
  hasEscape = false;
  private readonly end: number;
  /** Of each container that is open: whether it is an object. Grows with the nesting. */
  private isObject = new Uint8Array(64);

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.end = bytes.length;
  }

  fail(expected: string): never {
    if (this.position >= this.end) throw new JsonSyntaxError('it ends too early', this.end);
    throw new JsonSyntaxError(`${expected} is expected`, this.position);
  }

  /** The byte at the position, after white space; 0 at the end, which begins nothing in JSON. */
  peek(): number {
    const { bytes, end } = this;
    let position = this.position;
    while (position < end) {
      const byte = bytes[position]!;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) {
        this.position = position;
        return byte;
      }
      position++;
    }
    this.position = end;
    return 0;
  }

  /** Moves over `byte` if it is next. */
  take(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.position++;
    return true;
  }

  /** Moves over the brace or bracket that is next; false: nothing is in it, and `close` is moved over as well. */
  begin(close: number): boolean {
    this.position++;
    return !this.take(close);
  }

  /** Moves over what follows a member or an element: a comma, or (false) the container's end. */
  next(close: number): boolean {
    if (this.take(COMMA)) return true;
    if (!this.take(close)) this.fail(close === CLOSE_OBJECT ? '"," or "}"' : '"," or "]"');
    return false;
  }

  expectColon(): void {
    if (!this.take(COLON)) this.fail('":"');
  }

  /** Moves over a whole value. `depth` is the nesting around it. */
  skipValue(depth: number): void {
    let open = 0;
    for (;;) {
      const byte = this.peek();
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        open = this.enter(open, byte === OPEN_OBJECT, depth);
        if (this.begin(byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY)) {
          if (byte === OPEN_OBJECT) this.skipKey();
          continue;
        }
        open--;
      } else {
        this.skipScalar(byte);
      }
      while (open > 0 && !this.next(this.isObject[open - 1] ? CLOSE_OBJECT : CLOSE_ARRAY)) open--;
      if (open === 0) return;
      if (this.isObject[open - 1]) this.skipKey();
    }
  }

  private enter(open: number, isObject: boolean, depth: number): number {
    if (open === this.isObject.length) {
      const grown = new Uint8Array(open * 2);
      grown.set(this.isObject);
      this.isObject = grown;
    }
    this.isObject[open] = isObject ? 1 : 0;
    if (depth + open + 1 > this.deepest) this.deepest = depth + open + 1;
    return open + 1;
  }

  /** Moves over a name, its colon and its value. `depth` is the nesting around the value. */
  skipMember(depth: number): void {
    this.skipKey();
    this.skipValue(depth);
  }

  private skipKey(): void {
    if (this.peek() !== QUOTE) this.fail('a member name in double quotes');
    this.skipString();
    this.expectColon();
  }

  /** Moves over a string, number or literal that begins with `byte`. */
  skipScalar(byte: number): void {
    if (byte === QUOTE) this.skipString();
    else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) this.skipNumber();
    else if (byte === 0x74) this.skipLiteral('true');
    else if (byte === 0x66) this.skipLiteral('false');
    else if (byte === 0x6e) this.skipLiteral('null');
    else this.fail('a JSON value');
  }

  /** Moves over a string, from its opening quote. */
  skipString(): void {
    const { bytes, end } = this;
    let position = this.position + 1;
    this.hasEscape = false;
    for (;;) {
      const byte = position < end ? bytes[position]! : 0;
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        this.hasEscape = true;
        position = this.skipEscape(position);
      } else if (byte < 0x20) {
        this.position = position;
        this.fail('an escape instead of this control character');
      } else {
        position++;
      }
    }
    this.position = position + 1;
  }

  /** The position after the escape at `position`; of a surrogate pair, after both halves. */
  private skipEscape(position: number): number {
    const kind = position + 1 < this.end ? this.bytes[position + 1]! : 0;
    if (kind !== LETTER_U) {
      // " \ / b f n r t
      const isKnown = kind === QUOTE || kind === BACKSLASH || kind === 0x2f || kind === 0x62 || kind === 0x66;
      if (!isKnown && kind !== 0x6e && kind !== 0x72 && kind !== 0x74) {
        this.position = Math.min(position + 1, this.end);
        this.fail('one of " \\ / b f n r t u');
      }
      return position + 2;
    }
    const unit = this.readUnit(position);
    if (unit < 0xd800 || unit > 0xdfff) return position + 6;
    const isPaired = unit < 0xdc00 && this.bytes[position + 6] === BACKSLASH && this.bytes[position + 7] === LETTER_U;
    if (isPaired) {
      const low = this.readUnit(position + 6);
      if (low >= 0xdc00 && low <= 0xdfff) return position + 12;
    }
    this.hasLoneSurrogate = true;
    return position + 6;
  }

  /** The code unit of the `\uXXXX` at `position`. */
  private readUnit(position: number): number {
    let unit = 0;
    for (let i = position + 2; i < position + 6; i++) {
      const byte = i < this.end ? this.bytes[i]! : 0;
      const lower = byte | 0x20;
      let digit: number;
      if (byte >= ZERO && byte <= NINE) digit = byte - ZERO;
      else if (lower >= 0x61 && lower <= 0x66) digit = lower - 0x57;
      else {
        this.position = Math.min(i, this.end);
        return this.fail('a hexadecimal digit');
      }
      unit = unit * 16 + digit;
    }
    return unit;
  }

  private skipNumber(): void {
    if (this.bytes[this.position] === MINUS) this.position++;
    if (this.bytes[this.position] === ZERO) this.position++;
    else this.skipDigits();
    if (this.bytes[this.position] === 0x2e) {
      this.position++;
      this.skipDigits();
    }
    const byte = this.bytes[this.position];
    if (byte !== 0x65 && byte !== 0x45) return;
    this.position++;
    const sign = this.bytes[this.position];
    if (sign === 0x2b || sign === MINUS) this.position++;
    this.skipDigits();
  }

  /** One digit or more. */
  private skipDigits(): void {
    const { bytes, end } = this;
    const start = this.position;
    let position = start;
    while (position < end && bytes[position]! >= ZERO && bytes[position]! <= NINE) position++;
    this.position = position;
    if (position === start) this.fail('a digit');
  }

  private skipLiteral(literal: string): void {
    for (let i = 0; i < literal.length; i++) {
      if (this.bytes[this.position] !== literal.charCodeAt(i)) this.fail(literal);
      this.position++;
    }
  }
}
