// The HTTP layer over the service as app/app.ts makes it, on a clock that stands still. The service is not started, so
// nothing goes on beside the requests: what the dispatcher is handed stays there, and is listed besides. Every answer
// is held against the OpenAPI document.
import assert from 'node:assert/strict';
import { createService, type Service } from '../../src/app/service.ts';
import { mintApiKey } from '../../src/runtime/mint-api-key.ts';
import type { ApiApp } from '../../src/api/route-config.ts';
import { createServer } from '../../src/api/server.ts';
import type { ApiServices } from '../../src/api/services.ts';
import type { Network } from '../../src/app/network.ts';
import { createGuard } from '../../src/attempt/guard.ts';
import { DEFAULT_SCOPES, type Mode, type Scope } from '../../src/model/api-key.ts';
import type { OpenDelivery } from '../../src/model/delivery.ts';
import { createAdjustableClock } from '../../src/runtime/clock.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { systemRandom as random } from '../../src/runtime/random.ts';
import type { Store } from '../../src/store/store.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { openInThreadStore } from '../support/in-thread-store.ts';
import { createRecordingLog, type LogLine } from '../support/recording-log.ts';
import { settingsWith } from '../support/settings.ts';
import { createContract } from './contract.ts';

export const DAY_MS = 86_400_000;
export const ENVIRONMENTS: Record<Mode, number> = { live: 1, test: 2 };

export type Json = Record<string, unknown>;

export type Answer = {
  status: number;
  headers: Record<string, string | undefined>;
  /** The body as it came. */
  text: string;
  /** The body as JSON; `{}` when there is none. */
  // Tests say what they expect of it; a type here would only repeat that.
  json: Json;
};

export type Call = {
  /** An API key; null: no Authorization header. Default: a live key with every scope. */
  key?: string | null;
  /** Sent as JSON, or as it is when it is text or bytes. */
  body?: Json | string | Buffer;
  headers?: Record<string, string>;
};

export type Api = {
  app: ApiApp;
  store: Store;
  clock: ManualClock;
  services: ApiServices;
  dispatched: OpenDelivery[];
  logged: LogLine[];
  call(method: string, url: string, call?: Call): Promise<Answer>;
  /** Calls, and expects this status of it. */
  expect(status: number, method: string, url: string, call?: Call): Promise<Answer>;
  /** Calls, and expects an error of this code (with its status). */
  refuse(code: string, method: string, url: string, call?: Call): Promise<{ message: string; param?: string }>;
  makeKey(options?: { mode?: Mode; scopes?: readonly Scope[]; expiresAt?: number | null }): Promise<string>;
  close(): Promise<void>;
};

const ALL_SCOPES: readonly Scope[] = [...DEFAULT_SCOPES, 'admin'];

/** On the embedded store in memory, or on the one that is given, which ends with the Api. */
export async function startApi(overrides: Partial<ApiServices> = {}, network = NO_NETWORK): Promise<Api> {
  const clock = new ManualClock();
  // Requests come from outside: what one of them sets going in a turn goes on together, as in the service.
  clock.afterTurn = (callback) => void setImmediate(callback);
  const store = overrides.store ?? openInMemory(clock);
  const { log, lines: logged } = createRecordingLog(['debug', 'error']);
  const service = await createService({
    settings: settingsWith({ REACHABILITY_CHECK: 'off' }),
    store,
    clock: createAdjustableClock(clock),
    random,
    network,
    log,
    metrics: createMetrics('0.0.0-test'),
    tracer: null,
    masterKey: random.bytes(32),
    host: { name: 'first', eventLoopDelaySeconds: () => 0 },
  });
  const dispatched = listDispatched(service);
  const services: ApiServices = {
    ...service.api,
    // It was never started.
    readiness: () => ({ ready: true, reasons: [] }),
    ...overrides,
  };
  const app = await createServer(services);
  const makeKey: Api['makeKey'] = async ({ mode = 'live', scopes = ALL_SCOPES, expiresAt = null } = {}) => {
    const environment = ENVIRONMENTS[mode];
    const { key, secret } = mintApiKey({ mode, environment, name: null, scopes, expiresAt }, services);
    await store.createApiKey(key);
    await services.authenticator.refresh();
    return secret;
  };
  const call = createCall(app, await makeKey());
  return {
    app,
    store,
    clock,
    services,
    dispatched,
    logged,
    call,
    makeKey,
    async expect(status, method, url, options) {
      const answer = await call(method, url, options);
      assert.equal(answer.status, status, `${method} ${url}: ${answer.text}`);
      return answer;
    },
    async refuse(code, method, url, options) {
      const { json, text } = await call(method, url, options);
      const error = json.error as { code: string; message: string; param?: string };
      assert.equal(error?.code, code, `${method} ${url}: ${text}`);
      return error;
    },
    async close() {
      await app.close();
      await service.close();
    },
  };
}

