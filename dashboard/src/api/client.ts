// The one place that talks to the service. Every request names its mode in a header: it chooses the cookie, and proves
// that a script of this page sends it. A refusal is thrown as an ApiError.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.d.ts';
import { noteServiceTime } from './service-time.ts';

export type Mode = 'live' | 'test';
export type Schemas = components['schemas'];
export type Delivery = Schemas['Delivery'];
export type DeliveryWithRetries = Schemas['DeliveryWithRetries'];
export type Attempt = Schemas['Attempt'];
export type Destination = Schemas['Destination'];
export type Subscription = Schemas['Subscription'];
export type PostriderEvent = Schemas['Event'];
export type ApiKey = Schemas['ApiKey'];
export type Scope = Schemas['Scope'];
export type DeliveryStatus = Schemas['DeliveryStatus'];
export type Outcome = Schemas['Outcome'];
export type Operation = Schemas['Operation'];
export type DryRun = Schemas['DryRun'];
export type StatsPoint = Schemas['StatsPoint'];

export type Page<T> = { data: T[]; has_more: boolean; next_cursor: string | null };

export class ApiError extends Error {
  /** 0: there was no answer. */
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly param: string | null;

  constructor(status: number, details: { code: string; message: string; request_id?: string; param?: string }) {
    super(details.message);
    this.status = status;
    this.code = details.code;
    this.requestId = details.request_id ?? null;
    this.param = details.param ?? null;
  }
}

const clients = new Map<Mode, ReturnType<typeof createApi>>();

export function api(mode: Mode) {
  let client = clients.get(mode);
  if (client === undefined) clients.set(mode, (client = createApi(mode)));
  return client;
}

const MAY_BE_DONE = ' Whether this was done is not known: look before you repeat it.';

function createApi(mode: Mode) {
  const fetch = (request: Request): Promise<Response> =>
    fetchOrFail(request, request.method === 'GET' ? '' : MAY_BE_DONE);
  return createClient<paths>({ headers: { 'postrider-mode': mode }, fetch });
}

/** What is told that a session ended meanwhile, by whatever was read or done. */
let tellSignedOut = (): void => {};
export function onSignedOut(tell: () => void): void {
  tellSignedOut = tell;
}

/** The body of a success; what is none is thrown. */
export async function answerOf<T>(request: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await request;
  if (response.status === 401) {
    tellSignedOut();
    // It is read after signing in again, beside what it refused.
    throw new ApiError(401, { code: 'unauthorized', message: 'The session had ended, so this was not done.' });
  }
  if (!response.ok) throw errorOf(response.status, error);
  return data as T;
}

export function errorOf(status: number, body: unknown): ApiError {
  const details = (body as { error?: ConstructorParameters<typeof ApiError>[1] } | undefined)?.error;
  return new ApiError(status, details ?? { code: 'unknown', message: `The service answered ${status}.` });
}

export async function fetchOrFail(request: Request, more = ''): Promise<Response> {
  const response = await fetch(request).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, { code: 'unreachable', message: `The service does not answer.${more}` });
  });
  noteServiceTime(response.headers.get('date'));
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  if (!response.ok || response.status === 204 || isJson) return response;
  const message = `What answered is not Postrider: a gateway before it, which may want you to sign in there.${more}`;
  throw new ApiError(502, { code: 'unexpected_answer', message });
}
