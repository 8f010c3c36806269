// What a destination gets. It is written byte by byte in dispatch/payloads.ts and attempt/sign.ts; this describes it.
import { Type } from 'typebox';
import { anyObject, closed, named, time } from './fields.ts';
import { eventType } from './event-type.ts';

export const webhookPayload = named(
  'WebhookPayload',
  closed({
    id: Type.String({ description: 'The event’s id.', examples: ['evt_01kg9qz3xefa3vqtdw5f0bz7ra'] }),
    type: eventType,
    timestamp: time('When it happened, as its producer says: `occurred_at`.'),
    data: anyObject({
      description: 'The event’s `body`, byte for byte as it was posted.',
      examples: [{ order_id: 'A-1001', total: 129.9, currency: 'EUR' }],
    }),
  }),
);

export const webhookHeaders = {
  'webhook-id': Type.String({
    description: 'The event’s id: the same on every retry and every replay. Drop what you have seen.',
    examples: ['evt_01kg9qz3xefa3vqtdw5f0bz7ra'],
  }),
  'webhook-timestamp': Type.String({
    description: 'When this attempt was made, in seconds since 1970. Refuse what is older than a few minutes.',
    pattern: '^[0-9]+$',
    examples: ['1769851800'],
  }),
  'webhook-signature': Type.String({
    description:
      '`v1,` and the HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>` in base64; more than one, separated by ' +
      'spaces, while signing keys overlap. One that fits is enough.',
    pattern: '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$',
    examples: ['v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='],
  }),
  'postrider-delivery-id': Type.String({
    description: 'The delivery that this is an attempt of.',
    examples: ['dlv_01kg9qz3xefa3vqtdw5f0bz7ra'],
  }),
  'postrider-attempt': Type.String({
    description: 'Which attempt of the delivery this is, from 1.',
    pattern: '^[1-9][0-9]*$',
    examples: ['1'],
  }),
  'user-agent': Type.String({ description: '`Postrider/` and its version.', examples: ['Postrider/0.1.0'] }),
};
