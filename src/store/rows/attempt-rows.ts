// Attempts between rows and values.
import type { StoredAttempt } from '../../model/attempt.ts';
import { outcomeCode, triggerCode } from './codec.ts';

export type AttemptRow = {
  n: number;
  trigger: number;
  started_at: number;
  duration_ms: number;
  outcome: number;
  response_code: number | null;
  response_headers: string | null;
  response_body: Uint8Array | null;
  response_truncated: number;
  error: string | null;
};

export function toAttempt(row: AttemptRow): StoredAttempt {
  return {
    attempt: row.n,
    trigger: triggerCode.nameOf(row.trigger),
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    outcome: outcomeCode.nameOf(row.outcome),
    responseCode: row.response_code,
    responseHeaders: row.response_headers,
    responseBody: row.response_body,
    responseBodyTruncated: row.response_truncated === 1,
    error: row.error,
  };
}
