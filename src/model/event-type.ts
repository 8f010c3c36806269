// Event types (`order.paid`) and the patterns that a subscription may give instead of one.

export const EVENT_TYPE_LENGTH_MAX = 256;

const SEGMENT = '[A-Za-z0-9_-]{1,64}';
const PREFIX_FORM = `${SEGMENT}(?:\\.${SEGMENT}){0,8}`;
/** As regular expressions, for the API document. */
export const EVENT_TYPE_FORM = `^${SEGMENT}(?:\\.${SEGMENT}){1,9}$`;
export const EVENT_TYPE_PATTERN_FORM = `^(?:${SEGMENT}(?:\\.${SEGMENT}){1,9}|${PREFIX_FORM}\\.\\*{1,2}|\\*\\*)$`;
const EVENT_TYPE = new RegExp(EVENT_TYPE_FORM);
const PREFIX = new RegExp(`^${PREFIX_FORM}$`);

const SEGMENT_RULE = 'a segment is 1-64 characters of A-Z, a-z, 0-9, _ and -, and segments are joined by "."';

/** Whether a text is an event type: 2-10 segments of 1-64 characters `A-Z a-z 0-9 _ -`, at most 256 in all. */
export function isEventType(text: string): boolean {
  return text.length <= EVENT_TYPE_LENGTH_MAX && EVENT_TYPE.test(text);
}

/** Of the service's own events, by which it tells what becomes of destinations and deliveries. */
const OPERATIONAL_PREFIX = 'postrider.';

/** Whether an event of this type is the service's own. No producer may post one, and `**` does not match it. */
export function isOperational(type: string): boolean {
  return type.startsWith(OPERATIONAL_PREFIX);
}

/**
 * What keeps a text from being a pattern, as a sentence that says what would be right; null: it is one.
 * A pattern is an event type, `P.*`, `P.**` (P being 1-9 segments) or `**` alone.
 */
export function findPatternFault(text: string): string | null {
  if (text === '**' || isEventType(text)) return null;
  if (text === '') return 'give an event type such as order.paid, or a pattern: order.*, order.** or **';
  if (text.length > EVENT_TYPE_LENGTH_MAX) return `a pattern has at most ${EVENT_TYPE_LENGTH_MAX} characters`;
  return text.includes('*') ? findWildcardFault(text) : explainEventType(text);
}

function findWildcardFault(text: string): string | null {
  const head = text.slice(0, text.indexOf('*'));
  if (head === '') {
    return 'a wildcard ends a pattern and follows a prefix, as in order.* or order.**; ** alone is every event type';
  }
  const prefix = head.endsWith('.') ? head.slice(0, -1) : head;
  if (prefix.split('.').length > 9) return 'before a wildcard there are at most 9 segments';
  if (!PREFIX.test(prefix)) return SEGMENT_RULE;
  if (text === `${prefix}.*` || text === `${prefix}.**`) return null;
  return `a wildcard is all of the last segment: ${prefix}.* is exactly one more, ${prefix}.** is one or more`;
}

function explainEventType(text: string): string {
  const segments = text.split('.').length;
  if (PREFIX.test(text)) {
    return `an event type has at least 2 segments; for those that begin with ${text} write ${text}.* or ${text}.**`;
  }
  return segments > 10 ? 'an event type has at most 10 segments' : SEGMENT_RULE;
}

/** `exact`: one type. `prefix` with `depth` 'one' or 'any': types one, or one and more, segments below it. */
export type TypeSelection = { exact: string } | { prefix: string; depth: 'one' | 'any' };

/** What a valid pattern asks for; null: every type. */
export function toTypeSelection(pattern: string): TypeSelection | null {
  if (pattern === '**') return null;
  if (pattern.endsWith('.**')) return { prefix: pattern.slice(0, -3), depth: 'any' };
  if (pattern.endsWith('.*')) return { prefix: pattern.slice(0, -2), depth: 'one' };
  return { exact: pattern };
}

/** Whether a type is one that a pattern asks for. */
export function selects(selection: TypeSelection, type: string): boolean {
  if ('exact' in selection) return type === selection.exact;
  const isBelow = type.startsWith(`${selection.prefix}.`);
  return isBelow && (selection.depth === 'any' || !type.includes('.', selection.prefix.length + 1));
}
