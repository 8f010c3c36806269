// Whether two requests under one idempotency key are the same request: same type, same occurred_at as sent, and
// a body that is equal as JSON (key order and white space apart, numbers by their text).
import { hash } from 'node:crypto';
import { readJsonValue } from '../json/value.ts';
import type { IncomingEvent } from './incoming-event.ts';

/** SHA-256 over what must be equal. Races between equal keys are the store's to settle: the first insert wins. */
export function fingerprintOf(incoming: IncomingEvent): Uint8Array {
  const text = new TextDecoder().decode(incoming.body.bytes);
  const parts = [incoming.type, incoming.occurredAt?.text ?? null, canonicalJson(text)];
  return hash('sha256', JSON.stringify(parts), 'buffer');
}

/** Valid JSON with keys sorted by code unit, no white space, the last of duplicate keys, and numbers as written. */
export function canonicalJson(text: string): string {
  return writeCanonical(readJsonValue(text, (number) => new NumberText(number)));
}

/** A number's source text in the place of its value: 1.0 and 1 are different requests, 2^53 + 1 keeps its digits. */
class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

// Recursion is safe: requests nest 64 levels at most.
function writeCanonical(value: unknown): string {
  if (value instanceof NumberText) return value.text;
  if (Array.isArray(value)) return `[${value.map(writeCanonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${writeCanonical((value as Record<string, unknown>)[key])}`);
  return `{${members.join(',')}}`;
}
