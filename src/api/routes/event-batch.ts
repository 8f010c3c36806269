// /v1/events/batch: many events in one request, each accepted or refused by itself.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AcceptedEvent } from '../../accept/accept.ts';
import { Allowance } from '../../accept/deliveries.ts';
import { ApiError } from '../../model/error.ts';
import {
  BATCH_BYTES_MAX,
  BATCH_DELIVERIES_MAX,
  BATCH_EVENTS_MAX,
  BODY_BYTES_MAX,
  ENVELOPE_BYTES_MAX,
} from '../../model/event.ts';
import { createBreaks } from '../../runtime/clock.ts';
import { describeError, retryAfterSecondsOf, toApiError } from '../output/error-response.ts';
import { pieceAccepted } from '../output/event-answer.ts';
import { parseEvent } from '../input/event-input.ts';
import { sendPieces, type Piece } from '../output/pieces.ts';
import type { JsonItem } from '../input/request-json.ts';
import type { ApiApp } from '../route-config.ts';
import { batchInput, batchResult, batchResults, eventInput, type EventInput } from '../schemas/event.ts';
import type { ApiServices } from '../services.ts';
import { explainFaults } from '../input/validation.ts';

const EVENT_BYTES_MAX = BODY_BYTES_MAX + ENVELOPE_BYTES_MAX;
/** Two transactions: one is written while the next is matched. An event alone may have more. */
const DELIVERIES_AHEAD_MAX = 10_000;
/** Then other requests get their turn. */
const TURN_MS_MAX = 5;

export function addEventBatchRoutes(app: ApiApp, services: ApiServices): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (request.headers['idempotency-key'] !== undefined) {
      const message = 'a batch has no key of its own: give each event its "idempotency_key", and leave the header out';
      throw new ApiError('invalid_request', message);
    }
    await sendPieces(reply, pieceResults(services, request, reply), { status: 200 });
  };
  app.route({ method: 'POST', url: '/v1/events/batch', ...batch, handler });
}

const batch = {
  schema: {
    tags: ['Events'],
    operationId: 'createEvents',
    summary: 'Accept up to 1,000 events',
    description:
      'Each event gets the result that it would get by itself; those that are good are accepted. A batch makes at ' +
      'most 100,000 deliveries: from the first event on that does not fit, results are `unavailable`, to be sent ' +
      'again in another batch.',
    body: batchInput,
    response: { 200: batchResults },
  },
  config: {
    scope: 'publish',
    errors: [],
    bodyBytesMax: BATCH_BYTES_MAX,
    bodyShape: {
      isFlat: true,
      items: { name: 'events', shape: { raw: 'body', isRawOpaque: true, isFlat: true }, max: BATCH_EVENTS_MAX },
    },
  },
} as const;

async function* pieceResults(
  services: ApiServices,
  request: FastifyRequest,
  reply: FastifyReply,
): AsyncGenerator<Piece> {
  let separator = '{"data":[';
  for await (const { error, accepted } of acceptInOrder(services, request)) {
    yield separator;
    separator = ',';
    if (error !== null) {
      yield reply.serializeInput(error, BATCH_RESULT);
      continue;
    }
    yield `{"status":${accepted.isRepeat ? 200 : 202},"event":`;
    yield* pieceAccepted(services, reply, accepted);
    yield '}';
  }
  yield ']}';
}

/** The serialiser is looked up by this object. */
const BATCH_RESULT: Record<string, unknown> = { ...batchResult };

/**
 * Events are not accepted one after the other: they share transactions. They are matched one after the other, for of
 * equal idempotency keys the first wins, and only as far ahead of their answers that what is matched and not yet taken
 * by the caller is bounded. Who breaks the connection off ends the batch there.
 */
async function* acceptInOrder(services: ApiServices, request: FastifyRequest): AsyncGenerator<Result> {
  const { events } = request.body as { events: JsonItem[] };
  const begin = createBegin(services, request);
  const takeBreak = createBreaks(services.clock, TURN_MS_MAX);
  const begun: Begun[] = [];
  let deliveriesAhead = 0;
  for (let next = 0; next < events.length || begun.length > 0;) {
    while (next < events.length && deliveriesAhead < DELIVERIES_AHEAD_MAX) {
      const one = await begin(events[next]!, next++);
      deliveriesAhead += one.deliveryCount;
      begun.push(one);
      await takeBreak();
    }
    const first = begun.shift()!;
    yield await first.result;
    deliveriesAhead -= first.deliveryCount;
  }
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

type Begun = { deliveryCount: number; result: Promise<Result> };
type Result = { error: null; accepted: AcceptedEvent } | { error: Refused; accepted: null };
type Refused = ReturnType<typeof presentRefusal>;

/** Never rejects: an event that is refused leaves the others alone. */
function createBegin(services: ApiServices, request: FastifyRequest) {
  const { acceptor, log, onStoreAway, keepTraceparent } = services;
  const { environment } = request.caller;
  const traceparent = keepTraceparent?.(request.headers['traceparent']) ?? null;
  const validate = createValidator(request);
  const allowance = new Allowance(BATCH_DELIVERIES_MAX);
  return async (item: JsonItem, index: number): Promise<Begun> => {
    const refuse = (fault: unknown): Result => {
      const error = toApiError(fault, { log, onStoreAway, requestId: request.id, route: '/v1/events/batch' });
      return { error: presentRefusal(error, request.id, index), accepted: null };
    };
    try {
      const incoming = parseEvent(validate(item), { environment, traceparent, keyHeader: null });
      const { deliveryCount, stored } = await acceptor.begin(incoming, allowance);
      return { deliveryCount, result: stored.then((accepted) => ({ error: null, accepted }), refuse) };
    } catch (fault) {
      return { deliveryCount: 0, result: Promise.resolve(refuse(fault)) };
    }
  };
}

function presentRefusal(error: ApiError, requestId: string, index: number) {
  const param = `/events/${index}${error.param ?? ''}`;
  const wait = retryAfterSecondsOf(error);
  const described = { ...describeError(error, requestId), param };
  return { status: error.status, error: wait === null ? described : { ...described, retry_after_seconds: wait } };
}
