// The client of Postrider's API, in the words of its documentation. Needs nothing but the platform's fetch: Node 20 and
// later, Bun, Deno, workers.
import type { CallOptions } from './deadline.ts';
import { RETRIES_MAX } from './retries.ts';
import { Deliveries, Dlq } from './resources/deliveries.ts';
import { Destinations } from './resources/destinations.ts';
import { Events } from './resources/events.ts';
import { Keys } from './resources/keys.ts';
import { Operations } from './resources/operations.ts';
import { Stats } from './resources/stats.ts';
import { Subscriptions } from './resources/subscriptions.ts';
import { encode, type JsonText } from './json-text.ts';
import type { Schema } from './shapes.ts';
import { LiveStream, type StreamMessage, type StreamOptions, type StreamQuery } from './stream.ts';
import { Transport, type AnsweredCall } from './transport.ts';
import { webhooks } from './webhooks.ts';

export type PostriderOptions = {
  /** `pr_live_…` or `pr_test_…`: it also chooses the environment. */
  apiKey: string;
  /** Where the service is: `https://postrider.example.com`, `http://127.0.0.1:8383`. */
  baseUrl: string;
  /** For a call, its retries and waits included (60,000): above 0; 24 days is the longest there is. */
  timeoutMs?: number;
  /** 0-3 (3). */
  maxRetries?: number;
  /** Instead of the platform's. */
  fetch?: typeof globalThis.fetch;
};

/** An event by its id, or one that need not exist. */
export type ExplainInput = { event_id: string } | { type: string; body: object | JsonText };
export type Explanation = Schema<'Explanation'>;
export type Cluster = Schema<'Cluster'>;

const TIMEOUT_MS = 60_000;

export class Postrider {
  readonly events: Events;
  readonly destinations: Destinations;
  readonly subscriptions: Subscriptions;
  readonly deliveries: Deliveries;
  /** The deliveries that ended without a 2xx. */
  readonly dlq: Dlq;
  readonly operations: Operations;
  readonly stats: Stats;
  readonly keys: Keys;
  /** The same as the export of this name, which needs no key. */
  readonly webhooks = webhooks;
  readonly #transport: Transport;

  constructor({ timeoutMs = TIMEOUT_MS, maxRetries = RETRIES_MAX, fetch, ...options }: PostriderOptions) {
    // Called as a plain function: some platforms' fetch refuses to be somebody's method.
    const call: typeof globalThis.fetch = (...request) => (fetch ?? globalThis.fetch)(...request);
    const transport = new Transport({ ...options, timeoutMs, maxRetries, fetch: call });
    this.events = new Events(transport);
    this.destinations = new Destinations(transport);
    this.subscriptions = new Subscriptions(transport);
    this.deliveries = new Deliveries(transport);
    this.dlq = new Dlq(transport);
    this.operations = new Operations(transport);
    this.stats = new Stats(transport);
    this.keys = new Keys(transport);
    this.#transport = transport;
  }

  /** What happens, as it happens, until the loop over it ends or `signal` does; it outlives broken connections. */
  stream(query: StreamQuery = {}, options: StreamOptions = {}): AsyncGenerator<StreamMessage, void, undefined> {
    return new LiveStream(this.#transport, query, options).messages();
  }

  /** Which subscriptions want an event, and why others do not. Nothing is sent or stored. */
  explain(input: ExplainInput, options?: CallOptions): Promise<Explanation> {
    return this.#transport.call(explainCall(input), options);
  }

  /** The same as JSON as it came, with all digits of its numbers. */
  explainText(input: ExplainInput, options?: CallOptions): Promise<string> {
    return this.#transport.callText(explainCall(input), options);
  }

  /** The nodes, and the work they share. Needs the scope `admin`. */
  cluster(options?: CallOptions): Promise<Cluster> {
    return this.#transport.call({ method: 'GET', path: '/v1/cluster', due: { data: 'object' } }, options);
  }
}

function explainCall(input: ExplainInput): AnsweredCall {
  const body = encode(input);
  return { method: 'POST', path: '/v1/explain', body, isRepeatable: true, due: { subscriptions: 'object' } };
}

export * from './errors.ts';
export { JsonText } from './json-text.ts';
export { List, type Page, type PageQuery } from './list.ts';
export { webhooks, WebhookVerificationError } from './webhooks.ts';
export type { VerifyOptions, WebhookEvent, WebhookRequest } from './webhooks.ts';
export type { CallOptions } from './deadline.ts';
export type { StreamedEvent, StreamMessage, StreamOptions, StreamQuery } from './stream.ts';
export type * from './resources/deliveries.ts';
export type * from './resources/destinations.ts';
export type * from './resources/events.ts';
export type * from './resources/keys.ts';
export type * from './resources/operations.ts';
export type * from './resources/stats.ts';
export type * from './resources/subscriptions.ts';
