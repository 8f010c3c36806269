// The public HTTP API, by fetch: the demo knows nothing of the service but what any of its users does.
import { systemClock } from '../src/runtime/clock.ts';

export type Api = {
  /** Throws unless the answer has the status that is expected. A body that is a text is sent as it is. */
  call<Body>(request: string, options: CallOptions): Promise<Reply<Body>>;
};

type CallOptions = { expect: number; body?: string | object };

export type Reply<Body> = { headers: Headers; body: Body };

// What the demo reads of the API's answers; docs/ has the rest.
export type DestinationReply = { id: string; signing_secret: string };
export type ScheduledDelivery = { id: string; destination_id: string; subscription_id: string; status: string };
export type EventReply = { event_id: string; type: string; deliveries: ScheduledDelivery[] };
export type DeliveryReply = {
  id: string;
  event_id: string;
  destination_id: string;
  status: string;
  dead_reason: string | null;
  origin: string;
  attempt_count: number;
  retry_count: number;
  response_codes: (number | null)[];
  next_attempt_at: string | null;
};
export type SigningKeyReply = { id: string; expires_at: string | null };
export type ErrorReply = { error: { code: string; message: string } };
export type PageReply<Row> = { data: Row[]; next_cursor: string | null };

const TIMEOUT_MS = 10_000;

/** `urlOf`: the service has another address each time it starts. */
export function createApi(urlOf: () => string, key: string): Api {
  return {
    async call<Body>(request: string, { expect, body }: CallOptions): Promise<Reply<Body>> {
      const [method, path] = request.split(' ') as [string, string];
      const { response, text } = await exchange(`${urlOf()}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      if (response.status !== expect) throw new Error(`${request} answered ${response.status}, not ${expect}: ${text}`);
      return { headers: response.headers, body: (text === '' ? null : JSON.parse(text)) as Body };
    },
  };
}

async function exchange(url: string, init: RequestInit): Promise<{ response: Response; text: string }> {
  const controller = new AbortController();
  const timer = systemClock.setTimer(() => controller.abort(), TIMEOUT_MS);
  try {
    const response = await fetch(url, { ...init, signal: controller.signal });
    return { response, text: await response.text() };
  } catch (error) {
    const reason = controller.signal.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : 'the connection failed';
    throw new Error(`${init.method} ${url}: ${reason}`, { cause: error });
  } finally {
    timer.cancel();
  }
}

/** Every row of a list, page by page. `filter`: more of the query, as `&name=value`. */
export async function listAll<Row>(api: Api, path: string, filter = ''): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await api.call<PageReply<Row>>(`GET ${path}?limit=100${filter}${query}`, { expect: 200 });
    rows.push(...body.data);
    cursor = body.next_cursor;
  } while (cursor !== null);
  return rows;
}
