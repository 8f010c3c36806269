// The request that a destination gets, for those who write receivers: dispatch/payloads.ts and attempt/perform.ts write
// it byte by byte, this describes it, and a test holds what arrives against the description.
import { Type } from '../schemas/type.ts';
import { eventType } from '../schemas/event-type.ts';
import { anyObject, closed, named, time } from '../schemas/fields.ts';
import { OPERATIONAL_EVENTS } from '../schemas/operational-events.ts';
import type { Components, Json } from './components.ts';

const envelope = {
  id: Type.String({ description: 'The event’s id.', examples: ['evt_01kg9qz3xefa3vqtdw5f0bz7ra'] }),
  type: eventType,
  timestamp: time('When it happened, as its producer says: `occurred_at`.'),
};

const webhookPayload = named(
  'WebhookPayload',
  closed({
    ...envelope,
    data: anyObject({
      description: 'The event’s `body`, byte for byte as it was posted.',
      examples: [{ order_id: 'A-1001', total: 129.9, currency: 'EUR' }],
    }),
  }),
);

const webhookHeaders = {
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

const testHeader = Type.Literal('true', {
  description:
    'There only with `POST /v1/destinations/{id}/test`: the event is in no list. Check the signature, answer.',
});

/** Under a name each: an event of a producer, and those of the service's own. */
export function describeWebhooks(components: Components): Record<string, Json> {
  const own = Object.entries(OPERATIONAL_EVENTS).map(([type, { meaning, body }]) => {
    const payload = closed({ ...envelope, type: Type.Literal(type), data: body });
    const sent = { operationId: operationIdOf(type), summary: meaning, requestBody: bodyOf(components, payload) };
    return [type, { post: { ...sent, tags, security: [], description: 'Sent as any event.', responses: LIKE_ANY } }];
  });
  return { event: { post: describeWebhook(components) }, ...(Object.fromEntries(own) as Record<string, Json>) };
}

const tags = ['Webhooks'];
const LIKE_ANY = { '2XX': { description: 'Delivered.' }, default: { description: 'As for any event.' } };

/** `postrider.delivery.dead`: `receiveDeliveryDead`. */
function operationIdOf(type: string): string {
  const words = type.split('.').slice(1);
  return `receive${words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')}`;
}

function bodyOf(components: Components, payload: object): Json {
  return { required: true, content: { 'application/json': { schema: components.schema(payload) } } };
}

function describeWebhook(components: Components): Json {
  return {
    operationId: 'receiveEvent',
    tags,
    summary: 'An event, for one destination',
    description:
      'Sent to the destination’s `url`, and signed as Standard Webhooks 1.0.0 has it. At least once and in no order: ' +
      'drop what has a `webhook-id` that you have seen. The headers that the destination was given come too. ' +
      'Anything but a 2xx within the time-out is tried again by its retry policy; redirects are not followed.',
    // A receiver knows the sender by the signature.
    security: [],
    parameters: [
      ...Object.entries(webhookHeaders).map(([name, header]) => describeHeader(components, name, header, true)),
      describeHeader(components, 'postrider-test', testHeader, false),
    ],
    requestBody: bodyOf(components, webhookPayload),
    responses: {
      '2XX': { description: 'Delivered. The body is kept up to 1 KiB and means nothing.' },
      410: { description: 'Never again: the delivery is dead at once, and the destination paused.' },
      429: { description: 'Not so fast: nothing goes to this destination until `Retry-After`.', headers: RETRY_AFTER },
      503: { description: 'Not now: this delivery waits until `Retry-After` at least.', headers: RETRY_AFTER },
      default: { description: 'Failed: tried again by the retry policy until that is spent, then dead.' },
    },
  };
}

function describeHeader(components: Components, name: string, header: object, required: boolean): Json {
  const { description, ...schema } = components.schema(header);
  return { name, in: 'header', required, description, schema };
}

const RETRY_AFTER = {
  'Retry-After': { schema: { type: 'string' }, description: 'Seconds, or an HTTP date; of at most 24 hours.' },
};
