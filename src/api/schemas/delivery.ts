import { Type } from './type.ts';
import type { Static } from 'typebox';
import { ATTEMPT_ERROR_LENGTH_MAX, OUTCOMES } from '../../model/attempt.ts';
import { DEAD_REASONS, DELIVERY_STATUSES, RESPONSE_CODES_MAX } from '../../model/delivery.ts';
import { eventType } from './event-type.ts';
import { closed, FUTURE_TIME, id, named, nullable, oneOf, pageOf, pageQuery, time, timeInput } from './fields.ts';

export const deliveryStatus = named('DeliveryStatus', oneOf(DELIVERY_STATUSES));
export const deadReason = named(
  'DeadReason',
  oneOf(DEAD_REASONS, { description: 'Why it ended without success; null unless it is dead.' }),
);

const deliveryMembers = {
  id: id('dlv'),
  event_id: id('evt'),
  event_type: eventType,
  destination_id: id('dst'),
  subscription_id: id('sub'),
  status: deliveryStatus,
  dead_reason: nullable(deadReason),
  origin: named('DeliveryOrigin', oneOf(['event', 'replay'])),
  attempt_count: Type.Integer({ description: 'Attempts made, of every kind.' }),
  retry_count: Type.Integer({ description: 'Attempts after the first.' }),
  response_codes: Type.Array(nullable(Type.Integer()), {
    maxItems: RESPONSE_CODES_MAX,
    description: 'One for each attempt, oldest first, the newest 50; null: no response.',
  }),
  next_attempt_at: nullable(time('When the next attempt is due; null: none is, or it is held.', FUTURE_TIME)),
  created_at: time('When it was scheduled.'),
  updated_at: time('When it last changed.'),
  completed_at: nullable(time('When it ended; null: it has not.')),
};

export const outcome = named('Outcome', oneOf(OUTCOMES));
export const headerLists = Type.Unsafe<Record<string, string[]>>({
  type: 'object',
  additionalProperties: { type: 'array', items: { type: 'string' } },
});

export const attemptMembers = {
  attempt: Type.Integer({ description: 'Counts from 1.' }),
  trigger: named('AttemptTrigger', oneOf(['schedule', 'manual'])),
  started_at: time('When the request began.'),
  duration_ms: Type.Integer(),
  outcome,
  response_code: nullable(Type.Integer()),
  response_headers: nullable(headerLists),
  response_body: nullable(Type.String({ description: 'What was kept of it; null: no response, or no longer kept.' })),
  response_body_encoding: nullable(named('BodyEncoding', oneOf(['utf8', 'base64']))),
  response_body_truncated: Type.Boolean(),
  error: nullable(Type.String({ maxLength: ATTEMPT_ERROR_LENGTH_MAX })),
};
export const attempt = named('Attempt', closed(attemptMembers));

export const delivery = named('Delivery', closed(deliveryMembers));
export const deliveryWithRetries = named(
  'DeliveryWithRetries',
  closed({
    ...deliveryMembers,
    retries: Type.Array(attempt, { description: 'Every attempt, the first included, oldest first.' }),
  }),
);
export const deliveryPage = pageOf(delivery);

const filters = {
  event_id: Type.Optional(id('evt')),
  destination_id: Type.Optional(id('dst')),
  since: Type.Optional(timeInput('Scheduled then or later.')),
  until: Type.Optional(timeInput('Scheduled before then.')),
};

export const deliveryQuery = closed({ ...filters, status: Type.Optional(deliveryStatus), ...pageQuery });
export type DeliveryQuery = Static<typeof deliveryQuery>;

/** The same parameters, of which one means little here. */
export const deadDeliveryQuery = closed({
  ...filters,
  status: Type.Optional(
    oneOf(DELIVERY_STATUSES, {
      description: 'Does not filter: every row is `dead`. With any other status the page is empty.',
      examples: ['dead'],
    }),
  ),
  ...pageQuery,
});
