// One route as an operation of the OpenAPI document, out of the route's schemas and its configuration.
import type { FastifySchema, RouteOptions } from 'fastify';
import type { RouteConfig } from '../route-config.ts';
import { mapValues, type Components, type Json } from './components.ts';
import { describeErrors, requestIdHeader } from './responses.ts';

/** The schemas of a route, and what it says in words. */
type RouteSchema = FastifySchema & {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  produces?: string[];
  querystring?: QuerySchema;
  body?: { required?: string[] };
  response: Record<string, object>;
};
type QuerySchema = { properties: Record<string, object>; required?: string[] };

/** Fastify's `/v1/events/:id` as the document writes it. */
export function documentedPath(url: string): string {
  return url.replaceAll(PATH_PARAMETER, '{$1}');
}

const PATH_PARAMETER = /:(\w+)/g;

export function describeOperation(components: Components, { method, url, ...route }: RouteOptions): Json {
  const config = route.config as RouteConfig;
  const schema = route.schema as RouteSchema;
  const { operationId, tags, summary, description, querystring, body } = schema;
  const parameters = [...describePath(url), ...describeQuery(components, querystring), ...describeHeaders(config)];
  const scopeNote = config.scope === null ? undefined : `Needs the scope \`${config.scope}\`.`;
  const text = [description, scopeNote].filter((part) => part !== undefined).join(' ');
  return {
    operationId,
    tags,
    summary,
    ...(text === '' ? {} : { description: text }),
    security: config.scope === null ? [] : [{ apiKey: [] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: describeBody(components, body) }),
    responses: {
      ...describeSuccess(components, schema, config),
      ...describeErrors(components, String(method), config),
    },
  };
}

function describePath(url: string): Json[] {
  return [...url.matchAll(PATH_PARAMETER)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
}

function describeQuery(components: Components, query: QuerySchema | undefined): Json[] {
  return Object.entries(query?.properties ?? {}).map(([name, property]) => {
    const { description, ...schema } = components.schema(property);
    const required = query?.required?.includes(name) ?? false;
    return { name, in: 'query', required, ...(description === undefined ? {} : { description }), schema };
  });
}

function describeHeaders({ requestHeaders = {} }: RouteConfig): Json[] {
  return Object.entries(requestHeaders).map(([name, header]) => ({ name, in: 'header', required: false, ...header }));
}

/** A body may be left out where none of its fields is required. */
function describeBody(components: Components, body: { required?: string[] }): Json {
  const schema = components.schema(body);
  return { required: body.required !== undefined, content: { 'application/json': { schema } } };
}

const SUCCESS: Readonly<Record<string, string>> = {
  200: 'The request was carried out.',
  201: 'It was made.',
  202: 'It was accepted.',
  204: 'It is gone.',
};

function describeSuccess(components: Components, schema: RouteSchema, config: RouteConfig): Json {
  const { response, produces } = schema;
  const [mediaType] = produces ?? ['application/json'];
  return mapValues(response, (body, status) => ({
    description: config.responseDescriptions?.[status] ?? SUCCESS[status],
    headers: { ...requestIdHeader(components), ...config.responseHeaders?.[status] },
    ...(status === '204' ? {} : { content: { [mediaType!]: { schema: components.schema(body) } } }),
  }));
}
