// Node's server, below Fastify: its limits, and what happens to that which is no request.
import type { RequestListener, Server } from 'node:http';
import type { ConnectionErrors } from './connection-errors.ts';
import type { Connections } from './connections.ts';

// An import of node:http reads all that it exports, and its WebSocket has Node load a client of 30 ms that is not used.
const { createServer } = process.getBuiltinModule('node:http');

/** Of the request line and all headers together. */
export const HEADER_BYTES_MAX = 16_384;
const HEADERS_MAX = 1_000;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the 60 s after which common load balancers drop an idle connection: they, not we, close first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const TIMEOUT_CHECK_MS = 1_000;

export function createNodeServer(
  handler: RequestListener,
  { connectionErrors, connections }: { connectionErrors: ConnectionErrors; connections: Connections },
): Server {
  const handle: RequestListener = (request, response) => {
    const start = (): void => handler(request, response);
    const connection = connections.of(request.socket);
    if (connection === undefined) start();
    else connection.begin(request, response, start);
  };
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Node's own answer to a request without a Host has no body; access.ts refuses it.
      requireHostHeader: false,
    },
    handle,
  );
  server.maxHeadersCount = HEADERS_MAX;
  // A caller that sends no more may read on: by default Node would end the connection, and leave it without an answer.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  connections.watch(server);
  server.on('clientError', connectionErrors.handle);
  server.on('connect', connectionErrors.refuseTunnel);
  // Node would answer 100 before anybody has looked at the request; bodies.ts does it.
  server.on('checkContinue', handle);
  // An expectation that we do not know may be ignored (RFC 9110, section 10.1.1); Node would answer 417 by itself.
  server.on('checkExpectation', handle);
  return server;
}
