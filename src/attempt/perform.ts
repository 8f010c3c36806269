// One attempt: sign → connect → send → read → result. The result is a value; nothing here throws or rejects, unless
// this process can open no socket.
import type { Mode } from '../model/api-key.ts';
import { ATTEMPT_ERROR_LENGTH_MAX, type AttemptResult, type Outcome } from '../model/attempt.ts';
import type { SignatureStyle } from '../model/destination.ts';
import type { Clock, Instant } from '../runtime/clock.ts';
import { ConnectError, CONNECT_MS_MAX } from './connect.ts';
import type { Abort, Connection } from './connection.ts';
import { NoDescriptors } from './descriptors.ts';
import { explainStatus, explainTls, inSeconds } from './explain.ts';
import type { Pools } from './pools.ts';
import { parseRetryAfter } from './retry-after.ts';
import { send, type Reply, type ReplyEnd } from './send.ts';
import { signatures } from './sign.ts';
import { createTargets, type Target } from './target.ts';

export type AttemptRequest = {
  environment: number;
  mode: Mode;
  url: string;
  /** The destination's static headers. */
  headers: Record<string, string>;
  signatureStyle: SignatureStyle;
  /** Signing keys in force, newest first. */
  keys: readonly Uint8Array[];
  eventId: string;
  deliveryId: string;
  /** Counts from 1. */
  attempt: number;
  payload: Uint8Array;
  /** For the header of this name, if the destination has none of its own. */
  traceparent: string | null;
  /** Its rate counts it from here, and so do its history and its time-out. */
  startedAt: Instant;
  /** Covers connecting (of which ≤ 5 s), headers and body. */
  timeoutMs: number;
  /** It is a test, and says so to its receiver: called with all headers that are about to be sent, names and values. */
  onTestHeaders?: (headers: readonly string[]) => void;
};

/**
 * Rejects with NoDescriptors only. Aborting ends it as `cancelled`; what that means is the caller's to decide.
 * `mayWrite` is asked right before the request is written, for which a connection may have to be made; if it says no,
 * nothing is written, and the attempt is `cancelled` too.
 */
export type Perform = (request: AttemptRequest, abort?: Abort, mayWrite?: () => boolean) => Promise<AttemptResult>;

/** `onFault` hears of exceptions that only a programming error can cause; the attempt then counts as failed. */
export function createPerform(options: {
  pools: Pools;
  clock: Clock;
  version: string;
  onFault: (error: unknown) => void;
}): Perform {
  const { pools, clock, onFault } = options;
  const targetOf = createTargets();
  const userAgent = `Postrider/${options.version}`;

  const connect = ({ request, target, deadline, abort }: Underway): Promise<Connection> => {
    const { environment, mode } = request;
    const budgetMs = Math.min(CONNECT_MS_MAX, deadline - clock.monotonic());
    return pools.open({ environment, mode, target, budgetMs, abort });
  };

  const sendOn = (connection: Connection, { request, head, abort, mayWrite }: Underway, timeoutMs: number) =>
    send({ clock, connection, request: { head, payload: request.payload }, timeoutMs, abort, mayWrite });

  const exchange = async (attempt: Underway): Promise<Reply> => {
    const { request, target } = attempt;
    let connection = pools.takeIdle(request.environment, target);
    let timeoutMs = request.timeoutMs;
    if (connection === null) {
      connection = await connect(attempt);
      timeoutMs = attempt.deadline - clock.monotonic();
    }
    let reply = await sendOn(connection, attempt, timeoutMs);
    // The receiver closed an idle connection just when we used it again: no failure of anyone's. POST may not be
    // repeated in general (RFC 9110, 9.2.2), but these may: receivers know a repeat by its webhook-id. Once, and
    // on a fresh connection, which is never stale.
    if (reply.end === 'stale') {
      connection = await connect(attempt);
      reply = await sendOn(connection, attempt, attempt.deadline - clock.monotonic());
    }
    pools.release(connection);
    return reply;
  };

  return async (request, abort, mayWrite) => {
    const { now: startedAt, monotonic: begunAt } = request.startedAt;
    let end: AttemptEnd;
    try {
      const target = targetOf(request.url);
      const headers = headersOf(request, { userAgent, timestampSeconds: Math.floor(startedAt / 1000) });
      const head = headOf(target, headers, request.payload.length);
      const deadline = begunAt + request.timeoutMs;
      const reply = await exchange({ request, target, head, deadline, abort, mayWrite });
      end = endOfReply(reply, request.timeoutMs, clock);
    } catch (error) {
      if (error instanceof NoDescriptors) throw error;
      if (!(error instanceof ConnectError)) onFault(error);
      end = endOfError(error);
    }
    return { ...end, startedAt, durationMs: Math.round(clock.monotonic() - begunAt) };
  };
}

type Underway = {
  request: AttemptRequest;
  target: Target;
  /** Of the HTTP request. */
  head: string;
  /** Monotonic ms. */
  deadline: number;
  /** What may still stop it. */
  abort: Abort | undefined;
  mayWrite: (() => boolean) | undefined;
};
type AttemptEnd = Omit<AttemptResult, 'startedAt' | 'durationMs'>;

