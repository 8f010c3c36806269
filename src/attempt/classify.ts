// What a reply means for the delivery: the outcome, and a sentence for people where it is no success.
import type { Outcome } from '../model/attempt.ts';
import { explainStatus, explainTls, inSeconds } from './explain.ts';
import type { Reply, ReplyEnd } from './send.ts';

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
export function outcomeOf({ end, code }: Reply): Outcome {
  if (end !== 'complete' && end !== 'body_limit') return OUTCOME_OF_END[end];
  return isSuccess(code) ? 'succeeded' : 'bad_status';
}

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

/** Null on success. `timeoutMs` is the attempt's deadline. */
export function explainReply(reply: Reply, timeoutMs: number): string | null {
  return EXPLANATION_OF_END[reply.end](reply, timeoutMs);
}

function explainAnswer({ code }: Reply): string | null {
  return isSuccess(code) ? null : explainStatus(code!);
}

function explainClosed({ code }: Reply): string {
  return `the connection was closed before ${code === null ? 'a response came' : 'the response ended'}`;
}

function isSuccess(code: number | null): boolean {
  return code !== null && code >= 200 && code < 300;
}
