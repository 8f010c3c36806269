// One text for all ways to write a JSON value: what is equal has the same text, what is not has another.
import { WideNumber } from './wide-number.ts';

/**
 * Key order apart, numbers as doubles. Objects may be Maps, as in filters. A WideNumber equals nothing, so its text is
 * none that a filter's value has. Recursion is safe: bodies nest 64 levels, filters fewer than they have bytes.
 */
export function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (value instanceof WideNumber) return 'wide';
  const members: [string, unknown][] = value instanceof Map ? [...value] : Object.entries(value);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalText(member)}`).join(',')}}`;
}
