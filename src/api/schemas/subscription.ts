import type { Static } from 'typebox';
import { eventTypePattern } from './event-type.ts';
import { anyObject, closed, id, named, nullable, omissible, pageOf, shownAs, time } from './fields.ts';

const conditions = anyObject({
  description: 'Conditions on the event’s body, all of which must hold. The guide on filters has the grammar.',
  examples: [{ '$.currency': 'EUR', '$.total': { $gte: 100 } }],
});
/** Its grammar is checked by hand; the error points into it. */
const filter = named('Filter', shownAs(conditions, { ...conditions, minProperties: 1 }));

/** The filter is read as the text that was sent, so that the numbers in it are judged as they were written. */
export const subscriptionInput = named(
  'SubscriptionInput',
  closed({ destination_id: id('dst'), event_type: eventTypePattern, filter: omissible(filter) }),
);

export type SubscriptionInput = Static<typeof subscriptionInput>;

export const subscription = named(
  'Subscription',
  closed({
    id: id('sub'),
    destination_id: id('dst'),
    event_type: eventTypePattern,
    filter: nullable(filter),
    created_at: time('When it was made.'),
  }),
);
export const subscriptionPage = pageOf(subscription);
