// How a filter's values compare with those of a body.
import { isLiteralArray, isLiteralObject, type Literal } from './json.ts';
import { WideNumber } from '../../json/wide-number.ts';
import type { Work } from '../matcher.ts';

/**
 * Deep equality: objects whatever their key order, arrays in order, numbers as doubles (0 equals -0). A WideNumber
 * equals nothing.
 */
export function isEqual(literal: Literal, value: unknown, work: Work): boolean {
  work.spend(1);
  if (isLiteralArray(literal)) {
    return (
      Array.isArray(value) &&
      value.length === literal.length &&
      literal.every((element, index) => isEqual(element, value[index], work))
    );
  }
  if (!isLiteralObject(literal)) return literal === value;
  if (!isJsonObject(value) || listMembers(value, work).length !== literal.size) return false;
  for (const [key, member] of literal) {
    if (!Object.hasOwn(value, key) || !isEqual(member, value[key], work)) return false;
  }
  return true;
}

// Listing the members of a large object takes 20 times as long as visiting them, so a body's are listed once for all
// conditions. Its small objects would cost more to remember than to list.
const LARGE_MEMBERS_MIN = 100;
const LISTING_STEPS = 8;
const largeObjects = new WeakMap<object, readonly unknown[]>();

/** The values of an object's own members. */
export function listMembers(object: Record<string, unknown>, work: Work): readonly unknown[] {
  const known = largeObjects.get(object);
  if (known !== undefined) return known;
  const members = Object.values(object);
  if (members.length >= LARGE_MEMBERS_MIN) largeObjects.set(object, members);
  work.spend(members.length * LISTING_STEPS);
  return members;
}

/** Whether a body's value is an object: no array, no null, no WideNumber. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof WideNumber);
}

/**
 * Orders two strings by code point: < 0, 0 or > 0. Code units, which `<` compares, would put U+1F600 (D83D DE00)
 * before U+FFFD.
 */
export function compareByCodePoint(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  let i = 0;
  while (i < shorter && a.charCodeAt(i) === b.charCodeAt(i)) i++;
  // The units may first differ in the second half of a pair: then the code points differ one unit earlier.
  return (i > 0 ? compareCodePointsAt(i - 1, a, b) : 0) || compareCodePointsAt(i, a, b);
}

function compareCodePointsAt(index: number, a: string, b: string): number {
  return (a.codePointAt(index) ?? -1) - (b.codePointAt(index) ?? -1);
}

const SHORT_LENGTH_MAX = 64;
/** A character, in the worst case. */
const SHORT_STEPS = 0.5;
const LONG_STEPS = 2;

/**
 * Whether a text contains another. The built-in search is faster, but takes text × part in the worst case: half a
 * second for 4,000 characters in 256 KiB, against 8 ms for 64. So long parts are searched for in linear time.
 */
export function containsText(text: string, part: string, work: Work): boolean {
  const isShort = part.length <= SHORT_LENGTH_MAX;
  work.spend(text.length * (isShort ? SHORT_STEPS : LONG_STEPS));
  if (isShort || part.length > text.length) return text.includes(part);
  // Knuth, Morris and Pratt: after a mismatch go on with the longest beginning that ends here.
  const borders = listBorders(part);
  let matched = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = borders[matched - 1]!;
    if (part.charCodeAt(matched) === unit) matched++;
    if (matched === part.length) return true;
  }
  return false;
}

/** For each length - 1 of a beginning of `part`: the length of its longest proper beginning that is also its end. */
function listBorders(part: string): Uint16Array {
  const borders = new Uint16Array(part.length);
  let border = 0;
  for (let i = 1; i < part.length; i++) {
    while (border > 0 && part.charCodeAt(border) !== part.charCodeAt(i)) border = borders[border - 1]!;
    if (part.charCodeAt(border) === part.charCodeAt(i)) border++;
    borders[i] = border;
  }
  return borders;
}
