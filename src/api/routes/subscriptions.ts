// /v1/subscriptions: which events go to which destination.
import { hash } from 'node:crypto';
import { checkPattern } from '../input/event-input.ts';
import { Type } from '../schemas/type.ts';
import { filterIdentity } from '../../match/filter/json.ts';
import { isFilterFault, parseFilter } from '../../match/filter/parse.ts';
import { ApiError } from '../../model/error.ts';
import { idTime, isId } from '../../model/id.ts';
import { SUBSCRIPTIONS_PER_DESTINATION_MAX, type Subscription } from '../../model/subscription.ts';
import { EMPTY_PAGE } from '../input/cursor.ts';
import { notFound, readPathId } from '../input/path-id.ts';
import { presentSubscription } from '../output/present.ts';
import { piecePage, sendPieces } from '../output/pieces.ts';
import { RawObject } from '../input/request-json.ts';
import { LOCATION, type ApiApp, type Shared } from '../route-config.ts';
import { closed, id, pageQuery } from '../schemas/fields.ts';
import { subscription, subscriptionInput, subscriptionPage, type SubscriptionInput } from '../schemas/subscription.ts';
import type { ApiServices } from '../services.ts';

const tags = ['Subscriptions'];

/** The serialiser is looked up by this object. */
const SUBSCRIPTION: Record<string, unknown> = { ...subscription };

export function addSubscriptionRoutes(app: ApiApp, services: ApiServices, { cursors, takeBreak }: Shared): void {
  const { store } = services;

  app.post('/v1/subscriptions', creation, async ({ caller, body }, reply) => {
    const { isNew, stored } = await create(services, caller.environment, body);
    reply.code(isNew ? 201 : 200).header('location', `/v1/subscriptions/${stored.id}`);
    return presentSubscription(stored);
  });

  app.get('/v1/subscriptions', listing, async ({ caller, query }, reply) => {
    const { environment } = caller;
    const { destination_id: destinationId = null } = query;
    const filters = [destinationId];
    const scope = { endpoint: 'subscriptions', prefix: 'sub', environments: [environment], filters } as const;
    const request = cursors.open(scope, query);
    if (destinationId !== null && !isId('dst', destinationId)) return EMPTY_PAGE;
    const page = await store.listSubscriptions({ environment, destinationId, ...request });
    const write = (row: Subscription): string => reply.serializeInput(presentSubscription(row), SUBSCRIPTION);
    const inMemory = page.rows.reduce((sum, { filter }) => sum + (filter?.length ?? 0), 0);
    return sendPieces(reply, piecePage(cursors.close(scope, page), write, takeBreak), { status: 200, inMemory });
  });

  app.get('/v1/subscriptions/:id', reading, async ({ caller, params }) => {
    const found = await store.readSubscription({ environment: caller.environment, id: readPathId(params, 'sub') });
    if (found === null) throw notFound('subscription_not_found');
    return presentSubscription(found);
  });

  app.delete('/v1/subscriptions/:id', deletion, async ({ caller, params }, reply) => {
    const { environment } = caller;
    const isDeleted = await store.deleteSubscription({ environment, id: readPathId(params, 'sub') });
    if (!isDeleted) throw notFound('subscription_not_found');
    await services.confirmChange({ environment, destinationId: null });
    return reply.code(204).send(null);
  });
}

const creation = {
  schema: {
    tags,
    operationId: 'createSubscription',
    summary: 'Subscribe a destination to events',
    description: 'If the destination has the same subscription already, the answer is 200 with the one that exists.',
    body: subscriptionInput,
    response: { 200: subscription, 201: subscription },
  },
  config: {
    scope: 'manage',
    errors: ['destination_not_found', 'invalid_event_type_pattern', 'invalid_filter', 'over_subscription_limit'],
    bodyShape: { raw: 'filter' },
    responseDescriptions: { 200: 'It was there already.' },
    responseHeaders: { 200: LOCATION, 201: LOCATION },
  },
} as const;

const listing = {
  schema: {
    tags,
    operationId: 'listSubscriptions',
    summary: 'List subscriptions, newest first',
    querystring: closed({ destination_id: Type.Optional(id('dst')), ...pageQuery }),
    response: { 200: subscriptionPage },
  },
  config: { scope: 'read', errors: ['invalid_cursor'] },
} as const;

const reading = {
  schema: {
    tags,
    operationId: 'readSubscription',
    summary: 'Read a subscription',
    response: { 200: subscription },
  },
  config: { scope: 'read', errors: ['subscription_not_found'] },
} as const;

const deletion = {
  schema: {
    tags,
    operationId: 'deleteSubscription',
    summary: 'Delete a subscription',
    description: 'Events posted after the 204 no longer go through it; deliveries that exist go on.',
    response: { 204: Type.Null({ description: 'It is deleted.' }) },
  },
  config: { scope: 'manage', errors: ['subscription_not_found'] },
} as const;

async function create(
  services: ApiServices,
  environment: number,
  input: SubscriptionInput,
): Promise<{ isNew: boolean; stored: Subscription }> {
  const { store, limits } = services;
  const wanted = build(services, environment, input);
  const limitsOfStore = {
    perDestinationMax: SUBSCRIPTIONS_PER_DESTINATION_MAX,
    perEnvironmentMax: limits.maxSubscriptions,
  };
  const request = { subscription: wanted, identity: identityOf(wanted) };
  const answer = await store.createSubscription(request, limitsOfStore);
  if (!('subscription' in answer)) {
    throw answer.result === 'destination_not_found' ? noDestination() : overLimit(answer.result, limitsOfStore);
  }
  // Also for one that exists: whoever made it may not have been answered yet.
  await services.confirmChange({ environment, destinationId: null });
  return { isNew: answer.result === 'created', stored: answer.subscription };
}

function build({ ids }: ApiServices, environment: number, input: SubscriptionInput): Subscription {
  const eventType = checkPattern(input.event_type, '/event_type');
  const filter = readFilter(input.filter);
  if (!isId('dst', input.destination_id)) throw noDestination();
  const subscriptionId = ids.next('sub');
  return {
    id: subscriptionId,
    environment,
    destinationId: input.destination_id,
    eventType,
    filter,
    createdAt: idTime(subscriptionId),
  };
}

/** The filter's text as it was sent: what it parses to is what its numbers say, not what a double makes of them. */
function readFilter(filter: unknown): string | null {
  if (!(filter instanceof RawObject)) return null;
  const text = filter.text();
  const parsed = parseFilter(text);
  if (!isFilterFault(parsed)) return text;
  throw new ApiError('invalid_filter', parsed.message, { param: `/filter${parsed.pointer}` });
}

function identityOf({ eventType, filter }: Subscription): Uint8Array {
  return hash('sha256', JSON.stringify([eventType, filter === null ? null : filterIdentity(filter)]), 'buffer');
}

function noDestination(): ApiError {
  return notFound('destination_not_found', { param: '/destination_id' });
}

function overLimit(
  result: 'over_destination_limit' | 'over_environment_limit',
  { perDestinationMax, perEnvironmentMax }: { perDestinationMax: number; perEnvironmentMax: number },
): ApiError {
  const remedy = 'delete some that are not used, or have one pattern such as order.** for many event types';
  const message =
    result === 'over_destination_limit'
      ? `the destination has ${perDestinationMax} subscriptions already, and may have no more: ${remedy}`
      : `the environment has ${perEnvironmentMax} subscriptions already: ${remedy}; or raise MAX_SUBSCRIPTIONS`;
  return new ApiError('over_subscription_limit', message);
}
