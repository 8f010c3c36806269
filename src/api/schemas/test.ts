import { Type } from './type.ts';
import type { Static } from 'typebox';
import { attemptMembers, headerLists } from './delivery.ts';
import { eventBody } from './event.ts';
import { eventType } from './event-type.ts';
import { closed, named } from './fields.ts';

export const testInput = named(
  'TestInput',
  closed({ type: Type.Optional(eventType), body: Type.Optional(eventBody) }, { description: 'What is sent.' }),
);
export type TestInput = Static<typeof testInput>;

const request = closed(
  {
    headers: {
      ...headerLists,
      description:
        'Those that the service writes, and the destination’s own, whose values are `***`. ' +
        'Empty: it never came to be written.',
    },
    body: Type.String({ description: 'As it was sent and signed.' }),
  },
  { description: 'What the receiver got.' },
);

export const testAttempt = named('TestAttempt', closed({ ...attemptMembers, request }));
