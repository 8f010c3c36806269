// Reads what Svix has, by its public API and no more than a page of it at a time. Nothing here changes anything there.
import { RequestError } from './request-error.ts';
import { asObject, type SvixHttp } from './svix-http.ts';

/** Not here, or redirected. */
const ELSEWHERE = new Set([301, 302, 307, 308, 404]);
/** The longest page that Svix gives. */
const PAGE_ROWS = 250;

export type SvixApplication = { id: string; uid: string | null; name: string; throttleRate: number | null };

export type SvixEndpoint = {
  id: string;
  uid: string | null;
  url: string;
  description: string;
  isDisabled: boolean;
  /** Null: all. */
  eventTypes: string[] | null;
  channels: string[];
  throttleRate: number | null;
  metadata: Record<string, unknown>;
  updatedAt: string;
};

export type SvixDetails = {
  secret: string;
  headers: Record<string, string>;
  /** Names of headers whose values Svix does not give out. */
  sensitiveHeaders: string[];
  hasTransformation: boolean;
  hasOauth: boolean;
  hasMtls: boolean;
};

export class SvixApi {
  readonly #http: SvixHttp;
  /** What each path ends in: servers of older versions want a slash. Null until one has answered. */
  #end: '' | '/' | null = null;

  constructor(http: SvixHttp) {
    this.#http = http;
  }

  async *applications(): AsyncGenerator<SvixApplication> {
    for await (const row of this.#rows('/api/v1/app')) {
      yield { id: id(row), uid: text(row, 'uid'), name: text(row, 'name') ?? '', throttleRate: rate(row) };
    }
  }

  async *endpoints({ id: app }: SvixApplication): AsyncGenerator<SvixEndpoint> {
    for await (const row of this.#rows(`/api/v1/app/${encodeURIComponent(app)}/endpoint`)) yield toEndpoint(row);
  }

  /** What stands beside an endpoint. */
  async details({ id: app }: SvixApplication, { id: endpoint }: SvixEndpoint): Promise<SvixDetails> {
    const path = `/api/v1/app/${encodeURIComponent(app)}/endpoint/${encodeURIComponent(endpoint)}`;
    const [secret, headers, transformation, oauth, mtls] = await Promise.all([
      this.#get(`${path}/secret`),
      this.#get(`${path}/headers`),
      this.#find(`${path}/transformation`),
      this.#find(`${path}/oauth`),
      this.#find(`${path}/mtls`),
    ]);
    const { code, enabled } = asObject(transformation);
    return {
      secret: text(asObject(secret), 'key') ?? '',
      headers: texts(asObject(headers)['headers']),
      sensitiveHeaders: list(asObject(headers)['sensitive']) ?? [],
      hasTransformation: enabled === true || (enabled === undefined && typeof code === 'string' && code !== ''),
      hasOauth: Object.keys(asObject(oauth)).length > 0,
      hasMtls: Object.keys(asObject(mtls)).length > 0,
    };
  }

  /** How many destinations an application has that are no endpoints (queues, buckets, polling); of more, a page. */
  async countOtherDestinations({ id: app }: SvixApplication): Promise<number> {
    const page = await this.#find(`/api/v1/app/${encodeURIComponent(app)}/destination`, `?limit=${PAGE_ROWS}`);
    const { data } = asObject(page);
    return Array.isArray(data) ? data.length : 0;
  }

  async *#rows(path: string): AsyncGenerator<Record<string, unknown>> {
    let iterator: string | null = null;
    for (;;) {
      // The oldest first: what is added meanwhile comes at the end.
      const from: string = iterator === null ? '' : `&iterator=${encodeURIComponent(iterator)}`;
      const page = asObject(await this.#get(path, `?limit=${PAGE_ROWS}&order=ascending${from}`));
      if (!Array.isArray(page['data'])) throw nonsense(`no list at ${path}`);
      yield* page['data'].map(asObject);
      const next = text(page, 'iterator');
      if (page['done'] !== false || next === null) return;
      if (next === iterator) throw nonsense(`the same page of ${path} again and again`);
      iterator = next;
    }
  }

  async #get(path: string, query = ''): Promise<unknown> {
    if (this.#end !== null) return this.#http.get(`${path}${this.#end}${query}`);
    try {
      const answer = await this.#http.get(`${path}${query}`);
      this.#end = '';
      return answer;
    } catch (error) {
      const isElsewhere = error instanceof RequestError && ELSEWHERE.has(error.status ?? 0);
      if (!isElsewhere) throw error;
      const answer = await this.#http.get(`${path}/${query}`);
      this.#end = '/';
      return answer;
    }
  }

  /** Null where there is no such thing, or this token may not know of it. */
  async #find(path: string, query?: string): Promise<unknown> {
    try {
      return await this.#get(path, query);
    } catch (error) {
      if (error instanceof RequestError && error.status !== null && !error.isPassing) return null;
      throw error;
    }
  }
}

function toEndpoint(row: Record<string, unknown>): SvixEndpoint {
  const url = text(row, 'url');
  if (url === null) throw nonsense('an endpoint without a URL');
  const eventTypes = list(row['eventTypes'] ?? row['filterTypes']);
  return {
    id: id(row),
    uid: text(row, 'uid'),
    url,
    description: text(row, 'description') ?? '',
    isDisabled: row['disabled'] === true,
    eventTypes: eventTypes?.length === 0 ? null : eventTypes,
    channels: list(row['channels']) ?? [],
    throttleRate: rate(row),
    metadata: asObject(row['metadata']),
    updatedAt: text(row, 'updatedAt') ?? text(row, 'createdAt') ?? '',
  };
}

function id(row: Record<string, unknown>): string {
  const found = text(row, 'id');
  if (found === null) throw nonsense('a row without an id');
  return found;
}

function text(row: Record<string, unknown>, name: string): string | null {
  const value = row[name];
  return typeof value === 'string' ? value : null;
}

/** Today's name, and the one that servers of older versions say. */
function rate(row: Record<string, unknown>): number | null {
  const value = row['throttleRate'] ?? row['rateLimit'];
  return typeof value === 'number' && value > 0 ? value : null;
}

function list(value: unknown): string[] | null {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : null;
}

function texts(value: unknown): Record<string, string> {
  const entries = Object.entries(asObject(value)).filter(([, one]) => typeof one === 'string');
  return Object.fromEntries(entries) as Record<string, string>;
}

function nonsense(what: string): RequestError {
  return new RequestError(`Svix answers with ${what}; is this the address of its API?`, {
    status: 200,
    code: 'not_svix',
  });
}
