// /v1/events: accepting events, and reading and replaying those that were accepted.
import type { FastifyReply } from 'fastify';
import type { Delivery } from '../../model/delivery.ts';
import { BODY_BYTES_MAX, ENVELOPE_BYTES_MAX, type Event } from '../../model/event.ts';
import { toTypeSelection, type TypeSelection } from '../../model/event-type.ts';
import { SCHEDULED_PAGE } from '../../store/store.ts';
import { pieceAccepted, pieceStored } from '../output/event-answer.ts';
import { checkPattern, parseEvent, readKeyHeader } from '../input/event-input.ts';
import { notFound, readPathId } from '../input/path-id.ts';
import { sendPieces, type Piece } from '../output/pieces.ts';
import { present, presentEvent, presentEventWithDeliveries } from '../output/present.ts';
import type { ApiApp, Shared } from '../route-config.ts';
import { delivery } from '../schemas/delivery.ts';
import {
  acceptedEvent,
  eventInput,
  eventPage,
  eventQuery,
  eventWithBody,
  replayedDeliveries,
  replayInput,
} from '../schemas/event.ts';
import type { ApiServices } from '../services.ts';
import { readTimeRange } from '../input/time-range.ts';

const tags = ['Events'];

export function addEventRoutes(app: ApiApp, services: ApiServices, { cursors }: Shared): void {
  const { store, acceptor, keepTraceparent } = services;

  app.post('/v1/events', acceptance, async ({ caller, body, headers, raw }, reply) => {
    const traceparent = keepTraceparent?.(headers['traceparent']) ?? null;
    const keyHeader = readKeyHeader(raw);
    const incoming = parseEvent(body, { environment: caller.environment, traceparent, keyHeader });
    const accepted = await acceptor.accept(incoming);
    if (!accepted.isRepeat && accepted.deliveries.length <= SCHEDULED_PAGE) {
      reply.code(202);
      return presentEventWithDeliveries(accepted.event, accepted.deliveries);
    }
    const repeated = { status: 200, headers: { 'idempotent-replayed': 'true' } };
    return sendPieces(reply, pieceAccepted(services, reply, accepted), accepted.isRepeat ? repeated : { status: 202 });
  });

  app.get('/v1/events', listing, async ({ caller, query }) => {
    const { environment } = caller;
    const type = readTypeSelection(query.type, 'type');
    const range = readTimeRange(query);
    const filters = [query.type ?? null, range.since, range.until];
    const scope = { endpoint: 'events', prefix: 'evt', environments: [environment], filters } as const;
    const page = await store.listEvents({ environment, type, ...range, ...cursors.open(scope, query) });
    return cursors.close(scope, { ...page, rows: page.rows.map(presentEvent) });
  });

  app.get('/v1/events/:id', reading, async ({ caller, params }, reply) => {
    const found = await store.readEvent({ environment: caller.environment, id: readPathId(params, 'evt') });
    if (found === null) throw notFound('event_not_found');
    const shown = isErased(services, found.event) ? { ...found, body: null } : found;
    return sendPieces(reply, pieceStored(services, reply, shown), { status: 200, inMemory: shown.body?.length ?? 0 });
  });

  app.post('/v1/events/:id/replay', replaying, async ({ caller, params, body }, reply) => {
    const destinationIds = body.destination_ids ?? null;
    const replay = { environment: caller.environment, eventId: readPathId(params, 'evt'), destinationIds };
    return sendPieces(reply, pieceRows(reply, await acceptor.replay(replay)), { status: 202 });
  });
}

/** Whether the body of an event is past its retention; its bytes may still be there for a while. */
export function isErased({ clock, limits }: ApiServices, { createdAt }: Event): boolean {
  return createdAt < clock.now() - limits.bodyRetentionMs;
}

const IDEMPOTENCY_KEY = {
  'Idempotency-Key': {
    description: 'The same as `idempotency_key`, for those who are used to it.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
} as const;

const IDEMPOTENT_REPLAYED = {
  'Idempotent-Replayed': { description: 'That nothing new was stored.', schema: { type: 'string', enum: ['true'] } },
} as const;

const acceptance = {
  schema: {
    tags,
    operationId: 'createEvent',
    summary: 'Accept an event',
    description:
      'When the 202 arrives, the event and its deliveries are stored for good. The same request under the same ' +
      'idempotency key gets 200 and what was stored the first time.',
    body: eventInput,
    response: { 200: acceptedEvent, 202: acceptedEvent },
  },
  config: {
    scope: 'publish',
    errors: ['invalid_event_type', 'idempotency_key_conflict', 'over_fanout_limit'],
    bodyBytesMax: BODY_BYTES_MAX + ENVELOPE_BYTES_MAX,
    bodyShape: { raw: 'body', isRawOpaque: true, isFlat: true },
    requestHeaders: IDEMPOTENCY_KEY,
    responseDescriptions: { 200: 'It had been accepted before: the stored event.' },
    responseHeaders: { 200: IDEMPOTENT_REPLAYED },
  },
} as const;

const listing = {
  schema: {
    tags,
    operationId: 'listEvents',
    summary: 'List events, newest first',
    querystring: eventQuery,
    response: { 200: eventPage },
  },
  config: { scope: 'read', errors: ['invalid_cursor', 'invalid_event_type_pattern'] },
} as const;

const reading = {
  schema: {
    tags,
    operationId: 'readEvent',
    summary: 'Read an event with its body and its deliveries',
    description: 'The body is as it was posted; null once it has been erased. Of its deliveries the newest 10,000.',
    response: { 200: eventWithBody },
  },
  config: { scope: 'read', errors: ['event_not_found'] },
} as const;

const replaying = {
  schema: {
    tags,
    operationId: 'replayEvent',
    summary: 'Send an event again to destinations that subscribe to it now',
    body: replayInput,
    response: { 202: replayedDeliveries },
  },
  config: {
    scope: 'operate',
    errors: ['event_not_found', 'event_too_old', 'destination_not_subscribed', 'over_fanout_limit'],
  },
} as const;

export function readTypeSelection(pattern: string | undefined, param: string): TypeSelection | null {
  return pattern === undefined ? null : toTypeSelection(checkPattern(pattern, param));
}

/** The serialiser is looked up by this object. */
const DELIVERY: Record<string, unknown> = { ...delivery };

async function* pieceRows(reply: FastifyReply, rows: Iterable<Delivery>): AsyncGenerator<Piece> {
  let separator = '{"data":[';
  for (const row of rows) {
    yield separator + reply.serializeInput(present(row), DELIVERY);
    separator = ',';
  }
  yield separator === ',' ? ']}' : `${separator}]}`;
}
