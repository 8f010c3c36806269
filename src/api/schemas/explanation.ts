import { Type } from './type.ts';
import type { Static } from 'typebox';
import { eventBody } from './event.ts';
import { eventType } from './event-type.ts';
import { closed, id, named } from './fields.ts';

export const explainInput = named(
  'ExplainInput',
  closed(
    {
      type: Type.Optional(eventType),
      body: Type.Optional(eventBody),
      event_id: Type.Optional(id('evt')),
    },
    { description: 'Either `type` and `body`, or the `event_id` of an event that was accepted.' },
  ),
);
export type ExplainInput = Static<typeof explainInput>;

const condition = named(
  'ExplainedCondition',
  closed({
    path: Type.String({ examples: ['$.total'] }),
    operator: Type.String({ examples: ['$gte'] }),
    expected: Type.Unknown({ description: 'What the filter gives the operator.', examples: [100] }),
    found: Type.Unknown({
      description:
        'What the path selects in the body: a value, or with `[*]` the array of all; null: nothing. Of more than 256 ' +
        'characters of JSON the first, as a string that ends in `…`.',
      examples: [129.9],
    }),
    holds: Type.Boolean(),
  }),
);

const subscription = named(
  'ExplainedSubscription',
  closed({
    subscription_id: id('sub'),
    destination_id: id('dst'),
    matches: Type.Boolean({ description: 'Whether the event goes there.' }),
    pattern_matches: Type.Boolean({
      description: 'Whether the pattern matches; if not, it would with one segment of the event type more or less.',
    }),
    filter: Type.Array(condition, {
      description: 'Every condition of the filter, in its order, those within `$and`, `$or` and `$not` too.',
    }),
  }),
);

export const explanation = named(
  'Explanation',
  closed({
    subscriptions: Type.Array(subscription, { description: 'At most 1,000 and 2 MiB, those that match first.' }),
  }),
);
