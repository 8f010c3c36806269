// Reads a filter's JSON text and refuses what JSON.parse would quietly lose: duplicate keys, of which one condition
// would be dropped, and numbers that a double cannot hold. Objects become Maps, so no key means anything special.
import { fail, pointInto, quote } from './fault.ts';
import { canonicalText } from '../../json/canonical.ts';
import { JsonReader } from '../../json/reader.ts';
import { CLOSE_ARRAY, CLOSE_OBJECT } from '../../json/scanner.ts';
import { isHeldByDouble } from '../../json/wide-number.ts';

export type Scalar = string | number | boolean | null;
type LiteralArray = readonly Literal[];
type LiteralObject = ReadonlyMap<string, Literal>;
/** Any JSON value that a filter can hold. */
export type Literal = Scalar | LiteralArray | LiteralObject;

/** Of UTF-8, without insignificant white space. */
export const FILTER_BYTES_MAX = 4_096;

const STRING_OR_BLANKS = /("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g;

/** The value of a filter's text; throws a FilterError. */
export function readFilterJson(text: string): Literal {
  if (!isJson(text)) fail('', 'a filter must be valid JSON');
  const bytes = Buffer.byteLength(text.replace(STRING_OR_BLANKS, '$1'));
  if (bytes > FILTER_BYTES_MAX) {
    fail('', `a filter has at most ${FILTER_BYTES_MAX} bytes of JSON without white space; this one has ${bytes}`);
  }
  // The limit also bounds how deep reading recurs.
  return new LiteralReader(Buffer.from(text)).readValue(0) as Literal;
}

/**
 * A text that two filters have in common exactly if they are the same JSON: key order, white space and escapes apart,
 * numbers as doubles. By it, posting a subscription again finds the one that exists. `text` must have passed
 * parseFilter.
 */
export function filterIdentity(text: string): string {
  return canonicalText(readFilterJson(text));
}

export function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

export function isLiteralArray(literal: Literal): literal is LiteralArray {
  return Array.isArray(literal);
}

export function isLiteralObject(literal: Literal): literal is LiteralObject {
  return literal instanceof Map;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Knows where it is, for what it refuses. */
class LiteralReader extends JsonReader {
  #pointer = '';

  protected override readNumber(text: string): number {
    if (isHeldByDouble(text)) return Number(text);
    return fail(
      this.#pointer,
      `a double cannot hold the number ${quote(text)} exactly; have it sent as a string, and compare with that`,
    );
  }

  protected override readObject(depth: number): LiteralObject {
    const { scanner } = this;
    const around = this.#pointer;
    const members = new Map<string, Literal>();
    for (let more = scanner.begin(CLOSE_OBJECT); more; more = scanner.next(CLOSE_OBJECT)) {
      const key = this.readName();
      this.#pointer = pointInto(around, key);
      if (members.has(key)) fail(this.#pointer, `${quote(key)} is given twice; an object has each key once`);
      members.set(key, this.readValue(depth) as Literal);
    }
    this.#pointer = around;
    return members;
  }

  protected override readArray(depth: number): LiteralArray {
    const { scanner } = this;
    const around = this.#pointer;
    const elements: Literal[] = [];
    for (let more = scanner.begin(CLOSE_ARRAY); more; more = scanner.next(CLOSE_ARRAY)) {
      this.#pointer = pointInto(around, elements.length);
      elements.push(this.readValue(depth) as Literal);
    }
    this.#pointer = around;
    return elements;
  }
}
