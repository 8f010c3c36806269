import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ATTEMPT_ERROR_LENGTH_MAX, OUTCOMES } from '../../model/attempt.ts';
import { DEAD_REASONS, DELIVERY_STATUSES, RESPONSE_CODES_MAX } from '../../model/delivery.ts';
import { closed, id, named, nullable, oneOf, pageOf, pageQuery, time, timeInput } from './fields.ts';

export const deliveryStatus = oneOf(DELIVERY_STATUSES);

const deliveryMembers = {
  id: id('dlv'),
  event_id: id('evt'),
  event_type: Type.String({ examples: ['order.paid'] }),
  destination_id: id('dst'),
  subscription_id: id('sub'),
  status: deliveryStatus,
  dead_reason: nullable(oneOf(DEAD_REASONS, { description: 'Why it ended without success; null unless it is dead.' })),
  origin: oneOf(['event', 'replay']),
  attempt_count: Type.Integer({ description: 'Attempts made, of every kind.' }),
  retry_count: Type.Integer({ description: 'Attempts after the first.' }),
  response_codes: Type.Array(nullable(Type.Integer()), {
    maxItems: RESPONSE_CODES_MAX,
    description: 'One for each attempt, oldest first, the newest 50; null: no response.',
  }),
  next_attempt_at: nullable(time('When the next attempt is due; null: none is, or it is held.')),
  created_at: time('When it was scheduled.'),
  updated_at: time('When it last changed.'),
  completed_at: nullable(time('When it ended; null: it has not.')),
};

const retry = named(
  'Attempt',
  closed({
    attempt: Type.Integer({ description: 'Counts from 1.' }),
    trigger: oneOf(['schedule', 'manual']),
    started_at: time('When the request began.'),
    duration_ms: Type.Integer(),
    outcome: oneOf(OUTCOMES),
    response_code: nullable(Type.Integer()),
    response_headers: Type.Unsafe<Record<string, string[]> | null>({
      type: ['object', 'null'],
      additionalProperties: { type: 'array', items: { type: 'string' } },
    }),
    response_body: nullable(Type.String({ description: 'What was kept of it; null: no response, or no longer kept.' })),
    response_body_encoding: nullable(oneOf(['utf8', 'base64'])),
    response_body_truncated: Type.Boolean(),
    error: nullable(Type.String({ maxLength: ATTEMPT_ERROR_LENGTH_MAX })),
  }),
);
export const attempt = retry;

export const delivery = named('Delivery', closed(deliveryMembers));
export const deliveryWithRetries = named(
  'DeliveryWithRetries',
  closed({
    ...deliveryMembers,
    retries: Type.Array(retry.ref, { description: 'Every attempt, the first included, oldest first.' }),
  }),
);
export const deliveryPage = pageOf(delivery.ref);

export const deliveryQuery = closed({
  event_id: Type.Optional(id('evt')),
  destination_id: Type.Optional(id('dst')),
  status: Type.Optional(deliveryStatus),
  since: Type.Optional(timeInput('Scheduled then or later.')),
  until: Type.Optional(timeInput('Scheduled before then.')),
  ...pageQuery,
});
export type DeliveryQuery = Static<typeof deliveryQuery>;
