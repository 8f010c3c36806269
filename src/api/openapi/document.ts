// The OpenAPI 3.1 document, made from the schemas that validate and from the table of errors: nothing is said twice.
import type { RouteOptions } from 'fastify';
import type { ApiApp } from '../route-config.ts';
import type { Answer } from '../services.ts';
import { createComponents, type Json } from './components.ts';
import { describeOperation, documentedPath } from './operation.ts';
import { REFUSALS } from './responses.ts';
import { describeWebhooks } from './webhook.ts';

export type OpenapiDocument = {
  openapi: string;
  info: Json;
  paths: Record<string, Record<string, Json>>;
  components: Record<string, Json>;
};

declare module 'fastify' {
  interface FastifySchema {
    /** The document leaves the route out: it is no part of the API. */
    hide?: boolean;
  }

  interface FastifyInstance {
    /** Of all routes; made once. */
    openapi: () => OpenapiDocument;
  }
}

/** To be called before routes are added: the document has those that come after. */
export function addOpenapi(app: ApiApp, version: string): void {
  const routes: RouteOptions[] = [];
  let document: OpenapiDocument | null = null;
  app.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD' && route.schema?.hide !== true) routes.push(route);
  });
  app.decorate('openapi', () => (document ??= describeApi(routes, version)));
}

/** Every answer that the document has, but for those of HTTP itself, which no route gives. */
export function listAnswers(app: ApiApp): Answer[] {
  return Object.entries(app.openapi().paths).flatMap(([route, item]) =>
    Object.entries(item).flatMap(([method, { responses }]) =>
      Object.keys(responses as Json)
        .map(Number)
        .filter((status) => !(status in REFUSALS))
        .map((status) => ({ method: method.toUpperCase(), route, status })),
    ),
  );
}

function describeApi(routes: readonly RouteOptions[], version: string): OpenapiDocument {
  const components = createComponents();
  const paths: OpenapiDocument['paths'] = {};
  for (const route of routes) {
    const item = (paths[documentedPath(route.url)] ??= {});
    item[String(route.method).toLowerCase()] = describeOperation(components, route);
  }
  const webhooks = describeWebhooks(components);
  return {
    openapi: '3.1.0',
    info: describeService(version),
    servers: [{ url: '/', description: 'The service that this document comes from.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    webhooks,
    components: { ...components.all(), securitySchemes: SECURITY_SCHEMES },
  } as OpenapiDocument;
}

function describeService(version: string): Json {
  return {
    title: 'Postrider',
    version,
    description:
      'Accepts events and delivers them, signed, to the destinations that subscribe to them. Every response carries ' +
      '`x-request-id`. Times are RFC 3339 in UTC. Unknown fields and query parameters are refused.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  };
}

const TAGS = {
  Destinations: 'Where events go: URLs, each with its own retry policy, limits and headers.',
  'Signing keys': 'What a destination’s receiver verifies requests with, and changing it without a gap.',
  Subscriptions: 'Which events go to which destination: by type, pattern and a filter on the body.',
  Events: 'What happened: accepting it, reading it, and sending it again.',
  Deliveries: 'One event for one destination: its status, its attempts, and forcing another one.',
  'Dead letters': 'Deliveries that ended without success, and giving one a fresh schedule.',
  Stats: 'How much happens and how it goes: over time, just now, and what is in trouble.',
  Stream: 'What happens, as it happens.',
  'Bulk operations': 'Sending many deliveries or events again, in the background.',
  'API keys': 'Who may call this API, and what with.',
  Dashboard: 'Signing in to the pages that this service serves at `/`.',
  Operations: 'For those who run the service: health, metrics, the cluster, and this document.',
  Webhooks: 'What your receiver gets.',
};

const SECURITY_SCHEMES = {
  apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `pr_live_…` or `pr_test_…`.' },
};
