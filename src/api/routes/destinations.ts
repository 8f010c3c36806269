// /v1/destinations: where events go.
import type { ApiKey } from '../../model/api-key.ts';
import {
  MAX_IN_FLIGHT_DEFAULT,
  SIGNATURE_STYLE_DEFAULT,
  type Destination,
  type DestinationChange,
  type DestinationWithKeys,
} from '../../model/destination.ts';
import { ApiError, cannotConnect } from '../../model/error.ts';
import { idTime, type DestinationId } from '../../model/id.ts';
import { closed, pageQuery } from '../schemas/fields.ts';
import {
  createdDestination,
  destination,
  destinationInput,
  destinationPage,
  destinationPatch,
  destinationStatus,
  type DestinationInput,
  type DestinationPatch,
} from '../schemas/destination.ts';
import { destinationState } from '../schemas/stats.ts';
import { checkHeaders, checkRetryPolicy, readUrl, writeMetadata } from '../input/destination-rules.ts';
import { notFound, readPathId } from '../input/path-id.ts';
import { HIDDEN, presentDestination } from '../output/present.ts';
import { piecePage, sendPieces } from '../output/pieces.ts';
import { LOCATION, type ApiApp, type Shared } from '../route-config.ts';
import type { ApiServices } from '../services.ts';
import { formatSecret, makeSigningKey, readSecret } from '../input/signing-secret.ts';
import { Type } from '../schemas/type.ts';

const PROBE_RETRY_SECONDS = 10;
const tags = ['Destinations'];

/** The serialiser is looked up by this object. */
const DESTINATION: Record<string, unknown> = { ...destination };

export function addDestinationRoutes(app: ApiApp, services: ApiServices, { cursors, takeBreak }: Shared): void {
  const { store, stats } = services;

  app.post('/v1/destinations', creation, async (request, reply) => {
    const created = await create(services, request.caller, request.body);
    reply.code(201).header('location', `/v1/destinations/${created.id}`);
    return { ...presentDestination(created), signing_secret: formatSecret(created.signingKeys[0]!.secret) };
  });

  app.get('/v1/destinations', listing, async ({ caller, query }, reply) => {
    const { environment } = caller;
    const { status = null, state = null } = query;
    const filters = state === null ? [status] : [status, state];
    const scope = { endpoint: 'destinations', prefix: 'dst', environments: [environment], filters } as const;
    const request = { environment, status, ...cursors.open(scope, query) };
    const page =
      state === null ? await store.listDestinations(request) : await stats.listByState({ ...request, state });
    const write = (row: Destination): string => reply.serializeInput(presentDestination(row), DESTINATION);
    const inMemory = page.rows.reduce((sum, { metadata }) => sum + metadata.length, 0);
    return sendPieces(reply, piecePage(cursors.close(scope, page), write, takeBreak), { status: 200, inMemory });
  });

  app.get('/v1/destinations/:id', reading, async ({ caller, params }) => {
    return presentDestination(await read(services, caller, readPathId(params, 'dst')));
  });

  app.patch('/v1/destinations/:id', changing, async ({ caller, params, body }) => {
    return presentDestination(await update(services, caller, readPathId(params, 'dst'), body));
  });

  app.delete('/v1/destinations/:id', deletion, async ({ caller, params }, reply) => {
    const { environment } = caller;
    const id = readPathId(params, 'dst');
    const isDeleted = await store.deleteDestination({ environment, id, now: services.clock.now() });
    if (!isDeleted) throw notFound('destination_not_found');
    await services.confirmChange({ environment, destinationId: id });
    return reply.code(204).send(null);
  });
}

const creation = {
  schema: {
    tags,
    operationId: 'createDestination',
    summary: 'Register a destination',
    body: destinationInput,
    response: { 201: createdDestination },
  },
  config: {
    scope: 'manage',
    errors: ['invalid_url', 'url_not_reachable', 'over_destination_limit', 'rate_limited'],
    responseHeaders: { 201: LOCATION },
  },
} as const;

const listing = {
  schema: {
    tags,
    operationId: 'listDestinations',
    summary: 'List destinations, newest first',
    querystring: closed({
      status: Type.Optional(destinationStatus),
      state: Type.Optional(destinationState),
      ...pageQuery,
    }),
    response: { 200: destinationPage },
  },
  config: { scope: 'read', errors: ['invalid_cursor'] },
} as const;

const reading = {
  schema: {
    tags,
    operationId: 'readDestination',
    summary: 'Read a destination',
    response: { 200: destination },
  },
  config: { scope: 'read', errors: ['destination_not_found'] },
} as const;

const changing = {
  schema: {
    tags,
    operationId: 'updateDestination',
    summary: 'Change, pause or reactivate a destination',
    description:
      'Fields that are given are replaced whole; null clears those that are optional. In `headers`, the value `***` ' +
      'keeps what is stored. The change holds for the next attempt of every unfinished delivery.',
    body: destinationPatch,
    response: { 200: destination },
  },
  config: { scope: 'manage', errors: ['destination_not_found', 'invalid_url'] },
} as const;

