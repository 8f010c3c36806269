// Event types, and the patterns that subscriptions and lists may give instead. Their form is checked by hand: it has
// error codes of its own.
import { Type } from './type.ts';
import { EVENT_TYPE_FORM, EVENT_TYPE_LENGTH_MAX, EVENT_TYPE_PATTERN_FORM } from '../../model/event-type.ts';
import { named, shownAs } from './fields.ts';

const typeText = Type.String({
  description: '2-10 segments of `A-Z a-z 0-9 _ -`, joined by dots.',
  examples: ['order.paid'],
});
export const eventType = named(
  'EventType',
  shownAs(typeText, { ...typeText, maxLength: EVENT_TYPE_LENGTH_MAX, pattern: EVENT_TYPE_FORM }),
);

const patternText = Type.String({
  description:
    'An event type, or a pattern: `P.*` (P and one more segment), `P.**` (one or more), `**` (every event; a ' +
    'subscription to it gets all but the service’s own, `postrider.…`).',
  examples: ['order.*'],
});
export const eventTypePattern = named(
  'EventTypePattern',
  shownAs(patternText, { ...patternText, maxLength: EVENT_TYPE_LENGTH_MAX, pattern: EVENT_TYPE_PATTERN_FORM }),
);
