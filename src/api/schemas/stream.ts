import { Type } from './type.ts';
import { DELIVERY_STATUSES } from '../../model/delivery.ts';
import { eventTypePattern } from './event-type.ts';
import { closed, id, oneOf, shownAs } from './fields.ts';
import { MESSAGE_KINDS } from '../../stream/message.ts';

const kindsText = Type.String({
  description: 'Only these kinds of messages, separated by commas; absent: all.',
  examples: ['attempt,delivery'],
});
const KINDS_FORM = `(?:${MESSAGE_KINDS.join('|')})`;

export const streamQuery = closed({
  kinds: Type.Optional(shownAs(kindsText, { ...kindsText, pattern: `^${KINDS_FORM}(?:,${KINDS_FORM})*$` })),
  destination_id: Type.Optional(id('dst')),
  event_type: Type.Optional(eventTypePattern),
  status: Type.Optional(
    oneOf([...DELIVERY_STATUSES, 'active', 'paused'], {
      description: 'Of a `delivery`, after an `attempt`, or of a `destination`. What has none is left out.',
      examples: ['dead'],
    }),
  ),
  bodies: Type.Optional(
    oneOf(['true', 'false'], { description: 'Whether `event` messages have the event’s `body`. Default false.' }),
  ),
});
