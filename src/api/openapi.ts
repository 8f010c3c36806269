// The OpenAPI 3.1 document, made from the schemas that validate and from the table of errors: nothing is said twice.
import swagger from '@fastify/swagger';
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifySchema, RouteOptions } from 'fastify';
import { ERRORS } from '../model/error.ts';
import type { ErrorCode } from '../model/error.ts';
import type { ApiApp, RouteConfig } from './route-config.ts';
import { apiKey, createdApiKey } from './schemas/api-key.ts';
import { node } from './schemas/cluster.ts';
import { attempt, delivery, deliveryWithRetries } from './schemas/delivery.ts';
import { createdDestination, destination, rotatedSigningKey, signingKey } from './schemas/destination.ts';
import { errorBody, errorDetails } from './schemas/error.ts';
import * as event from './schemas/event.ts';
import { subscription } from './schemas/subscription.ts';

const NAMED = [
  errorDetails,
  errorBody,
  destination,
  createdDestination,
  signingKey,
  rotatedSigningKey,
  subscription,
  event.eventInput,
  event.scheduledDelivery,
  event.event,
  event.acceptedEvent,
  event.eventWithBody,
  event.batchError,
  event.batchResult,
  attempt,
  delivery,
  deliveryWithRetries,
  apiKey,
  createdApiKey,
  node,
];

/** Makes the named schemas known, to the serialiser as to the document. */
export function addSharedSchemas(app: ApiApp): void {
  for (const { schema } of NAMED) app.addSchema(schema);
}

export async function addOpenapi(app: ApiApp, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Postrider',
        version,
        description:
          'Accepts events and delivers them, signed, to the destinations that subscribe to them. Every response ' +
          'carries `x-request-id`. Times are RFC 3339 in UTC. Unknown fields and query parameters are refused.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `pr_live_…` or `pr_test_…`.' },
        },
      },
    },
    refResolver: {
      buildLocalReference: (json, _base, _fragment, index) => (json.$id as string | undefined) ?? `def-${index}`,
    },
    transform: ({ schema, url, route }) => ({ schema: documentRoute(schema, route), url }),
    transformObject: (document) => {
      if ('openapiObject' in document) markOptionalBodies(document.openapiObject);
      return 'openapiObject' in document ? document.openapiObject : document.swaggerObject;
    },
  });
}

type Document = Parameters<NonNullable<FastifyDynamicSwaggerOptions['transformObject']>>[0];
type OpenapiObject = Extract<Document, { openapiObject: unknown }>['openapiObject'];

/** A body may be left out where none of its fields is required. */
function markOptionalBodies({ paths = {} }: OpenapiObject): void {
  for (const item of Object.values(paths)) {
    for (const { requestBody } of Object.values(item ?? {}) as { requestBody?: DocumentedBody }[]) {
      const schema = requestBody?.content['application/json'].schema;
      if (schema?.type === 'object' && schema.required === undefined) requestBody!.required = false;
    }
  }
}

type DocumentedBody = {
  required: boolean;
  content: { 'application/json': { schema: { type?: string; required?: string[] } } };
};

/** A route's schema with what its configuration says: key and scope, errors, headers. */
function documentRoute(schema: FastifySchema, route: RouteOptions): FastifySchema {
  const config = route.config as RouteConfig;
  const { scope, responseHeaders, documentedBody } = config;
  const { description } = schema as { description?: string };
  const scopeNote = scope === null ? '' : `Needs the scope \`${scope}\`.`;
  return {
    ...schema,
    ...(documentedBody === undefined ? {} : { body: documentedBody }),
    description: [description, scopeNote].filter(Boolean).join(' '),
    security: scope === null ? [] : [{ apiKey: [] }],
    response: {
      ...documentSuccess(schema, responseHeaders),
      ...documentErrors(route.method, config),
    },
  };
}

const REQUEST_ID_HEADER = {
  'x-request-id': { type: 'string', description: 'The id of the request, for support and logs.' },
};

function documentSuccess({ response, produces }: FastifySchema, headers: Record<string, string> = {}): object {
  const mediaType = produces?.[0] ?? 'application/json';
  const named = Object.entries(headers).map(([name, description]) => [name, { type: 'string', description }]);
  return mapValues(response as Record<string, object>, (schema, status) => ({
    description: 'The request was carried out.',
    ...(status === '204' ? { type: 'null' } : { content: { [mediaType]: { schema } } }),
    headers: { ...REQUEST_ID_HEADER, ...Object.fromEntries(named) },
  }));
}

/** Every status that the route can answer with besides success, with its codes. */
function documentErrors(method: unknown, config: RouteConfig): object {
  const codes = new Set([...commonErrors(method, config), ...config.errors]);
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status);
  return Object.fromEntries([...byStatus].map(([status, group]) => [status, documentError(group)]));
}

/** What follows from the kind of route. */
function commonErrors(method: unknown, { scope }: RouteConfig): ErrorCode[] {
  const always: ErrorCode[] = ['internal_error', 'unavailable'];
  if (scope === null) return always;
  const withBody: ErrorCode[] = method === 'GET' ? [] : ['body_too_large', 'unsupported_media_type'];
  return ['invalid_request', 'unauthorized', 'forbidden', ...withBody, ...always];
}

function documentError(codes: ErrorCode[]): object {
  const code = { type: 'string', enum: codes };
  const narrowed = { type: 'object', properties: { error: { type: 'object', properties: { code } } } };
  const examples = codes.map((name) => [name, { value: { error: exampleOf(name) } }]);
  return {
    description: codes.map((name) => `\`${name}\`: ${ERRORS[name].meaning}`).join(' '),
    headers: { ...REQUEST_ID_HEADER, ...errorHeadersOf(codes) },
    content: {
      'application/json': {
        schema: { allOf: [{ $ref: 'Error#' }, narrowed] },
        examples: Object.fromEntries(examples),
      },
    },
  };
}

function errorHeadersOf(codes: ErrorCode[]): object {
  const waits = codes.some((code) => ['unavailable', 'rate_limited', 'rotation_in_progress'].includes(code));
  return {
    ...(waits ? { 'Retry-After': { type: 'integer', description: 'Seconds to wait.' } } : {}),
    ...(codes.includes('unauthorized') ? { 'WWW-Authenticate': { type: 'string' } } : {}),
  };
}

function exampleOf(code: ErrorCode): object {
  return { code, message: ERRORS[code].remedy, request_id: 'req_01kg9qz3xefa3vqtdw5f0bz7ra' };
}

function mapValues<T>(values: Record<string, T>, map: (value: T, name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value, name)]));
}
