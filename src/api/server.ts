// The HTTP server. A request takes these steps, each in the file of its name:
//   access.ts → bodies.ts → request-json.ts → validation.ts → routes/… → present.ts
// and whatever goes wrong on the way leaves through error-response.ts (below HTTP: connection-errors.ts).
import AjvCompiler from '@fastify/ajv-compiler';
import SerializerSelector from '@fastify/fast-json-stringify-compiler';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { ApiError } from '../model/error.ts';
import { createBreaks } from '../runtime/clock.ts';
import { checkAccess, METHODS, repairUrl, type Identify } from './access.ts';
import { UnknownKeyError } from './auth.ts';
import { addPages } from './dashboard/pages.ts';
import { holdAnswer, discardBody, overBudget, readBody } from './http/bodies.ts';
import { createConnectionErrors } from './http/connection-errors.ts';
import { Connections } from './http/connections.ts';
import { createNodeServer, HEADER_BYTES_MAX } from './http/node-server.ts';
import { ReadsAtOnce } from './http/reads-at-once.ts';
import { createCursors } from './input/cursor.ts';
import { clip, parseRequestJson, pointTo } from './input/request-json.ts';
import { explainFaults, readQueryNumbers } from './input/validation.ts';
import { addOpenapi } from './openapi/document.ts';
import { documentedPath } from './openapi/operation.ts';
import { sendError, toApiError } from './output/error-response.ts';
import { REQUEST_BYTES_MAX, type ApiApp } from './route-config.ts';
import { addApiKeyRoutes } from './routes/api-keys.ts';
import { addBulkOperationRoutes } from './routes/bulk-operations.ts';
import { addDeliveryRoutes } from './routes/deliveries.ts';
import { addDestinationRoutes } from './routes/destinations.ts';
import { addDlqRoutes } from './routes/dlq.ts';
import { addEventBatchRoutes } from './routes/event-batch.ts';
import { addEventRoutes } from './routes/events.ts';
import { addExplainRoute } from './routes/explain.ts';
import { addOperationRoutes } from './routes/operations.ts';
import { addSessionRoutes } from './routes/session.ts';
import { addSigningKeyRoutes } from './routes/signing-keys.ts';
import { addStatsRoutes } from './routes/stats.ts';
import { addStreamRoutes } from './routes/stream.ts';
import { addSubscriptionRoutes } from './routes/subscriptions.ts';
import { addTestRoute } from './routes/test-requests.ts';
import { SHOWN_AS } from './schemas/fields.ts';
import type { Answer, ApiServices } from './services.ts';
import { MODE_HEADER } from './session/sessions.ts';

/** The server, ready to listen (`listen`), to be tried without a socket (`inject`) and to be drained (`close`). */
export async function createServer(services: ApiServices): Promise<ApiApp> {
  const { clock, limits } = services;
  const connections = new Connections({ clock, bytesBudget: limits.requestBytesBudget });
  const app = createFastify(services, connections);
  app.decorateRequest('caller');
  addOpenapi(app, services.version);
  const identify = createIdentify(services);
  addHooks(app, services, { connections, identify });
  addRoutes(app, services, identify);
  // After what the routes do first at a close.
  app.addHook('preClose', () => connections.drain(app.server));
  await app.ready();
  return app;
}

function createFastify({ ids }: ApiServices, connections: Connections): ApiApp {
  const connectionErrors = createConnectionErrors(ids, connections);
  const app = Fastify({
    serverFactory: (handler) => createNodeServer(handler, { connectionErrors, connections }),
    clientErrorHandler: () => {},
    // While draining, a request that has begun is still answered, with `connection: close`; a hook below refuses one
    // that begins then, in the form that all errors have.
    return503OnClosing: false,
    genReqId: () => ids.next('req'),
    rewriteUrl: ({ url }) => repairUrl(url!),
    routerOptions: { maxParamLength: HEADER_BYTES_MAX },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        strict: true,
        strictTypes: false,
        // A fault then has the text that was refused, so that its character can be named.
        verbose: true,
        // Tests compile every schema, and hold the document that shows them against the specification.
        validateSchema: false,
        keywords: [SHOWN_AS],
      },
    },
    schemaController: { compilersFactory },
    schemaErrorFormatter: explainFaults,
  }).withTypeProvider<TypeBoxTypeProvider>();
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, path: documentedPath(route.url) };
  });
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    const exchange = connections.of(request.raw.socket)?.exchanges.of(reply.raw);
    if (exchange !== undefined) exchange.reply = reply;
    done();
  });
  return app;
}

