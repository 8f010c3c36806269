// Svix's API as far as an import reads it, with the shapes of its OpenAPI description: pages with iterators, limits,
// and whatever goes wrong. It is held against the library that Svix publishes for this API, in the test of the import.
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scope } from '../e2e/service.ts';

export const SVIX_TOKEN = 'sk_test_token';
const TIME = '2026-01-31T09:30:00.123456Z';

export type Endpoint = {
  id: string;
  url: string;
  uid: string | null;
  description: string;
  disabled: boolean;
  eventTypes: string[] | null;
  channels: string[] | null;
  throttleRate: number | null;
  metadata: Record<string, string>;
  createdAt: string;
  updatedAt: string;
};
/** What stands beside an endpoint, by the last part of its path; what is not there is 404. */
type Parts = { secret: object; headers: object; transformation?: object; oauth?: object; mtls?: object };
export type Application = { id: string; uid: string | null; name: string; throttleRate: number | null };

/** Says what to do with a request instead of answering it; null: it is answered. */
export type Interference = (request: { path: string; count: number }) => Fault | null;
type Fault = { status: number; headers?: Record<string, string>; body?: string } | 'hang_up' | 'hold';

type Stored = { application: Application; endpoints: Endpoint[]; destinations: object[] };

/** Listens until the scope's end. */
export async function startSvix(scope: Scope): Promise<SvixServer> {
  const server = new SvixServer();
  scope.after(() => server.close());
  await server.listen();
  return server;
}

/** Of all servers of a process: ids are the world's own. */
let made = 0;

export class SvixServer {
  /** Of a page, however long a page is asked for. */
  pageRowsMax = 250;
  /** As servers of older versions: a path without a slash at its end is not found. */
  wantsSlash = false;
  interfere: Interference = () => null;
  /** Paths that were asked for, in order. */
  readonly requests: string[] = [];
  readonly #stored: Stored[] = [];
  readonly #parts = new Map<string, Parts>();
  readonly #asked = new EventEmitter().setMaxListeners(0);
  readonly #server = createServer((request, response) => this.#take(request, response));

  async listen(): Promise<void> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  addApplication(fields: Partial<Application> = {}, destinations: object[] = []): Application {
    const id = nextId('app');
    const application = { id, uid: null, name: `Customer ${id}`, throttleRate: null, ...fields };
    this.#stored.push({ application, endpoints: [], destinations });
    return application;
  }

  addEndpoint(application: Application, fields: Partial<Endpoint>, parts: Partial<Parts> = {}): Endpoint {
    const id = nextId('ep');
    const endpoint: Endpoint = {
      id,
      url: 'http://127.0.0.1:9/',
      uid: null,
      description: '',
      disabled: false,
      eventTypes: null,
      channels: null,
      throttleRate: null,
      metadata: {},
      createdAt: TIME,
      updatedAt: TIME,
      ...fields,
    };
    this.#stored.find((one) => one.application.id === application.id)!.endpoints.push(endpoint);
    const key = `whsec_${Buffer.from(id.padEnd(24).slice(0, 24)).toString('base64')}`;
    this.#parts.set(id, { secret: { key }, headers: { headers: {}, sensitive: [] }, ...parts });
    return endpoint;
  }

  removeEndpoint({ id }: Endpoint): void {
    for (const stored of this.#stored) stored.endpoints = stored.endpoints.filter((one) => one.id !== id);
  }

  /** The next time that this is asked for. */
  async asked(path: RegExp): Promise<void> {
    for (;;) {
      const [asked] = (await once(this.#asked, 'asked')) as [string];
      if (path.test(asked)) return;
    }
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url!, 'http://svix');
    this.requests.push(pathname);
    const fault = this.interfere({ path: pathname, count: this.requests.length });
    this.#asked.emit('asked', pathname);
    if (fault === 'hold') return;
    if (fault === 'hang_up') return void request.socket.destroy();
    if (fault !== null) return void response.writeHead(fault.status, fault.headers).end(fault.body);
    if (request.headers.authorization !== `Bearer ${SVIX_TOKEN}`) {
      return answer(response, 401, { code: 'authentication_failed', detail: 'Invalid token' });
    }
    const isHere = request.method === 'GET' && (!this.wantsSlash || pathname.endsWith('/'));
    const found = isHere ? this.#find(pathname, searchParams) : undefined;
    if (found === undefined) answer(response, 404, { code: 'not_found', detail: 'Entity not found' });
    else answer(response, 200, found);
  }

  #find(path: string, query: URLSearchParams): object | undefined {
    const [, applicationId, kind, id, part] =
      /^\/api\/v1\/app(?:\/([^/]+)\/(endpoint|destination)(?:\/([^/]+)\/(\w+))?)?\/?$/.exec(path) ?? [];
    if (path.replace(/\/$/, '') === '/api/v1/app') {
      const rows = this.#stored.map(({ application }) => ({
        ...application,
        metadata: {},
        createdAt: TIME,
        updatedAt: TIME,
      }));
      return this.#page(rows, query);
    }
    const stored = this.#stored.find(({ application }) => application.id === applicationId);
    if (stored === undefined) return undefined;
    if (part !== undefined) return this.#parts.get(id!)?.[part as keyof Parts];
    return kind === 'endpoint' ? this.#page(stored.endpoints, query) : { data: stored.destinations, done: true };
  }

  #page(rows: readonly { id: string }[], query: URLSearchParams): object {
    const limit = Math.min(Number(query.get('limit') ?? 50), this.pageRowsMax);
    const after = query.get('iterator');
    const from = after === null ? 0 : rows.findIndex(({ id }) => id === after) + 1;
    const data = rows.slice(from, from + limit);
    const last = data.at(-1)?.id ?? after;
    return { data, iterator: last, prevIterator: `-${last}`, done: from + limit >= rows.length };
  }
}

function nextId(kind: string): string {
  return `${kind}_2r${String((made += 1)).padStart(25, '0')}`;
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
