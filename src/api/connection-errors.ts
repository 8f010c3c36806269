// What goes wrong below the level of a request: malformed HTTP, headers too long, a sender too slow. The answer is
// the same JSON as for any other error, and it must not be taken for the answer to an earlier, pipelined request.
import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { ApiError } from '../model/error.ts';
import type { Ids } from '../runtime/ids.ts';
import { METHODS } from './access.ts';
import { JSON_TYPE, renderError, sendErrorAtOnce } from './error-response.ts';

export interface ConnectionErrors {
  /** To be told of every request, so that the latest on its connection is known. */
  track: (reply: FastifyReply) => void;
  /** The server is closing: a request on this connection that is being answered is its last. False: there is none. */
  beginClosing: (socket: Socket) => boolean;
  /** The server's `clientError` handler. */
  handle: (error: Error & { code?: string }, socket: Socket) => void;
  /** For the server's `connect` event: nobody tunnels through here, and Node would just close the connection. */
  refuseTunnel: (socket: Socket) => void;
}

type Refusal = { status: number; reason: string; error: ApiError; allow?: string };

export function createConnectionErrors(ids: Ids): ConnectionErrors {
  const latest = new WeakMap<Socket, FastifyReply>();

  return {
    track(reply) {
      latest.set(reply.request.raw.socket, reply);
    },
    beginClosing(socket) {
      const reply = latest.get(socket);
      if (reply === undefined || reply.raw.writableFinished) return false;
      if (!reply.raw.headersSent) reply.header('connection', 'close');
      return true;
    },
    handle(error, socket) {
      if (error.code === 'ECONNRESET' || !socket.writable) {
        socket.destroy();
        return;
      }
      const refusal = refusalOf(error);
      const reply = latest.get(socket);
      if (reply === undefined || reply.raw.writableFinished) writeRefusal(socket, refusal, ids.next('req'));
      else if (!reply.request.raw.complete) refuseUnfinished(reply, refusal, socket);
      // The fault is in what follows a request that is still being answered: its answer goes first.
      else reply.raw.once('finish', () => writeRefusal(socket, refusal, ids.next('req')));
    },
    refuseTunnel(socket) {
      socket.on('error', () => socket.destroy());
      writeRefusal(socket, TUNNEL, ids.next('req'));
    },
  };
}

const TUNNEL: Refusal = {
  status: 405,
  reason: 'Method Not Allowed',
  error: new ApiError('method_not_allowed', 'this is no proxy'),
  allow: METHODS.join(', '),
};

function refusalOf({ code }: { code?: string }): Refusal {
  const refuse = (status: number, reason: string, message: string): Refusal => {
    return { status, reason, error: new ApiError('invalid_request', message) };
  };
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return refuse(431, 'Request Header Fields Too Large', 'the URL and headers are longer than 16 KiB');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refuse(408, 'Request Timeout', 'the request took too long: headers have 10 s, the whole of it 30 s');
    default:
      return refuse(400, 'Bad Request', 'this is not HTTP/1.1 as RFC 9112 has it');
  }
}

/** The request at fault is known, and its body is what is malformed or late. */
function refuseUnfinished(reply: FastifyReply, { status, error }: Refusal, socket: Socket): void {
  if (reply.sent || reply.raw.headersSent) {
    socket.destroy();
    return;
  }
  reply.header('connection', 'close');
  sendErrorAtOnce(error, reply.request, reply, status);
}

function writeRefusal(socket: Socket, { status, reason, error, allow }: Refusal, requestId: string): void {
  if (!socket.writable) return;
  const payload = renderError(error, requestId);
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(payload)}`,
    `x-request-id: ${requestId}`,
    ...(allow === undefined ? [] : [`allow: ${allow}`]),
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${payload}`);
}
