// Tells whether two filters are the same JSON, so that posting a subscription again finds the one that exists.
import type { Literal } from './filter-json.ts';
import { isLiteralArray, isLiteralObject, readFilterJson } from './filter-json.ts';

/**
 * A text that two filters have in common exactly if they are the same JSON: key order, white space and escapes apart,
 * numbers as doubles. `text` must have passed parseFilter.
 */
export function filterIdentity(text: string): string {
  return canonicalize(readFilterJson(text));
}

function canonicalize(literal: Literal): string {
  if (isLiteralArray(literal)) return `[${literal.map(canonicalize).join(',')}]`;
  if (!isLiteralObject(literal)) return JSON.stringify(literal);
  const members = [...literal].sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalize(member)}`).join(',')}}`;
}
