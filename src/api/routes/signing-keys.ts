// /v1/destinations/{id}/signing-keys: new keys, with an overlap in which the old one signs too.
import { Type } from '../schemas/type.ts';
import type { SigningKey } from '../../model/destination.ts';
import { ApiError } from '../../model/error.ts';
import { isId, type DestinationId } from '../../model/id.ts';
import { notFound, readPathId } from '../input/path-id.ts';
import { present } from '../output/present.ts';
import type { ApiApp, Shared } from '../route-config.ts';
import { OVERLAP_SECONDS_DEFAULT, rotatedSigningKey, rotationInput, signingKeyPage } from '../schemas/destination.ts';
import { closed, pageQuery } from '../schemas/fields.ts';
import type { ApiServices } from '../services.ts';
import { formatSecret, makeSigningKey, readSecret } from '../input/signing-secret.ts';

const tags = ['Signing keys'];

export function addSigningKeyRoutes(app: ApiApp, services: ApiServices, { cursors }: Shared): void {
  app.post('/v1/destinations/:id/signing-keys/rotate', rotation, async ({ caller, params, body }, reply) => {
    const { overlap_seconds: overlapSeconds = OVERLAP_SECONDS_DEFAULT } = body;
    const secret = readSecret(body.signing_secret);
    const place = { environment: caller.environment, id: readPathId(params, 'dst') };
    reply.code(201);
    return rotate(services, place, { overlapMs: overlapSeconds * 1_000, secret });
  });

  app.get('/v1/destinations/:id/signing-keys', listing, async ({ caller, params, query }) => {
    const { environment } = caller;
    const id = readPathId(params, 'dst');
    const scope = { endpoint: 'signing-keys', prefix: 'sgk', environments: [environment], filters: [id] } as const;
    const request = cursors.open(scope, query);
    const keys = await readSigningKeys(services, environment, id);
    const rest = keys.filter((key) => request.before === null || key.id < request.before);
    const rows = rest.slice(0, request.limit);
    const next = rest.length > rows.length ? rows.at(-1)!.id : null;
    return cursors.close(scope, { rows: rows.map((key) => present(key)), next });
  });

  app.delete('/v1/destinations/:id/signing-keys/:key_id', ending, async ({ caller, params }, reply) => {
    const { key_id: keyId } = params as { key_id: string };
    await end(services, { environment: caller.environment, id: readPathId(params, 'dst') }, keyId);
    return reply.code(204).send(null);
  });
}

const rotation = {
  schema: {
    tags,
    operationId: 'rotateSigningKey',
    summary: 'Make a new signing key, or bring one along',
    body: rotationInput,
    response: { 201: rotatedSigningKey },
  },
  config: { scope: 'manage', errors: ['destination_not_found', 'rotation_in_progress'] },
} as const;

const listing = {
  schema: {
    tags,
    operationId: 'listSigningKeys',
    summary: 'List the keys that sign, newest first, without their secrets',
    querystring: closed(pageQuery),
    response: { 200: signingKeyPage },
  },
  config: { scope: 'read', errors: ['destination_not_found', 'invalid_cursor'] },
} as const;

const ending = {
  schema: {
    tags,
    operationId: 'endSigningKey',
    summary: 'End an old signing key now, and with it the overlap',
    response: { 204: Type.Null({ description: 'It signs no more.' }) },
  },
  config: { scope: 'manage', errors: ['destination_not_found', 'not_found', 'invalid_request'] },
} as const;

type DestinationPlace = { environment: number; id: DestinationId };

type Rotation = { overlapMs: number; secret: Uint8Array | null };

async function rotate(services: ApiServices, place: DestinationPlace, { overlapMs, secret }: Rotation) {
  const { store, clock, ids, random } = services;
  const now = clock.now();
  const key = makeSigningKey({ ids, random, createdAt: now, secret });
  const previousExpiresAt = now + overlapMs;
  const rotated = await store.rotateSigningKey({ ...place, key, previousExpiresAt, now });
  if (rotated.result === 'not_found') throw notFound('destination_not_found');
  if (rotated.result === 'in_progress') throw inProgress((rotated.until - now) / 1_000);
  await services.confirmChange({ environment: place.environment, destinationId: place.id });
  const { id, createdAt } = key;
  return { ...present({ id, createdAt, previousExpiresAt }), signing_secret: formatSecret(key.secret) };
}

function inProgress(secondsLeft: number): ApiError {
  return new ApiError(
    'rotation_in_progress',
    'the previous key still signs; wait until its overlap ends, or delete the old key first',
    { retryAfterSeconds: secondsLeft },
  );
}

/** Those that still sign, newest first: at most two or three, so pages are made here. */
async function readSigningKeys({ store, clock }: ApiServices, environment: number, id: DestinationId) {
  const destination = await store.readDestination({ environment, id });
  if (destination === null) throw notFound('destination_not_found');
  const now = clock.now();
  const isAlive = ({ expiresAt }: SigningKey): boolean => expiresAt === null || expiresAt > now;
  return destination.signingKeys.filter(isAlive).sort((a, b) => (a.id < b.id ? 1 : -1));
}

async function end(services: ApiServices, place: DestinationPlace, keyId: string): Promise<void> {
  const now = services.clock.now();
  if (!isId('sgk', keyId)) {
    const destination = await services.store.readDestination(place);
    throw notFound(destination === null ? 'destination_not_found' : 'not_found');
  }
  const result = await services.store.endSigningKey({ ...place, keyId, now });
  if (result === 'not_found') throw notFound('destination_not_found');
  if (result === 'key_not_found') throw notFound('not_found');
  if (result === 'newest') {
    throw new ApiError('invalid_request', 'this is the newest key; rotate first, then end the old one');
  }
  await services.confirmChange({ environment: place.environment, destinationId: place.id });
}
