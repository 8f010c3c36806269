// JSON that is shown as the producer wrote it: numbers keep their digits, as in 1.0 and 12345678901234567890, and a body
// that is needed byte for byte is cut out of the text, as parsing moves keys like "2" to the front.

import { visible } from './visible.ts';

type Source = { source?: string };
type RawJson = { rawJSON?: (text: string) => unknown };

export function parseExact(text: string): unknown {
  const { rawJSON } = JSON as RawJson;
  if (rawJSON === undefined) return JSON.parse(text); // a browser that cannot tell
  const keepDigits = (_key: string, value: unknown, context?: Source): unknown =>
    typeof value === 'number' && context?.source !== undefined && String(value) !== context.source
      ? rawJSON(context.source)
      : value;
  return JSON.parse(text, keepDigits);
}

/** Throws SyntaxError for what is not JSON. What is not to be seen is escaped, as JSON allows within a text. */
export function layOut(text: string): string {
  return visible(JSON.stringify(parseExact(text), null, 2));
}

const BODY = ',"body":';

/** The body of an event as the API writes it: its last member, and no text before it has an unescaped quote. */
export function bodyTextOf(event: string): string {
  return event.slice(event.indexOf(BODY) + BODY.length, event.lastIndexOf('}'));
}
