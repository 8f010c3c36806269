// Tells whether two filters are the same JSON, so that posting a subscription again finds the one that exists.
import { canonicalText } from '../../json/canonical.ts';
import { readFilterJson } from './json.ts';

/**
 * A text that two filters have in common exactly if they are the same JSON: key order, white space and escapes apart,
 * numbers as doubles. `text` must have passed parseFilter.
 */
export function filterIdentity(text: string): string {
  return canonicalText(readFilterJson(text));
}
