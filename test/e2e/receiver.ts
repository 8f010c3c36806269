// Where deliveries arrive: an HTTP server in the test's own process that keeps every request as it came and answers
// as the test says. Tests wait for arrivals, never for time.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scope } from './service.ts';

const WAIT_MS_MAX = 60_000;

export class Received {
  readonly method: string;
  readonly path: string;
  /** Names as sent and values, in turn. */
  readonly rawHeaders: readonly string[];
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  /** Unix ms at which all of it was here. */
  readonly at = Date.now();
  /** Resolves when the exchange is over: answered, or given up by the sender. */
  readonly closed: Promise<unknown>;
  /** Unix ms at which it was answered. */
  answeredAt: number | null = null;
  /** What it was answered with. */
  status: number | null = null;
  readonly #response: ServerResponse;

  constructor(request: IncomingMessage, response: ServerResponse, body: Buffer) {
    this.method = request.method!;
    this.path = request.url!;
    this.rawHeaders = request.rawHeaders;
    this.headers = request.headers as Record<string, string>;
    this.body = body;
    this.#response = response;
    this.closed = new Promise((resolve) => response.once('close', resolve));
  }

  get eventId(): string {
    return this.headers['webhook-id']!;
  }

  get deliveryId(): string {
    return this.headers['postrider-delivery-id']!;
  }

  get attempt(): number {
    return Number(this.headers['postrider-attempt']);
  }

  /** The event's body. */
  get data(): unknown {
    return (JSON.parse(this.body.toString()) as { data: unknown }).data;
  }

  /** Whether the sender closed the connection before it had an answer. */
  get isGivenUp(): boolean {
    return this.#response.closed && !this.#response.writableFinished;
  }

  answer(status: number, { headers = {}, body = '' }: { headers?: OutgoingHttpHeaders; body?: string | Buffer } = {}) {
    this.answeredAt = Date.now();
    this.status = status;
    this.#response.writeHead(status, headers).end(body);
  }
}

export type Respond = (request: Received) => void;

export const ok: Respond = (request) => request.answer(200);
/** Says nothing until the test does. */
export const hold: Respond = () => undefined;

/** Listens until the scope's end; then everything still open is closed. */
export async function startReceiver(scope: Scope, respond: Respond = ok): Promise<Receiver> {
  const receiver = new Receiver(respond);
  scope.after(() => receiver.close());
  await receiver.listen();
  return receiver;
}

export class Receiver {
  readonly requests: Received[] = [];
  respond: Respond;
  readonly #arrivals = new EventEmitter().setMaxListeners(0);
  readonly #server = createServer((request, response) => this.#take(request, response));

  constructor(respond: Respond) {
    this.respond = respond;
  }

  async listen(): Promise<void> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** The first `count` requests, once they are there. */
  async arrived(count: number, withinMs = WAIT_MS_MAX): Promise<Received[]> {
    await this.until(() => this.requests.length >= count, `${count} requests`, withinMs);
    return this.requests.slice(0, count);
  }

  /** The first request of which this holds, past or to come. */
  async arrival(holds: (request: Received) => boolean, what = 'such a request'): Promise<Received> {
    await this.until(() => this.requests.some(holds), what);
    return this.requests.find(holds)!;
  }

  /** Resolves when the condition holds, which is looked at as each request arrives. */
  async until(holds: () => boolean, what: string, withinMs = WAIT_MS_MAX): Promise<void> {
    const deadline = AbortSignal.timeout(withinMs);
    while (!holds()) {
      try {
        await once(this.#arrivals, 'arrival', { signal: deadline });
      } catch {
        const seen = this.requests.slice(-5).map(({ path, deliveryId, attempt }) => `${path} ${deliveryId} ${attempt}`);
        assert.fail(`${what} did not arrive; ${this.requests.length} requests did, at last ${seen.join(', ')}`);
      }
    }
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const received = new Received(request, response, Buffer.concat(chunks));
      this.requests.push(received);
      this.respond(received);
      this.#arrivals.emit('arrival');
    });
    request.on('error', () => undefined);
  }
}
