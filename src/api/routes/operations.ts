// For those who run the service: is it alive, is it ready, how is it doing, and the description of this API.
import { Type } from 'typebox';
import { ApiError } from '../../model/error.ts';
import { bearerToken, isSameSecret } from '../auth.ts';
import { JSON_TYPE } from '../output/error-response.ts';
import type { ApiApp } from '../route-config.ts';
import { closed, oneOf } from '../schemas/fields.ts';
import type { ApiServices } from '../services.ts';

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const tags = ['Operations'];

export function addOperationRoutes(app: ApiApp, services: ApiServices): void {
  const { readiness, metricsText, metricsToken } = services;

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