function stopping(): ApiError {
  return new ApiError('unavailable', 'the service is stopping; nothing was done, try again', { retryAfterSeconds: 1 });
}

/** In the order in which a request meets them. */
function addHooks(
  app: ApiApp,
  services: ApiServices,
  { connections, identify }: { connections: Connections; identify: Identify },
): void {
  const { authenticator, clock, log, onStoreAway } = services;
  const reads = new ReadsAtOnce(clock);
  app.addHook('onRequest', (request, reply, done) => {
    const check = () => checkAccess(app, identify, request, reply);
    // Not for what needs no key: who looks whether the service is alive must be told so.
    const enter = () => {
      const begin = () => {
        if (connections.isDraining) return done(stopping());
        done(connections.memory.isOver ? overBudget() : undefined);
      };
      const beginRead = () => reads.enter(reply.raw, begin);
      if (request.routeOptions.config.scope === null) done();
      else if (!isRead(request)) begin();
      // What a read finds could not be sent before the answers to earlier requests of its connection: it would be held.
      else whenFirst(connections, reply, beginRead);
    };
    try {
      check();
    } catch (error) {
      if (!(error instanceof UnknownKeyError)) throw error;
      authenticator.refreshForUnknown().then(check).then(enter, done);
      return;
    }
    enter();
  });
  app.addHook('preParsing', (request, reply, payload, done) => {
    receiveJson(request, reply, connections, (error) => done(error, payload));
  });
  // The body has been read by then; Fastify has a parser run all the same.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, _payload, done) => done(null, request.body));
  app.addHook('preValidation', (request, _reply, done) => {
    const { schema, config } = request.routeOptions;
    const query = request.query as Record<string, unknown>;
    if (schema?.querystring !== undefined) readQueryNumbers(query, schema.querystring);
    else if (config.scope !== null) refuseParts(query, 'query parameters');
    if (schema?.body === undefined) refuseParts(request.body, 'fields');
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    if (isRead(request)) reads.leave(reply.raw);
    let answer: unknown;
    try {
      answer = holdAnswer(reply, payload, connections);
    } catch (error) {
      return done(error as ApiError);
    }
    done(null, answer);
  });
  app.setErrorHandler((error, request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    sendError(toApiError(error, { log, onStoreAway, requestId: request.id, route }), request, reply);
  });
  const isLogged = log.isLevelEnabled('debug');
  app.addHook('onResponse', (request, reply, done) => {
    // Who hangs up early is not answered.
    if (reply.raw.headersSent) services.onAnswered(toAnswer(request, reply));
    if (isLogged) log.debug(describeExchange(request, reply), 'answered a request');
    done();
  });
}

/** By the header `Authorization`; without one, by the session that a page of the dashboard names. */
function createIdentify({ authenticator, dashboard }: ApiServices): Identify {
  return ({ method, headers }) => {
    const { authorization } = headers;
    if (dashboard === null || authorization !== undefined || headers[MODE_HEADER] === undefined) {
      return authenticator.authenticate(authorization);
    }
    return dashboard.sessions.authenticate(method, headers);
  };
}

/** Reads and parses the body where a method may have one; `request.body` is an object then, `{}` if there is none. */
function receiveJson(
  request: FastifyRequest,
  reply: FastifyReply,
  connections: Connections,
  done: (error?: ApiError) => void,
): void {
  if (request.method === 'GET' || request.method === 'HEAD') {
    discardBody(request.raw);
    return done();
  }
  const { bodyBytesMax = REQUEST_BYTES_MAX, bodyShape = {} } = request.routeOptions.config;
  const exchange = { request: request.raw, response: reply.raw, bytesMax: bodyBytesMax };
  readBody(exchange, connections, (error, bytes) => {
    if (error !== null) return done(error);
    try {
      request.body = bytes.length === 0 ? {} : parseRequestJson(bytes, bodyShape);
    } catch (fault) {
      return done(fault as ApiError);
    }
    done();
  });
}

