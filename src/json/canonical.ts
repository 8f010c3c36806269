// One text for all ways to write a JSON value: what is equal has the same text, what is not has another. Hashes of
// these texts are stored (idempotency keys, subscriptions): a character more or less, and none of them is found again.
import { JsonReader } from './reader.ts';
import { CLOSE_ARRAY, CLOSE_OBJECT } from './scanner.ts';
import { WideNumber } from './wide-number.ts';

/** The canonical text of valid JSON: the last of duplicate keys, and numbers as written. */
export function canonicalJson(json: Uint8Array): string {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.length);
  return new CanonicalReader(bytes, bytes.toString('latin1')).readText(0);
}

/**
 * Keys sorted by code unit, no white space, numbers as doubles. Objects may be Maps, as in filters. A WideNumber equals
 * nothing, so its text is none that a filter's value has. Recursion is safe: bodies nest 64 levels, filters fewer than
 * they have bytes.
 */
export function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (value instanceof WideNumber) return 'wide';
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  const keys = (value instanceof Map ? [...value.keys()] : Object.keys(value)) as string[];
  const texts = keys.sort().map((key) => {
    const member: unknown = value instanceof Map ? value.get(key) : (value as Record<string, unknown>)[key];
    return `${JSON.stringify(key)}:${canonicalText(member)}`;
  });
  return `{${texts.join(',')}}`;
}

/**
 * Reads values as their canonical texts. Made from the values, the text of a long body of brackets or names would take
 * five to ten times as long, and nobody else has a turn meanwhile. A number has its source text: 1.0 and 1 are
 * different requests, 2^53 + 1 keeps its digits.
 */
class CanonicalReader extends JsonReader {
  /** Of literals the text is that of their value. */
  readText(depth: number): string {
    return String(this.readValue(depth));
  }

  protected override readNumber(text: string): string {
    return text;
  }

  /** What has no escape needs none. */
  protected override readString(): string {
    const { scanner } = this;
    const start = scanner.position;
    scanner.skipString();
    const text = this.cut(start, scanner.position);
    return scanner.hasEscape ? JSON.stringify(JSON.parse(text)) : text;
  }

  protected override readArray(depth: number): string {
    const { scanner } = this;
    let text = '[';
    let separator = '';
    for (let more = scanner.begin(CLOSE_ARRAY); more; more = scanner.next(CLOSE_ARRAY)) {
      text += separator + this.readText(depth);
      separator = ',';
    }
    return `${text}]`;
  }

  protected override readObject(depth: number): string {
    const { scanner } = this;
    const members = new Map<string, string>();
    for (let more = scanner.begin(CLOSE_OBJECT); more; more = scanner.next(CLOSE_OBJECT)) {
      const nameText = this.readName();
      const name = scanner.hasEscape ? (JSON.parse(nameText) as string) : nameText.slice(1, -1);
      members.set(name, `${nameText}:${this.readText(depth)}`);
    }
    let text = '{';
    let separator = '';
    for (const name of [...members.keys()].sort()) {
      text += separator + members.get(name)!;
      separator = ',';
    }
    return `${text}}`;
  }
}
