// /v1/dlq: the deliveries that ended without success, and giving one a fresh schedule.
import { EMPTY_PAGE } from '../input/cursor.ts';
import { readPathId } from '../input/path-id.ts';
import type { ApiApp, Shared } from '../route-config.ts';
import { deadDeliveryQuery, delivery, deliveryPage } from '../schemas/delivery.ts';
import type { ApiServices } from '../services.ts';
import { createDeliveryList, sendAgain } from './deliveries.ts';

const tags = ['Dead letters'];

export function addDlqRoutes(app: ApiApp, services: ApiServices, { cursors }: Shared): void {
  const { store } = services;
  const list = createDeliveryList(services, cursors, 'dlq');

  app.get('/v1/dlq', listing, async ({ caller, query }) => {
    const page = await list(caller, query, 'dead');
    return query.status === undefined || query.status === 'dead' ? page : EMPTY_PAGE;
  });

  app.post('/v1/dlq/:delivery_id/replay', replaying, async ({ caller, params }, reply) => {
    const id = readPathId(params, 'dlv', 'delivery_id');
    reply.code(202);
    return sendAgain(services, caller, { id, noun: 'dead delivery' }, (request) => store.replayDead(request));
  });
}

const listing = {
  schema: {
    tags,
    operationId: 'listDeadDeliveries',
    summary: 'List dead deliveries, newest first',
    querystring: deadDeliveryQuery,
    response: { 200: deliveryPage },
  },
  config: { scope: 'read', errors: ['invalid_cursor'] },
} as const;

const replaying = {
  schema: {
    tags,
    operationId: 'replayDeadDelivery',
    summary: 'Give a dead delivery a fresh schedule',
    description: 'It becomes `pending`; its history is kept. A delivery that is not dead is not in the DLQ: 404.',
    response: { 202: delivery },
  },
  config: { scope: 'operate', errors: ['delivery_not_found', 'delivery_too_old', 'destination_not_found'] },
} as const;
