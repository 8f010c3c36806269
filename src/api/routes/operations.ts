// For those who run the service: which nodes share the work, is this one alive, is it ready, how is it doing, and the
// description of this API.
import { Type } from '../schemas/type.ts';
import { ApiError } from '../../model/error.ts';
import { bearerToken, isSameSecret } from '../auth.ts';
import { JSON_TYPE } from '../output/error-response.ts';
import { present } from '../output/present.ts';
import type { ApiApp } from '../route-config.ts';
import { closed, id, named, oneOf, time } from '../schemas/fields.ts';
import type { ApiServices } from '../services.ts';

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const tags = ['Operations'];

export function addOperationRoutes(app: ApiApp, services: ApiServices): void {
  const { readCluster, readiness, metricsText, metricsToken } = services;

  app.get('/v1/cluster', readingCluster, async () => {
    const { nodes, shardsFree, backlog } = await readCluster();
    return { data: nodes.map((member) => present(member)), shards_free: shardsFree, backlog };
  });

  app.get('/healthz', liveness, async () => ({ status: 'ok' as const }));

  app.get('/readyz', readinessRoute, async () => {
    const { ready, reasons } = readiness();
    if (!ready) throw new ApiError('unavailable', `not ready: ${reasons.join('; ')}`);
    return { status: 'ready' as const };
  });

  app.get('/metrics', metrics, async ({ headers }, reply) => {
    checkMetricsToken(metricsToken, headers.authorization);
    return reply.header('content-type', METRICS_TYPE).send(await metricsText());
  });

  let document: Buffer | null = null;
  app.get('/openapi.json', openapi, async (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(app.openapi()));
    return reply.header('content-type', JSON_TYPE).send(document);
  });
}

const node = named(
  'Node',
  closed({
    id: id('nod'),
    name: Type.String({ description: 'The setting `NODE_NAME`, by default the name of its machine.' }),
    version: Type.String({ examples: ['0.1.0'] }),
    address: Type.String({ description: 'Where it listens.', examples: ['10.0.0.5:8383'] }),
    started_at: time('When it joined.'),
    last_heartbeat_at: time('When it last proved that it lives.'),
    shards_owned: Type.Integer({ description: 'How many of the 256 shards it sends for.' }),
    is_leaving: Type.Boolean({ description: 'It is being stopped, and hands over its shards.' }),
  }),
);

const cluster = named(
  'Cluster',
  closed({
    data: Type.Array(node),
    shards_free: Type.Integer({ description: 'Shards that nobody sends for just now.' }),
    backlog: Type.Integer({
      description: 'Deliveries that are pending or retrying. With several nodes it may be a minute old.',
    }),
  }),
);

const readingCluster = {
  schema: {
    tags,
    operationId: 'readCluster',
    summary: 'List the nodes of the cluster, and the work they share',
    description: 'With the embedded store there is one, which owns every shard.',
    response: { 200: cluster },
  },
  config: { scope: 'admin', errors: [] },
} as const;

const liveness = {
  schema: {
    tags,
    operationId: 'checkHealth',
    summary: 'Whether the process is alive',
    response: { 200: closed({ status: oneOf(['ok']) }) },
  },
  config: { scope: null, errors: [] },
} as const;

const readinessRoute = {
  schema: {
    tags,
    operationId: 'checkReadiness',
    summary: 'Whether the store can be reached and deliveries go out',
    response: { 200: closed({ status: oneOf(['ready']) }) },
  },
  config: { scope: null, errors: [] },
} as const;

const metrics = {
  schema: {
    tags,
    operationId: 'readMetrics',
    summary: 'Metrics for Prometheus',
    description: 'If the setting `METRICS_TOKEN` is set, it is the bearer token to give here.',
    produces: ['text/plain'],
    response: { 200: Type.String({ description: 'The text exposition format of Prometheus.' }) },
  },
  config: { scope: null, errors: ['unauthorized'] },
} as const;

const openapi = {
  schema: {
    tags,
    operationId: 'readOpenapi',
    summary: 'This document',
    response: { 200: Type.Object({}, { additionalProperties: true, description: 'OpenAPI 3.1.' }) },
  },
  config: { scope: null, errors: [] },
} as const;

function checkMetricsToken(expected: string | null, authorization: string | undefined): void {
  if (expected === null) return;
  const token = bearerToken(authorization);
  if (token !== null && isSameSecret(token, expected)) return;
  throw new ApiError('unauthorized', 'send the header "Authorization: Bearer <METRICS_TOKEN>"');
}
