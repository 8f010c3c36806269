// Reads a filter's JSON text and refuses what JSON.parse would quietly lose: duplicate keys, of which one condition
// would be dropped, and numbers that a double cannot hold. Objects become Maps, so no key means anything special.
import { fail, pointInto, quote } from './fault.ts';
import { JsonReader } from '../../json/reader.ts';
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
  return readLiteral(new JsonReader(text), '');
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

function readLiteral(json: JsonReader, pointer: string): Literal {
  if (json.skip('{')) return readObject(json, pointer);
  if (json.skip('[')) return readArray(json, pointer);
  if (json.isAtString()) return readString(json);
  const bare = json.readBare();
  const value = JSON.parse(bare) as Scalar;
  if (typeof value === 'number' && !isHeldByDouble(bare)) {
    fail(
      pointer,
      `a double cannot hold the number ${quote(bare)} exactly; have it sent as a string, and compare with that`,
    );
  }
  return value;
}

/** A string of its own: a million filters are kept, and a slice of its text would keep all of that. */
function readString(json: JsonReader): string {
  return JSON.parse(json.readQuoted()) as string;
}

function readObject(json: JsonReader, pointer: string): LiteralObject {
  const members = new Map<string, Literal>();
  while (!json.skip('}')) {
    const key = readString(json);
    const memberPointer = pointInto(pointer, key);
    if (members.has(key)) fail(memberPointer, `${quote(key)} is given twice; an object has each key once`);
    json.skip(':');
    members.set(key, readLiteral(json, memberPointer));
    json.skip(',');
  }
  return members;
}

function readArray(json: JsonReader, pointer: string): LiteralArray {
  const elements: Literal[] = [];
  while (!json.skip(']')) {
    elements.push(readLiteral(json, pointInto(pointer, elements.length)));
    json.skip(',');
  }
  return elements;
}
