// The real HTTP layer over a real store and the real accept path, on a clock that stands still; only the dispatcher
// is replaced, by a list of what it was handed. Every answer is held against the OpenAPI document.
import assert from 'node:assert/strict';
import { createAcceptor } from '../../src/accept/accept.ts';
import { createAuthenticator } from '../../src/api/auth.ts';
import { mintApiKey } from '../../src/runtime/mint-api-key.ts';
import type { ApiApp } from '../../src/api/route-config.ts';
import { createServer } from '../../src/api/server.ts';
import type { ApiServices, Logger } from '../../src/api/services.ts';
import { createGuard } from '../../src/attempt/guard.ts';
import { createFollower } from '../../src/configuration/follower.ts';
import { IndexedMatcher } from '../../src/match/indexed.ts';
import { DEFAULT_SCOPES } from '../../src/model/api-key.ts';
import type { Mode, Scope } from '../../src/model/api-key.ts';
import type { OpenDelivery } from '../../src/model/delivery.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { systemRandom as random } from '../../src/runtime/random.ts';
import { openInThreadStore } from '../support/in-thread-store.ts';
import type { Store } from '../../src/store/store.ts';
import { ManualClock } from '../attempt/manual-clock.ts';
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
  logged: { fields: Json; message: string }[];
  call(method: string, url: string, call?: Call): Promise<Answer>;
  /** Calls, and expects this status of it. */
  expect(status: number, method: string, url: string, call?: Call): Promise<Answer>;
  /** Calls, and expects an error of this code (with its status). */
  refuse(code: string, method: string, url: string, call?: Call): Promise<{ message: string; param?: string }>;
  makeKey(options?: { mode?: Mode; scopes?: readonly Scope[]; expiresAt?: number | null }): Promise<string>;
  close(): Promise<void>;
};

const NODE = {
  id: 'nod_01kg9qz3xefa3vqtdw5f0bz7ra',
  name: 'first',
  version: '0.0.0-test',
  address: '127.0.0.1:8383',
  startedAt: 0,
  lastHeartbeatAt: 1_000,
  shardsOwned: 256,
  isLeaving: false,
} as const;

const ALL_SCOPES: readonly Scope[] = [...DEFAULT_SCOPES, 'admin'];

/** On the embedded store in memory, or on the one that is given, which ends with the Api. */
export async function startApi(overrides: Partial<ApiServices> = {}): Promise<Api> {
  const clock = new ManualClock();
  // Requests come from outside: what one of them sets going in a turn goes on together, as in the service.
  clock.afterTurn = (callback) => void setImmediate(callback);
  const store = overrides.store ?? openInMemory(clock);
  const dispatched: OpenDelivery[] = [];
  const logged: Api['logged'] = [];
  const services: ApiServices = { ...createServices({ store, clock, dispatched, logged }), ...overrides };
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
      await store.close();
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

type Parts = { store: Store; clock: ManualClock; dispatched: OpenDelivery[]; logged: Api['logged'] };

function createServices({ store, clock, dispatched, logged }: Parts): ApiServices {
  const ids = createIds(clock, random);
  const guard = createGuard({ testSubnets: [], allowSubnets: [] });
  const follower = createFollower({
    environments: Object.values(ENVIRONMENTS),
    load: (request) => store.readChanges(request),
    createMatcher: () => new IndexedMatcher(),
    onDestinationChanged: () => {},
    onDestinationDeleted: () => {},
  });
  const bodyRetentionMs = 30 * DAY_MS;
  const acceptor = createAcceptor({
    store,
    configurationOf: follower.configurationOf,
    catchUp: follower.catchUp,
    clock,
    ids,
    bodyRetentionMs,
    maxFanout: 10_000,
    onScheduled: (deliveries) => dispatched.push(...deliveries),
    onAccepted: () => {},
    onReplayed: () => {},
    onRefused: () => {},
  });
  return {
    store,
    acceptor,
    authenticator: createAuthenticator({ store, clock }),
    clock,
    random,
    ids,
    log: createLogger(logged),
    confirmChange: ({ environment }) => follower.catchUp(environment),
    dispatch: (delivery) => void dispatched.push(delivery),
    checkUrl: (url, mode) => guard.checkUrl(url, mode),
    probe: null,
    readCluster: () => Promise.resolve({ nodes: [NODE], shardsFree: 0, backlog: 3 }),
    readiness: () => ({ ready: true, reasons: [] }),
    metricsText: () => Promise.resolve('postrider_up 1\n'),
    onAnswered: () => {},
    metricsToken: null,
    limits: {
      maxDestinations: 10_000,
      maxSubscriptions: 1_000_000,
      bodyRetentionMs,
      requestBytesBudget: 64 * 1024 * 1024,
    },
    cursorKey: random.bytes(32),
    version: '0.0.0-test',
  };
}

function createLogger(logged: Api['logged']): Logger {
  const write = (fields: object, message: string): void => void logged.push({ fields: fields as Json, message });
  return { isLevelEnabled: () => true, debug: write, error: write };
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
