// The HTTP side of a destination: takes POST requests on any path of 127.0.0.1, bounded in size, time and number, and
// hands each over whole. `receive` and `demo` share it; what to answer is theirs to say.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../runtime/clock.ts';

export type Arrival = {
  /** Unix milliseconds. */
  receivedAt: number;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
};

/** `cut`: the connection is closed without an answer, as by a receiver that crashes. */
export type Answer = number | 'cut';

export type Receiver = {
  url: string;
  /** Ends at once, also what is on the wire. */
  close(): void;
};

const BODY_BYTES_MAX = 1024 * 1024;
/** What is too long is read on so far, unkept: a client that still sends would miss the 413 in a reset. */
const DISCARDED_BYTES_MAX = 8 * BODY_BYTES_MAX;
/** As many as a destination may have in flight. */
const CONNECTIONS_MAX = 1_000;

const LIMITS = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the service keeps idle sockets: it must not send into one that is closing.
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 1_000,
};

/** Rejects when the port cannot be had. Port 0 picks a free one. */
export async function startReceiver(options: {
  port: number;
  clock: Clock;
  onArrival: (arrival: Arrival) => Answer | Promise<Answer>;
}): Promise<Receiver> {
  const server = createServer(LIMITS, (request, response) => {
    serve(request, response, options).catch((error: unknown) => response.destroy(error as Error));
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.listen({ host: '127.0.0.1', port: options.port });
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { clock, onArrival }: Parameters<typeof startReceiver>[0],
): Promise<void> {
  // For scripts that wait until it is up, and for people who open it in a browser.
  if (request.method === 'GET' || request.method === 'HEAD') return reply(response, 200, 'waiting for POST requests');
  if (request.method !== 'POST')
    return reply(response.setHeader('allow', 'GET, HEAD, POST'), 405, 'only POST is taken');
  const body = await readBody(request);
  if (body === 'gone') return;
  if (body === 'too_long') return reply(response.setHeader('connection', 'close'), 413, 'more than 1 MiB');
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
  const answer = await onArrival({ receivedAt: clock.now(), path: request.url ?? '/', headers, body });
  if (answer === 'cut') request.socket.destroy();
  else reply(response, answer, answer < 300 ? 'received' : 'not accepted');
}

function reply(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

async function readBody(request: IncomingMessage): Promise<Buffer | 'too_long' | 'gone'> {
  if (Number(request.headers['content-length'] ?? 0) > DISCARDED_BYTES_MAX) return 'too_long';
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // Left at a `return`, the plain iterator would destroy the socket, and with it the 413.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > DISCARDED_BYTES_MAX) return 'too_long';
      if (length > BODY_BYTES_MAX) chunks.length = 0;
      else chunks.push(chunk);
    }
  } catch {
    return 'gone'; // The client went away before it had sent everything: there is nobody to answer.
  }
  return length > BODY_BYTES_MAX ? 'too_long' : Buffer.concat(chunks);
}
