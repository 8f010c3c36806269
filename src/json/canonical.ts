// One text for all ways to write a JSON value: what is equal has the same text, what is not has another. Hashes of
// these texts are stored (idempotency keys, subscriptions): a character more or less, and none of them is found again.
import { JsonReader } from './reader.ts';
import { WideNumber } from './wide-number.ts';

/** The canonical text of valid JSON: the last of duplicate keys, and numbers as written. */
export function canonicalJson(json: Uint8Array): string {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.length);
  return canonicalText(new NumberTextReader(bytes, bytes.toString('latin1')).readValue(0));
}

/**
 * Keys sorted by code unit, no white space, numbers as doubles. Objects may be Maps, as in filters. A WideNumber equals
 * nothing, so its text is none that a filter's value has. Recursion is safe: bodies nest 64 levels, filters fewer than
 * they have bytes.
 */
export function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (value instanceof NumberText) return value.text;
  if (value instanceof WideNumber) return 'wide';
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  const keys = (value instanceof Map ? [...value.keys()] : Object.keys(value)) as string[];
  const texts = keys.sort().map((key) => {
    const member: unknown = value instanceof Map ? value.get(key) : (value as Record<string, unknown>)[key];
    return `${JSON.stringify(key)}:${canonicalText(member)}`;
  });
  return `{${texts.join(',')}}`;
}

/** A number's source text in the place of its value: 1.0 and 1 are different requests, 2^53 + 1 keeps its digits. */
class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

class NumberTextReader extends JsonReader {
  protected override readNumber(text: string): NumberText {
    return new NumberText(text);
  }
}