function openInMemory(clock: ManualClock): Store {
  return openInThreadStore({
    path: ':memory:',
    masterKey: random.bytes(32),
    clock,
    random,
    diskReserveBytes: 0,
    maxBacklogPerDestination: 1_000_000,
  });
}

const guard = createGuard({ testSubnets: [], allowSubnets: [] });

export const NO_NETWORK: Network = {
  checkUrl: (url, mode) => guard.checkUrl(url, mode),
  perform: () => assert.fail('an attempt'),
  probe: () => assert.fail('a probe'),
  close: () => undefined,
};

/** What the dispatcher is handed from now on. */
function listDispatched({ dispatcher }: Service): OpenDelivery[] {
  const dispatched: OpenDelivery[] = [];
  const handOn = dispatcher.offer.bind(dispatcher);
  dispatcher.offer = (deliveries, ...event) => {
    dispatched.push(...deliveries);
    handOn(deliveries, ...event);
  };
  const handBack = dispatcher.sendAgain.bind(dispatcher);
  dispatcher.sendAgain = (delivery) => {
    dispatched.push(delivery);
    handBack(delivery);
  };
  return dispatched;
}

function createCall(app: ApiApp, defaultKey: string): Api['call'] {
  const contract = createContract(app);
  return async (method, url, { key = defaultKey, body, headers = {} } = {}) => {
    const isJson = body !== undefined && typeof body !== 'string' && !Buffer.isBuffer(body);
    const response = await app.inject({
      method: method as 'GET',
      url,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: isJson ? JSON.stringify(body) : body }),
    });
    const answer: Answer = {
      status: response.statusCode,
      headers: response.headers as Answer['headers'],
      text: response.body,
      json: readJson(response.body, response.headers['content-type']),
    };
    contract.check(method, url, answer);
    return answer;
  };
}

function readJson(text: string, contentType: unknown): Json {
  return text !== '' && String(contentType).startsWith('application/json') ? (JSON.parse(text) as Json) : {};
}

/** A destination that is there, with a subscription to every event unless `eventType` is null. */
export async function addDestination(
  api: Api,
  { key, eventType = '**', ...body }: { key?: string; eventType?: string | null } & Json = {},
): Promise<string> {
  const url = 'https://example.com/hook';
  const auth = key === undefined ? {} : { key };
  const created = await api.expect(201, 'POST', '/v1/destinations', { ...auth, body: { url, ...body } });
  const id = created.json.id as string;
  if (eventType === null) return id;
  await api.expect(201, 'POST', '/v1/subscriptions', { ...auth, body: { destination_id: id, event_type: eventType } });
  return id;
}

export async function postEvent(api: Api, body: Json = {}, key?: string): Promise<Answer> {
  const event = { type: 'order.paid', body: { n: 1 }, ...body };
  return api.expect(202, 'POST', '/v1/events', { ...(key === undefined ? {} : { key }), body: event });
}