function headersOf(request: AttemptRequest, own: { userAgent: string; timestampSeconds: number }): string[] {
  const { eventId: id, payload, keys, traceparent } = request;
  const timestamp = String(own.timestampSeconds);
  const signature = signatures(keys, { id, timestampSeconds: own.timestampSeconds, payload });
  const headers = [
    'content-type',
    'application/json',
    'user-agent',
    own.userAgent,
    'webhook-id',
    id,
    'webhook-timestamp',
    timestamp,
    'webhook-signature',
    signature,
    'postrider-delivery-id',
    request.deliveryId,
    'postrider-attempt',
    String(request.attempt),
  ];
  // Svix signs the same text in the same way.
  if (request.signatureStyle === 'svix') {
    headers.push('svix-id', id, 'svix-timestamp', timestamp, 'svix-signature', signature);
  }
  if (traceparent !== null && !Object.hasOwn(request.headers, 'traceparent')) headers.push('traceparent', traceparent);
  for (const name in request.headers) headers.push(name, sendable(name, request.headers[name]!));
  if (request.onTestHeaders !== undefined) {
    headers.push('postrider-test', 'true');
    request.onTestHeaders(headers);
  }
  return headers;
}

/** Whoever stores headers has checked them; what got by would break out of its line. */
function sendable(name: string, value: string): string {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e]*$/.test(value)) {
    throw new TypeError('a static header of the destination is none');
  }
  return value;
}

function headOf(target: Target, headers: readonly string[], payloadBytes: number): string {
  let head = target.requestHead;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${head}content-length: ${payloadBytes}\r\n\r\n`;
}

function endOfReply(reply: Reply, timeoutMs: number, clock: Pick<Clock, 'now'>): AttemptEnd {
  const { code, headers } = reply;
  const mayAskToWait = code === 429 || code === 503;
  return {
    outcome: outcomeOf(reply),
    responseCode: code,
    responseHeaders: headers,
    responseBody: reply.body,
    responseBodyTruncated: reply.isBodyTruncated,
    error: clip(EXPLANATION_OF_END[reply.end](reply, timeoutMs)),
    retryAfterAt: mayAskToWait ? findRetryAfter(headers!, clock.now()) : null,
  };
}

function endOfError(error: unknown): AttemptEnd {
  const isExpected = error instanceof ConnectError;
  return {
    outcome: isExpected ? error.outcome : 'connect_failed',
    responseCode: null,
    responseHeaders: null,
    responseBody: null,
    responseBodyTruncated: false,
    error: clip(isExpected ? error.message : 'the request could not be made'),
    retryAfterAt: null,
  };
}

function findRetryAfter(headers: NonNullable<Reply['headers']>, now: number): number | null {
  const header = headers.find(([name]) => name === 'retry-after');
  return header === undefined ? null : parseRetryAfter(header[1], now);
}

function clip(error: string | null): string | null {
  return error === null ? null : error.slice(0, ATTEMPT_ERROR_LENGTH_MAX);
}

// What a reply means for the delivery: the outcome, and a sentence for people where it is no success.

const OUTCOME_OF_END = {
  timed_out: 'timed_out',
  cancelled: 'cancelled',
  closed: 'reset',
  stale: 'reset',
  tls_failed: 'tls_failed',
  headers_too_long: 'invalid_response',
  padded: 'invalid_response',
  interim_unwanted: 'invalid_response',
  malformed: 'invalid_response',
} as const satisfies Record<Exclude<ReplyEnd, 'complete' | 'body_limit'>, Outcome>;

/** A body beyond the limit changes nothing: what the receiver decided is in its status. */
function outcomeOf({ end, code }: Reply): Outcome {
  if (end !== 'complete' && end !== 'body_limit') return OUTCOME_OF_END[end];
  return isSuccess(code) ? 'succeeded' : 'bad_status';
}

/** Null on success. */
const EXPLANATION_OF_END: Record<ReplyEnd, (reply: Reply, timeoutMs: number) => string | null> = {
  complete: explainAnswer,
  body_limit: explainAnswer,
  timed_out: ({ code }, timeoutMs) =>
    `${code === null ? 'no response' : 'the response did not end'} within ${inSeconds(timeoutMs)}`,
  cancelled: () => 'stopped while waiting for the response',
  closed: explainClosed,
  stale: explainClosed,
  tls_failed: ({ detail }) => explainTls(detail ?? undefined),
  headers_too_long: () => 'the response has more than 16 KiB of headers',
  padded: () => 'the response has more than 32 KiB that is neither header nor body',
  interim_unwanted: () => 'answered with interim responses (1xx) that were not asked for',
  malformed: ({ detail }) => `the answer is not HTTP/1.1: ${detail}`,
};

function explainAnswer({ code }: Reply): string | null {
  return isSuccess(code) ? null : explainStatus(code!);
}

function explainClosed({ code }: Reply): string {
  return `the connection was closed before ${code === null ? 'a response came' : 'the response ended'}`;
}

function isSuccess(code: number | null): boolean {
  return code !== null && code >= 200 && code < 300;
}
