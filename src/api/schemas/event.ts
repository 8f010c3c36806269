import { Type } from './type.ts';
import type { Static } from 'typebox';
import { BATCH_EVENTS_MAX } from '../../model/event.ts';
import { delivery, deliveryStatus } from './delivery.ts';
import { errorMembers } from './error.ts';
import { eventType, eventTypePattern } from './event-type.ts';
import {
  anyObject,
  closed,
  destinationIds,
  id,
  named,
  nullable,
  omissible,
  pageOf,
  pageQuery,
  PRINTABLE_ASCII,
  shownAs,
  time,
  timeInput,
} from './fields.ts';

export const eventBody = anyObject({
  description: 'What the destinations get: kept and delivered byte for byte, at most 262,144 bytes.',
  examples: [{ order_id: 'A-1001', total: 129.9, currency: 'EUR' }],
});

export const eventInput = named(
  'EventInput',
  closed({
    type: eventType,
    body: eventBody,
    idempotency_key: omissible(
      Type.String({
        minLength: 1,
        maxLength: 255,
        pattern: PRINTABLE_ASCII.pattern,
        description: 'Repeats of the same request within 24 hours get the stored event. Printable ASCII.',
        examples: ['order-A-1001-paid'],
      }),
    ),
    occurred_at: omissible(timeInput('When it happened; absent: now.')),
  }),
);
export type EventInput = Static<typeof eventInput>;

const eventMembers = {
  event_id: id('evt'),
  type: eventType,
  idempotency_key: nullable(Type.String()),
  occurred_at: time('When it happened, as its producer says.'),
  created_at: time('When it was accepted.'),
};
export const scheduledDelivery = named(
  'ScheduledDelivery',
  closed({ id: id('dlv'), destination_id: id('dst'), subscription_id: id('sub'), status: deliveryStatus }),
);
const deliveries = Type.Array(scheduledDelivery);

export const event = named('Event', closed(eventMembers));
export const acceptedEvent = named('AcceptedEvent', closed({ ...eventMembers, deliveries }));
export const eventWithBody = named('EventWithBody', closed({ ...eventMembers, deliveries, body: nullable(eventBody) }));
export const eventPage = pageOf(event);

export const eventQuery = closed({
  type: Type.Optional(eventTypePattern),
  since: Type.Optional(timeInput('Accepted then or later.')),
  until: Type.Optional(timeInput('Accepted before then.')),
  ...pageQuery,
});

const batchSize = { minItems: 1, maxItems: BATCH_EVENTS_MAX };

/** Each event is judged alone, so that one that is wrong leaves the others alone. */
export const batchInput = named(
  'BatchInput',
  closed({ events: Type.Array(shownAs(Type.Unknown(), eventInput), batchSize) }),
);

/** A response of its own has a header for the wait. */
const batchError = named(
  'BatchError',
  closed({
    ...errorMembers,
    retry_after_seconds: Type.Optional(
      Type.Integer({ description: 'With 503: how long to wait before this event may be sent again.' }),
    ),
  }),
);

export const batchResult = named(
  'BatchResult',
  closed({
    status: Type.Integer({ description: 'What POST /v1/events would have answered.' }),
    event: Type.Optional(acceptedEvent),
    error: Type.Optional(batchError),
  }),
);
export const batchResults = named(
  'BatchResults',
  closed({
    data: Type.Array(batchResult, { description: 'One for each event, in their order: `event` or `error`.' }),
  }),
);

export const replayInput = named(
  'ReplayInput',
  closed({
    destination_ids: Type.Optional(
      destinationIds('Only to these; each must have a matching subscription. Absent: to all that match now.'),
    ),
  }),
);
export const replayedDeliveries = named('ReplayedDeliveries', closed({ data: Type.Array(delivery) }));
