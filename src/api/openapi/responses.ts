// What an operation answers with when it fails: a response for each set of codes, all of the one schema `Error`.
import { ERRORS, type ErrorCode } from '../../model/error.ts';
import { METHODS } from '../access.ts';
import type { RouteConfig } from '../route-config.ts';
import { errorBody } from '../schemas/error.ts';
import type { Components, Json } from './components.ts';

/** Every response has it. */
export function requestIdHeader(components: Components): Json {
  return { 'x-request-id': addHeader(components, 'RequestId') };
}

/** By status: what this operation says no with, and what HTTP itself may say before it is asked. */
export function describeErrors(components: Components, method: string, config: RouteConfig): Json {
  const possible = new Set([...commonErrors(method, config), ...config.errors]);
  // In the order of the table, so that the same codes make the same response.
  const codes = ERROR_CODES.filter((code) => possible.has(code));
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status);
  const own = [...byStatus].map(([status, group]) => [status, describeError(components, group)]);
  const refused = Object.entries(REFUSALS).map(([status, refusal]) => [status, describeRefusal(components, refusal)]);
  return Object.fromEntries([...own, ...refused]);
}

const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

/** What follows from the kind of route. */
function commonErrors(method: string, { scope }: RouteConfig): ErrorCode[] {
  const always: ErrorCode[] = ['internal_error', 'unavailable'];
  if (scope === null) return always;
  const withBody: ErrorCode[] = method === 'GET' ? [] : ['body_too_large', 'unsupported_media_type'];
  return ['invalid_request', 'unauthorized', 'forbidden', ...withBody, ...always];
}

type Refusal = { name: string; code: ErrorCode; description: string; example: string };

/** Any request may be answered so, whatever its path leads to. */
export const REFUSALS: Readonly<Record<number, Refusal>> = {
  405: {
    name: 'MethodNotAllowed',
    code: 'method_not_allowed',
    description: 'This path with a method that is not described here.',
    example: ERRORS.method_not_allowed.remedy,
  },
  408: {
    name: 'RequestTimeout',
    code: 'invalid_request',
    description: 'The headers took longer than 10 s, or the whole request longer than 30 s. The connection is closed.',
    example: 'Send the request faster.',
  },
  431: {
    name: 'HeadersTooLarge',
    code: 'invalid_request',
    description:
      'The URL and the headers are longer than 16 KiB, or there are more than 1,000 headers. The connection is closed.',
    example: 'Send shorter headers.',
  },
};

function describeRefusal(components: Components, { name, code, description, example }: Refusal): Json {
  const text = `\`${code}\`: ${description}`;
  return components.add('responses', name, errorResponse(components, [code], text, example));
}

function describeError(components: Components, codes: ErrorCode[]): Json {
  const text = codes.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join(' ');
  return components.add('responses', codes.map(pascalCase).join('Or'), errorResponse(components, codes, text));
}

function errorResponse(components: Components, codes: ErrorCode[], description: string, message?: string): Json {
  const examples = codes.map((code) => {
    const error = { code, message: message ?? ERRORS[code].remedy, request_id: 'req_01kg9qz3xefa3vqtdw5f0bz7ra' };
    return [code, { value: { error } }];
  });
  return {
    description,
    headers: { ...requestIdHeader(components), ...errorHeaders(components, codes) },
    content: {
      'application/json': { schema: components.schema(errorBody), examples: Object.fromEntries(examples) },
    },
  };
}

const HEADERS = {
  RequestId: { schema: { type: 'string' }, description: 'The id of the request, for support and logs.' },
  RetryAfter: { schema: { type: 'integer', minimum: 0 }, description: 'Seconds to wait.' },
  WwwAuthenticate: { schema: { type: 'string', enum: ['Bearer'] }, description: 'How to say who is calling.' },
  Allow: {
    schema: { type: 'string', examples: ['GET, HEAD, POST'] },
    description: `The methods that the path takes, out of ${METHODS.join(', ')}.`,
  },
};

function errorHeaders(components: Components, codes: ErrorCode[]): Json {
  const waits = codes.some((code) => ['unavailable', 'rate_limited', 'rotation_in_progress'].includes(code));
  return {
    ...(waits ? { 'Retry-After': addHeader(components, 'RetryAfter') } : {}),
    ...(codes.includes('unauthorized') ? { 'WWW-Authenticate': addHeader(components, 'WwwAuthenticate') } : {}),
    ...(codes.includes('method_not_allowed') ? { Allow: addHeader(components, 'Allow') } : {}),
  };
}

function addHeader(components: Components, name: keyof typeof HEADERS): Json {
  return components.add('headers', name, HEADERS[name]);
}

/** `invalid_url` becomes `InvalidUrl`. */
function pascalCase(code: string): string {
  return code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
