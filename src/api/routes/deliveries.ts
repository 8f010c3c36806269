// /v1/deliveries: what became of each event at each destination, and forcing another attempt.
import { isId, type DeliveryId } from '../../model/id.ts';
import type { SendAgainRequest, SendAgainResult } from '../../store/store.ts';
import type { ApiKey } from '../../model/api-key.ts';
import type { DeliveryStatus } from '../../model/delivery.ts';
import { ApiError } from '../../model/error.ts';
import { EMPTY_PAGE } from '../input/cursor.ts';
import { notFound, readPathId } from '../input/path-id.ts';
import { pieceDelivery, sizeOf } from '../output/delivery-answer.ts';
import { sendPieces } from '../output/pieces.ts';
import { present } from '../output/present.ts';
import type { ApiApp, Shared } from '../route-config.ts';
import { delivery, deliveryPage, deliveryQuery, deliveryWithRetries, type DeliveryQuery } from '../schemas/delivery.ts';
import type { ApiServices } from '../services.ts';
import { readTimeRange } from '../input/time-range.ts';

const tags = ['Deliveries'];

export function addDeliveryRoutes(app: ApiApp, services: ApiServices, { cursors, takeBreak }: Shared): void {
  const { store } = services;
  const list = createDeliveryList(services, cursors, 'deliveries');

  app.get('/v1/deliveries', listing, async ({ caller, query }) => list(caller, query, query.status ?? null));

  app.get('/v1/deliveries/:id', reading, async ({ caller, params }, reply) => {
    const id = readPathId(params, 'dlv');
    const found = await store.readDelivery({ environment: caller.environment, id });
    if (found === null) throw notFound('delivery_not_found');
    const pieces = pieceDelivery(services, reply, found, takeBreak);
    return sendPieces(reply, pieces, { status: 200, inMemory: sizeOf(found.attempts) });
  });

  app.post('/v1/deliveries/:id/retry', retrying, async ({ caller, params }, reply) => {
    const id = readPathId(params, 'dlv');
    reply.code(202);
    return sendAgain(services, caller, { id, noun: 'delivery' }, (request) => store.retryDelivery(request));
  });
}

const listing = {
  schema: {
    tags,
    operationId: 'listDeliveries',
    summary: 'List deliveries, newest first',
    querystring: deliveryQuery,
    response: { 200: deliveryPage },
  },
  config: { scope: 'read', errors: ['invalid_cursor'] },
} as const;

const reading = {
  schema: {
    tags,
    operationId: 'readDelivery',
    summary: 'Read a delivery with the whole history of its attempts',
    response: { 200: deliveryWithRetries },
  },
  config: { scope: 'read', errors: ['delivery_not_found'] },
} as const;

const retrying = {
  schema: {
    tags,
    operationId: 'retryDelivery',
    summary: 'Make one attempt now',
    description:
      'Outside the schedule, whatever the delivery’s status, even while its destination is paused. While an attempt ' +
      'is under way or a forced one waits, nothing is added.',
    response: { 202: delivery },
  },
  config: { scope: 'operate', errors: ['delivery_not_found', 'delivery_too_old', 'destination_not_found'] },
} as const;

/** The list of deliveries, and that of the dead ones. */
export function createDeliveryList({ store }: ApiServices, cursors: Shared['cursors'], endpoint: string) {
  return async ({ environment }: ApiKey, query: DeliveryQuery, status: DeliveryStatus | null) => {
    const { event_id: eventId = null, destination_id: destinationId = null } = query;
    const range = readTimeRange(query);
    const filters = [eventId, destinationId, query.status ?? null, range.since, range.until];
    const scope = { endpoint, prefix: 'dlv', environments: [environment], filters } as const;
    const request = cursors.open(scope, query);
    // Of an id that is the id of nothing.
    if (eventId !== null && !isId('evt', eventId)) return EMPTY_PAGE;
    if (destinationId !== null && !isId('dst', destinationId)) return EMPTY_PAGE;
    const filter = { eventId, destinationId, status, ...range };
    const page = await store.listDeliveries({ environment, filter, ...request });
    return cursors.close(scope, { ...page, rows: page.rows.map((row) => present(row)) });
  };
}

/** A manual retry or a DLQ replay: stored first, then handed to the dispatcher. */
export async function sendAgain(
  services: ApiServices,
  { environment }: ApiKey,
  { id, noun }: { id: DeliveryId; noun: string },
  store: (request: SendAgainRequest) => Promise<SendAgainResult>,
) {
  const now = services.clock.now();
  const result = await store({ environment, id, now, bodyCutoff: now - services.limits.bodyRetentionMs });
  if (result.result !== 'scheduled') throw cannotSendAgain(result.result, noun);
  if (result.open !== null) services.dispatch(result.open, result);
  return present(result.delivery);
}

function cannotSendAgain(reason: 'not_found' | 'too_old' | 'destination_deleted', noun: string): ApiError {
  if (reason === 'not_found') return notFound('delivery_not_found', { noun });
  return reason === 'too_old'
    ? new ApiError('delivery_too_old', 'the body of its event has been erased; post the event anew')
    : new ApiError('destination_not_found', 'the destination of this delivery was deleted; nothing can be sent');
}
