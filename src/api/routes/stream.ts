// /v1/stream: what happens, as it happens, as server-sent events.
import { Type } from '../schemas/type.ts';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../model/error.ts';
import { MESSAGE_KINDS, type MessageKind } from '../../stream/message.ts';
import type { Identify } from '../access.ts';
import type { ApiApp } from '../route-config.ts';
import { streamQuery } from '../schemas/stream.ts';
import type { ApiServices } from '../services.ts';
import { readTypeSelection } from './events.ts';

const STREAM_TYPE = 'text/event-stream';
const HEADERS = {
  'content-type': STREAM_TYPE,
  'cache-control': 'no-store',
  // Proxies that gather answers would keep every message until there are many.
  'x-accel-buffering': 'no',
  // Nothing can follow on this connection.
  connection: 'close',
};

/** `identify`: says whose request it is, by whatever it was let in. */
export function addStreamRoutes(app: ApiApp, { streams }: ApiServices, identify: Identify): void {
  // Before the server waits for what is being answered: streams would never be.
  app.addHook('preClose', async () => streams.endStreams());

  app.get('/v1/stream', streaming, async (request, reply) => {
    const { caller, query, headers, method } = request;
    const filter = {
      kinds: readKinds(query.kinds),
      destinationId: query.destination_id ?? null,
      eventType: readTypeSelection(query.event_type, 'event_type'),
      status: query.status ?? null,
    };
    // No stream is open then; the server leaves the body out of what it is handed, and so wants one.
    if (method === 'HEAD') return answer(reply, Readable.from([]));
    const stream = await streams.open({
      environment: caller.environment,
      filter,
      withBodies: query.bodies === 'true',
      lastId: readLastId(headers),
      mayGoOn: () => isGood(request),
    });
    return answer(reply, stream);
  });

  const isGood = (request: FastifyRequest): boolean => {
    try {
      identify(request);
      return true;
    } catch {
      return false;
    }
  };
}

function answer(reply: FastifyReply, stream: Readable): FastifyReply {
  return reply.headers(HEADERS).send(stream);
}

const streaming = {
  schema: {
    tags: ['Stream'],
    operationId: 'stream',
    summary: 'Follow what happens, as it happens',
    description:
      'Server-sent events, without end: `event` names the kind, `data` is JSON, a row as lists show it. `event`: an ' +
      'event was accepted; `attempt`: an attempt was recorded, with `delivery_id`; `delivery`: one was created or ' +
      'changed; `destination`: one was created, changed or deleted (`{id, deleted: true}`). `gap`: messages are ' +
      'missing, `{"missed": n}`, null if nobody knows how many. The header `Last-Event-ID` goes on after the message ' +
      'of that id. A comment comes every 15 seconds.',
    produces: [STREAM_TYPE],
    querystring: streamQuery,
    response: { 200: Type.String({ description: 'The event stream format of HTML.' }) },
  },
  config: { scope: 'read', errors: ['invalid_event_type_pattern', 'rate_limited'], isEndless: true },
} as const;

function readKinds(text: string | undefined): ReadonlySet<MessageKind> {
  if (text === undefined) return new Set(MESSAGE_KINDS);
  const kinds = text.split(',');
  if (kinds.every(isKind)) return new Set(kinds);
  throw new ApiError('invalid_request', `"kinds" must be some of ${MESSAGE_KINDS.join(', ')}, separated by commas`, {
    param: 'kinds',
  });
}

function isKind(text: string): text is MessageKind {
  return (MESSAGE_KINDS as readonly string[]).includes(text);
}

/** Empty: a client that has seen no message yet. */
function readLastId(headers: FastifyRequest['headers']): string | null {
  const id = headers['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : null;
}
