// What each route says about itself besides its schemas; the hooks in server.ts and the OpenAPI document go by it.
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiKey, Scope } from '../model/api-key.ts';
import type { ErrorCode } from '../model/error.ts';
import type { Cursors } from './input/cursor.ts';
import type { BodyShape } from './input/request-json.ts';
import type { TakeBreak } from './output/pieces.ts';

export type RouteConfig = {
  /** What a key needs to call it; null: no key is asked for. */
  scope: Scope | null;
  /** As the document writes it; of every route, set where it is added. */
  path?: string;
  /** What it answers besides what every route of its kind does (see openapi/responses.ts). */
  errors: readonly ErrorCode[];
  /** The longest request body; default REQUEST_BYTES_MAX. */
  bodyBytesMax?: number;
  bodyShape?: BodyShape;
  /** The answer has no end: a caller that reads it slowly is cut off only when it has not read for long. */
  isEndless?: boolean;
  /** For the document: headers that it understands. */
  requestHeaders?: Readonly<Record<string, DocumentedHeader>>;
  /** For the document, by status: what a success means where there is more than one, and its headers. */
  responseDescriptions?: Readonly<Record<string, string>>;
  responseHeaders?: Readonly<Record<string, Readonly<Record<string, DocumentedHeader>>>>;
};

type DocumentedHeader = { description: string; schema: object };

/** Of what was made, or of what is there already in its place. */
export const LOCATION = {
  Location: { description: 'The path of the resource.', schema: { type: 'string', format: 'uri-reference' } },
} as const;

/** Of every request but those that carry events. */
export const REQUEST_BYTES_MAX = 65_536;

/** What all lists and all long answers have in common. */
export type Shared = { cursors: Cursors; takeBreak: TakeBreak };

export type ApiApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

declare module 'fastify' {
  interface FastifyContextConfig extends Partial<RouteConfig> {}

  interface FastifyRequest {
    /** The key that the request was made with; set before the body is read, on routes that need one. */
    caller: ApiKey;
  }
}
