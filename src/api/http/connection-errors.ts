// What goes wrong below the level of a request: malformed HTTP, headers too long, a sender too slow. The answer is
// the same JSON as for any other error, and it must not be taken for the answer to an earlier, pipelined request.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { ApiError } from '../../model/error.ts';
import type { Ids } from '../../runtime/ids.ts';
import { METHODS } from '../access.ts';
import type { Connection, Connections } from './connections.ts';
import { JSON_TYPE, renderError, writeError } from '../output/error-response.ts';

/** What Node says of it; `rawPacket` is what had come, `bytesParsed` where in it the parser stopped. */
type ClientError = Error & { code?: string; rawPacket?: Buffer; bytesParsed?: number };

type Refusal = { status: number; reason: string; error: ApiError; allow?: string };

export type ConnectionErrors = ReturnType<typeof createConnectionErrors>;

export function createConnectionErrors(ids: Ids, connections: Connections) {
  const refuse = (connection: Connection, refusal: Refusal): void => {
    // Decided already: what Node finds out about the rest, or that time is up, changes nothing.
    if (connection.isShut) return;
    const { unfinished } = connection;
    connection.shut();
    if (unfinished !== null) refuseUnfinished(connection, unfinished, refusal);
    // The fault is in what follows requests that may still have to be answered: their answers go first.
    else connection.whenAnswered(() => writeRefusal(connection, refusal, ids.next('req')));
  };

  return {
    /** The server's `clientError` handler. */
    handle: (error: ClientError, socket: Socket): void => {
      const connection = connections.of(socket);
      if (connection === undefined || error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
      else refuse(connection, refusalOf(error));
    },
    /** For the server's `connect` event: nobody tunnels through here. Node has let go of the socket by then. */
    refuseTunnel: ({ socket }: IncomingMessage, tunnel: Duplex): void => {
      // Node no longer listens for errors of the socket, nor of what it wraps one in whose request has a body.
      for (const stream of [socket, tunnel]) stream.on('error', () => socket.destroy());
      const connection = connections.of(socket);
      if (connection === undefined) socket.destroy();
      else refuse(connection, TUNNEL);
    },
  };
}

const refuseMethod = (message: string): Refusal => ({
  status: 405,
  reason: 'Method Not Allowed',
  error: new ApiError('method_not_allowed', message),
  allow: METHODS.join(', '),
});

const TUNNEL = refuseMethod('this is no proxy');

const UNKNOWN_METHOD = refuseMethod(`this is none of the methods that are known here: ${METHODS.join(', ')}`);

function refusalOf(clientError: ClientError): Refusal {
  const refuse = (status: number, reason: string, message: string): Refusal => {
    return { status, reason, error: new ApiError('invalid_request', message) };
  };
  switch (clientError.code) {
    case 'HPE_HEADER_OVERFLOW':
      return refuse(
        431,
        'Request Header Fields Too Large',
        'the URL and headers are longer than 16 KiB, or there are more than 1,000 headers',
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refuse(408, 'Request Timeout', 'the request took too long: headers have 10 s, the whole of it 30 s');
    default:
      if (isMethodUnknown(clientError)) return UNKNOWN_METHOD;
      return refuse(400, 'Bad Request', 'this is not HTTP/1.1 as RFC 9112 has it');
  }
}

/** Whether the request line is as it should be but for its method, within which the parser stopped. */
function isMethodUnknown({ code, rawPacket, bytesParsed }: ClientError): boolean {
  if (code !== 'HPE_INVALID_METHOD' || rawPacket === undefined) return false;
  return /^[\w!#$%&'*+.^`|~-]* \S+ HTTP\/1\.[01]\r?\n/.test(rawPacket.toString('latin1', bytesParsed));
}

/** The request at fault is known, and its body is what is malformed or late. */
function refuseUnfinished(connection: Connection, reply: FastifyReply, { status, error }: Refusal): void {
  const end = (): void => connection.end();
  if (!reply.sent && !reply.raw.headersSent) writeError(error, reply.request, reply.code(status), end);
  // It was refused before, in whole, and the end of its body is what that refusal waits for.
  else if (reply.statusCode >= 400 && !reply.raw.writableEnded) reply.raw.write('', end);
  else reply.raw.once('finish', end);
}

function writeRefusal(connection: Connection, { status, reason, error, allow }: Refusal, requestId: string): void {
  const { socket } = connection;
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const payload = renderError(error, requestId);
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(payload)}`,
    `x-request-id: ${requestId}`,
    ...(allow === undefined ? [] : [`allow: ${allow}`]),
    'connection: close',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${payload}`);
  connection.end();
}
