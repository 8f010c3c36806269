// The request that a destination gets, for those who write receivers. The dispatcher makes it (attempt/sign.ts,
// dispatch/payloads.ts); a test holds what arrives against this.
import { webhookHeaders, webhookPayload } from '../schemas/webhook.ts';
import type { Components, Json } from './components.ts';

export function describeWebhook(components: Components): Json {
  return {
    operationId: 'receiveEvent',
    tags: ['Webhooks'],
    summary: 'An event, for one destination',
    description:
      'Sent to the destination’s `url`, and signed as Standard Webhooks 1.0.0 has it. At least once and in no order: ' +
      'drop what has a `webhook-id` that you have seen. The headers that the destination was given come too. ' +
      'Anything but a 2xx within the time-out is tried again by its retry policy; redirects are not followed.',
    // A receiver knows the sender by the signature.
    security: [],
    parameters: Object.entries(webhookHeaders).map(([name, header]) => {
      const { description, ...schema } = components.schema(header);
      return { name, in: 'header', required: true, description, schema };
    }),
    requestBody: { required: true, content: { 'application/json': { schema: components.schema(webhookPayload) } } },
    responses: {
      '2XX': { description: 'Delivered. The body is kept up to 1 KiB and means nothing.' },
      410: { description: 'Never again: the delivery is dead at once, and the destination paused.' },
      429: { description: 'Not so fast: nothing goes to this destination until `Retry-After`.', headers: RETRY_AFTER },
      503: { description: 'Not now: this delivery waits until `Retry-After` at least.', headers: RETRY_AFTER },
      default: { description: 'Failed: tried again by the retry policy until that is spent, then dead.' },
    },
  };
}

const RETRY_AFTER = {
  'Retry-After': { schema: { type: 'string' }, description: 'Seconds, or an HTTP date; of at most 24 hours.' },
};
