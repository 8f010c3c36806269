// A small client of the public API, with the shapes that tests read. What it is not told to expect, it asserts.
import assert from 'node:assert/strict';

export type Destination = {
  id: string;
  url: string;
  status: 'active' | 'paused';
  paused_reason: string | null;
  max_in_flight: number;
  headers: Record<string, string>;
  signing_secret: string;
};
export type Subscription = { id: string; destination_id: string; event_type: string };
export type ScheduledDelivery = { id: string; destination_id: string; subscription_id: string; status: string };
export type Event = {
  event_id: string;
  type: string;
  idempotency_key: string | null;
  occurred_at: string;
  created_at: string;
  deliveries: ScheduledDelivery[];
};
export type Delivery = {
  id: string;
  event_id: string;
  event_type: string;
  destination_id: string;
  status: 'pending' | 'retrying' | 'succeeded' | 'dead';
  dead_reason: string | null;
  origin: string;
  attempt_count: number;
  retry_count: number;
  response_codes: (number | null)[];
  next_attempt_at: string | null;
  created_at: string;
  completed_at: string | null;
};
export type Attempt = {
  attempt: number;
  trigger: 'schedule' | 'manual';
  started_at: string;
  duration_ms: number;
  outcome: string;
  response_code: number | null;
  response_headers: Record<string, string[]> | null;
  response_body: string | null;
  response_body_encoding: 'utf8' | 'base64' | null;
  response_body_truncated: boolean;
  error: string | null;
};
export type DeliveryWithRetries = Delivery & { retries: Attempt[] };
export type Page<Row> = { data: Row[]; has_more: boolean; next_cursor: string | null };
export type ErrorBody = { error: { code: string; message: string; request_id: string; param?: string } };

export type Answer<Body> = { status: number; headers: Headers; text: string; body: Body };
type Sendable = string | Uint8Array<ArrayBuffer> | object;

const WAIT_MS_MAX = 60_000;

/** What answers. `activity` resolves when something may have changed. */
type Server = { readonly url: string; readonly key: string; activity(): Promise<void> };

export class Api {
  readonly #server: Server;
  readonly #key: string | null;

  /** `key`: another than the first one of the server. */
  constructor(server: Server, key: string | null = null) {
    this.#server = server;
    this.#key = key;
  }

  /** Text and bytes go out as they are, anything else as JSON. Any status is an answer. */
  async send<Body = ErrorBody>(method: string, path: string, body?: Sendable): Promise<Answer<Body>> {
    const headers: Record<string, string> = { authorization: `Bearer ${this.#key ?? this.#server.key}` };
    const request: RequestInit = { method, headers };
    if (body !== undefined) {
      headers['content-type'] = 'application/json';
      request.body = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
    }
    const response = await fetch(`${this.#server.url}${path}`, request);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: (isJson ? JSON.parse(text) : null) as Body,
    };
  }

  /** The body of the answer, which must have this status. */
  async expect<Body>(status: number, method: string, path: string, body?: Sendable): Promise<Body> {
    const answer = await this.send<Body>(method, path, body);
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
    return answer.body;
  }

  destination(url: string, options: object = {}): Promise<Destination> {
    return this.expect(201, 'POST', '/v1/destinations', { url, ...options });
  }

  subscribe(destination: Destination, eventType: string, filter?: object): Promise<Subscription> {
    const input = {
      destination_id: destination.id,
      event_type: eventType,
      ...(filter === undefined ? {} : { filter }),
    };
    return this.expect(201, 'POST', '/v1/subscriptions', input);
  }

  /** A destination that is subscribed to one event type of its own. */
  async subscribed(url: string, eventType: string, options: object = {}): Promise<Destination> {
    const destination = await this.destination(url, options);
    await this.subscribe(destination, eventType);
    return destination;
  }

  publish(type: string, body: object = {}, options: object = {}): Promise<Event> {
    return this.expect(202, 'POST', '/v1/events', { type, body, ...options });
  }

  /** Publishes an event that exactly one destination wants. */
  async publishToOne(type: string, body: object = {}): Promise<string> {
    const { deliveries } = await this.publish(type, body);
    assert.equal(deliveries.length, 1);
    return deliveries[0]!.id;
  }

  readDestination(id: string): Promise<Destination> {
    return this.expect(200, 'GET', `/v1/destinations/${id}`);
  }

  change(id: string, patch: object): Promise<Destination> {
    return this.expect(200, 'PATCH', `/v1/destinations/${id}`, patch);
  }

  delivery(id: string): Promise<DeliveryWithRetries> {
    return this.expect(200, 'GET', `/v1/deliveries/${id}`);
  }

  retry(id: string): Promise<Delivery> {
    return this.expect(202, 'POST', `/v1/deliveries/${id}/retry`);
  }

  replayDead(id: string): Promise<Delivery> {
    return this.expect(202, 'POST', `/v1/dlq/${id}/replay`);
  }

  /** All rows of a list, page by page. */
  async all<Row>(path: string): Promise<Row[]> {
    const rows: Row[] = [];
    const separator = path.includes('?') ? '&' : '?';
    let cursor = '';
    for (;;) {
      const page = await this.expect<Page<Row>>(200, 'GET', `${path}${separator}limit=100${cursor}`);
      rows.push(...page.data);
      if (page.next_cursor === null) return rows;
      cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
  }

  /** The delivery as soon as this holds for it. */
  deliveryWhen(id: string, holds: (delivery: DeliveryWithRetries) => boolean): Promise<DeliveryWithRetries> {
    return this.eventually(() => this.delivery(id), holds);
  }

  deliveryEnds(id: string): Promise<DeliveryWithRetries> {
    return this.deliveryWhen(id, ({ status }) => status === 'succeeded' || status === 'dead');
  }

  /** Reads until the condition holds, anew whenever something may have changed. */
  async eventually<Value>(read: () => Promise<Value>, holds: (value: Value) => boolean): Promise<Value> {
    const deadline = performance.now() + WAIT_MS_MAX;
    for (;;) {
      const changed = this.#server.activity();
      const value = await read();
      if (holds(value)) return value;
      if (performance.now() > deadline) assert.fail(`after ${WAIT_MS_MAX} ms still ${JSON.stringify(value)}`);
      await changed;
    }
  }
}