const deletion = {
  schema: {
    tags,
    operationId: 'deleteDestination',
    summary: 'Delete a destination for good',
    description: 'Its subscriptions go too, and its unfinished deliveries end `dead`. No attempt begins after the 204.',
    response: { 204: Type.Null({ description: 'It is deleted.' }) },
  },
  config: { scope: 'manage', errors: ['destination_not_found'] },
} as const;

async function create(services: ApiServices, caller: ApiKey, input: DestinationInput): Promise<DestinationWithKeys> {
  const { store, limits } = services;
  const { environment } = caller;
  const fields = readOptions(input);
  const secret = readSecret(input.signing_secret);
  const url = readUrl(input.url, caller.mode, services.checkUrl);
  await checkReachable(services, caller, url);
  const created = buildDestination(services, { environment, secret }, { ...fields, url: url.href });
  const result = await store.createDestination(created, { max: limits.maxDestinations });
  if (result === 'over_limit') throw overLimit(limits.maxDestinations);
  await services.confirmChange({ environment, destinationId: created.id });
  return created;
}

type Options = Omit<DestinationPatch, 'url'>;
type Change = Omit<Required<DestinationChange>, 'url'>;

/** Of each optional field what a request gives, checked: undefined where it is not there, its default for null. */
const OPTIONS: {
  [Name in keyof Change]: (input: Options, stored: Record<string, string>) => Change[Name] | undefined;
} = {
  name: ({ name }) => name,
  status: ({ status }) => status,
  retryPolicy: ({ retry_policy: policy }) => checkRetryPolicy(policy),
  maxInFlight: ({ max_in_flight: max }) => (max === null ? MAX_IN_FLIGHT_DEFAULT : max),
  ratePerSecond: ({ rate_per_second: rate }) => rate,
  metadata: ({ metadata }) => (metadata === undefined ? undefined : writeMetadata(metadata ?? {})),
  headers: ({ headers }, stored) => (headers === undefined ? undefined : checkHeaders(headers ?? {}, stored)),
  signatureStyle: ({ signature_style: style }) => (style === null ? SIGNATURE_STYLE_DEFAULT : style),
};

/** `stored`: the headers that the destination has. */
function readOptions(input: Options, stored: Record<string, string> = {}): DestinationChange {
  const given = Object.entries(OPTIONS).map(([name, readOption]) => [name, readOption(input, stored)]);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as DestinationChange;
}

function buildDestination(
  { ids, random }: ApiServices,
  { environment, secret }: { environment: number; secret: Uint8Array | null },
  fields: DestinationChange & { url: string },
): DestinationWithKeys {
  const id = ids.next('dst');
  const createdAt = idTime(id);
  return {
    name: null,
    status: 'active',
    pausedReason: null,
    retryPolicy: null,
    maxInFlight: MAX_IN_FLIGHT_DEFAULT,
    ratePerSecond: null,
    headers: {},
    signatureStyle: SIGNATURE_STYLE_DEFAULT,
    metadata: '{}',
    ...fields,
    id,
    environment,
    createdAt,
    updatedAt: createdAt,
    signingKeys: [makeSigningKey({ ids, random, createdAt, secret })],
  };
}

async function checkReachable(services: ApiServices, { environment, mode }: ApiKey, url: URL): Promise<void> {
  const result = services.probe === null ? 'reachable' : await services.probe({ environment, mode, url });
  if (result === 'unreachable') {
    throw new ApiError('url_not_reachable', 'no connection to this URL could be made; check its host, port and TLS', {
      param: '/url',
    });
  }
  if (result === 'no_descriptors') throw cannotConnect();
  if (result === 'rate_limited') {
    throw new ApiError('rate_limited', 'too many destinations are being registered; try again later', {
      retryAfterSeconds: PROBE_RETRY_SECONDS,
    });
  }
}

function overLimit(max: number): ApiError {
  const message = `there are ${max} destinations already; delete some that are not used, or raise MAX_DESTINATIONS`;
  return new ApiError('over_destination_limit', message);
}

async function read({ store }: ApiServices, { environment }: ApiKey, id: DestinationId): Promise<DestinationWithKeys> {
  const found = await store.readDestination({ environment, id });
  if (found === null) throw notFound('destination_not_found');
  return found;
}

async function update(services: ApiServices, caller: ApiKey, id: DestinationId, patch: DestinationPatch) {
  const { environment } = caller;
  const current = await read(services, caller, id);
  const { headers, ...fields } = readOptions(patch, current.headers);
  if (patch.url !== undefined) fields.url = readUrl(patch.url, caller.mode, services.checkUrl).href;
  // Stored before these names were refused, they would be sent twice.
  if (fields.signatureStyle === 'svix' && headers === undefined) checkHeaders(current.headers, current.headers);
  if (Object.keys(patch).length === 0) return current;
  const change = headers === undefined ? fields : { ...fields, headers: markKept(headers) };
  const updated = await services.store.updateDestination({ environment, id, change, now: services.clock.now() });
  if (updated === null) throw notFound('destination_not_found');
  await services.confirmChange({ environment, destinationId: id });
  return updated;
}

/** The store keeps the value of a header that is null; it may have changed since it was read here. */
function markKept(headers: Record<string, string>): Record<string, string | null> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value === HIDDEN ? null : value]));
}
