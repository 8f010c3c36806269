// /v1/events/batch: many events in one request, each accepted or refused by itself.
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../../model/error.ts';
import { BATCH_BYTES_MAX, BODY_BYTES_MAX, ENVELOPE_BYTES_MAX } from '../../model/event.ts';
import { describeError, toApiError } from '../error-response.ts';
import { readEvent } from '../event-input.ts';
import { presentEventWithDeliveries } from '../present.ts';
import type { JsonItem } from '../request-json.ts';
import type { ApiApp } from '../route-config.ts';
import { batchInput, batchResults, eventInput } from '../schemas/event.ts';
import type { EventInput } from '../schemas/event.ts';
import type { ApiServices } from '../services.ts';
import { explainFaults } from '../validation.ts';

const EVENT_BYTES_MAX = BODY_BYTES_MAX + ENVELOPE_BYTES_MAX;

export function addEventBatchRoutes(app: ApiApp, services: ApiServices): void {
  app.route({ method: 'POST', url: '/v1/events/batch', ...batch, handler: (request) => acceptAll(services, request) });
}

const batch = {
  schema: {
    tags: ['Events'],
    operationId: 'createEvents',
    summary: 'Accept up to 1,000 events',
    description: 'Each event gets the result that it would get by itself; those that are good are accepted.',
    body: batchInput,
    response: { 200: batchResults },
  },
  config: {
    scope: 'publish',
    errors: [],
    bodyBytesMax: BATCH_BYTES_MAX,
    bodyShape: { items: { name: 'events', shape: { raw: 'body', isRawOpaque: true } } },
  },
} as const;

async function acceptAll(services: ApiServices, request: FastifyRequest) {
  const { events } = request.body as { events: JsonItem[] };
  const validate = createValidator(request);
  // Not one after the other: they share transactions, and of equal idempotency keys the first submitted wins.
  const data = await Promise.all(events.map((item, index) => acceptItem(services, request, { item, index, validate })));
  return { data };
}

type Validator = (item: JsonItem) => EventInput;

function createValidator(request: FastifyRequest): Validator {
  const validate = request.getValidationFunction(eventInput) ?? request.compileValidationSchema(eventInput);
  return ({ value, fault, byteLength }) => {
    if (fault !== null) throw fault;
    if (byteLength > EVENT_BYTES_MAX) {
      throw new ApiError('body_too_large', `the event is longer than the ${EVENT_BYTES_MAX} bytes that are possible`);
    }
    if (!validate(value)) throw explainFaults(validate.errors ?? [], 'body');
    return value as EventInput;
  };
}

async function acceptItem(
  { acceptor, log }: ApiServices,
  request: FastifyRequest,
  { item, index, validate }: { item: JsonItem; index: number; validate: Validator },
) {
  try {
    const accepted = await acceptor.accept(readEvent(validate(item), request.caller.environment));
    const event = presentEventWithDeliveries(accepted.event, accepted.deliveries);
    return { status: accepted.isRepeat ? 200 : 202, event };
  } catch (fault) {
    const error = toApiError(fault, { requestId: request.id, route: '/v1/events/batch', log });
    const described = describeError(error, request.id);
    return { status: error.status, error: { ...described, param: `/events/${index}${error.param ?? ''}` } };
  }
}