/** Where nothing is taken, everything is unknown. Monitors may add to the query of the routes without a key. */
function refuseParts(parts: unknown, noun: 'fields' | 'query parameters'): void {
  const [name] = Object.keys(parts ?? {});
  if (name === undefined) return;
  const param = noun === 'fields' ? pointTo(name) : clip(name);
  throw new ApiError('invalid_request', `this request takes no ${noun}; leave "${clip(name)}" out`, { param });
}

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

function whenFirst(connections: Connections, { raw, request }: FastifyReply, callback: () => void): void {
  const connection = connections.of(request.raw.socket);
  if (connection === undefined) callback();
  else connection.exchanges.whenFirst(raw, callback);
}

function toAnswer({ method, routeOptions }: FastifyRequest, { raw }: FastifyReply): Answer {
  return {
    method: METHODS.includes(method) ? method : 'other',
    route: routeOptions.config.path ?? 'none',
    status: raw.statusCode,
  };
}

function describeExchange(request: FastifyRequest, reply: FastifyReply): object {
  return {
    request_id: request.id,
    method: request.method,
    // Never the URL itself: ids are personal, and a query may be anything.
    route: request.routeOptions.url ?? 'none',
    status: reply.statusCode,
    duration_ms: Math.round(reply.elapsedTime * 10) / 10,
  };
}

/** What long answers take of a turn together, before other requests have theirs. */
const TURN_MS_MAX = 5;

function addRoutes(app: ApiApp, services: ApiServices, identify: Identify): void {
  const shared = { cursors: createCursors(services.cursorKey), takeBreak: createBreaks(services.clock, TURN_MS_MAX) };
  addDestinationRoutes(app, services, shared);
  addTestRoute(app, services);
  addStatsRoutes(app, services);
  addSigningKeyRoutes(app, services, shared);
  addSubscriptionRoutes(app, services, shared);
  addEventRoutes(app, services, shared);
  addEventBatchRoutes(app, services);
  addExplainRoute(app, services);
  addDeliveryRoutes(app, services, shared);
  addDlqRoutes(app, services, shared);
  addStreamRoutes(app, services, identify);
  addBulkOperationRoutes(app, services, shared);
  addApiKeyRoutes(app, services, shared);
  addOperationRoutes(app, services);
  if (services.dashboard === null) return;
  addSessionRoutes(app, services, services.dashboard);
  addPages(app, services.dashboard);
}

// What Fastify checks requests and writes answers with, each compiled from its schema when a request first needs it: of
// about 110 a service uses a few, and to compile them all took an eighth of its start.

const makeValidators = AjvCompiler();
const makeSerializers = SerializerSelector();

type Validate = ReturnType<ReturnType<typeof makeValidators>>;
type Serialize = ReturnType<ReturnType<typeof makeSerializers>>;

/** Fastify's `schemaController.compilersFactory`. */
export const compilersFactory = {
  buildValidator: (...given: Parameters<typeof makeValidators>) => {
    const compile = makeValidators(...given);
    return (...route: Parameters<typeof compile>): Validate => {
      let compiled: Validate | null = null;
      const validate = (data: unknown): unknown => {
        compiled ??= compile(...route);
        const isValid = compiled(data);
        // Where Fastify looks for what is wrong.
        if (isValid === false) (validate as Validate).errors = compiled.errors;
        return isValid;
      };
      return validate as Validate;
    };
  },
  buildSerializer: (...given: Parameters<typeof makeSerializers>) => {
    const compile = makeSerializers(...given);
    return (...route: Parameters<typeof compile>): Serialize => {
      let serialize: Serialize | null = null;
      return (answer) => (serialize ??= compile(...route))(answer);
    };
  },
};
