import { Type } from 'typebox';
import type { Static } from 'typebox';
import { anyObject, closed, id, named, nullable, omissible, pageOf, time } from './fields.ts';

const eventType = Type.String({
  description: 'An event type, or a pattern: `P.*` (P and one more segment), `P.**` (one or more), `**` (every event).',
  examples: ['order.*'],
});

const filter = anyObject({
  description: 'Conditions on the event’s body, all of which must hold. The guide on filters has the grammar.',
  examples: [{ '$.currency': 'EUR', '$.total': { $gte: 100 } }],
});

/** The filter is read as the text that was sent, so that the numbers in it are judged as they were written. */
export const subscriptionInput = closed({
  destination_id: id('dst'),
  event_type: eventType,
  filter: omissible(filter),
});

export type SubscriptionInput = Static<typeof subscriptionInput>;

export const subscription = named(
  'Subscription',
  closed({
    id: id('sub'),
    destination_id: id('dst'),
    event_type: eventType,
    filter: nullable(filter),
    created_at: time('When it was made.'),
  }),
);
export const subscriptionPage = pageOf(subscription.ref);
