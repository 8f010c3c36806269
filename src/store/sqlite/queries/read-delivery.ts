// One delivery with its whole history.
import type { Attempt } from '../../../model/attempt.ts';
import type { DeliveryWithAttempts } from '../../../model/delivery.ts';
import { idBytes } from '../../../model/id.ts';
import type { DeliveryId } from '../../../model/id.ts';
import { outcomeCode, triggerCode } from '../codec.ts';
import type { ReadContext } from '../context.ts';
import { prepare } from '../database.ts';
import { SELECT_DELIVERY, toDelivery } from './delivery-rows.ts';
import type { DeliveryRow } from './delivery-rows.ts';

type AttemptRow = {
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

const SELECT_ATTEMPTS = `
  SELECT n, trigger, started_at, duration_ms, outcome, response_code, response_headers, response_body,
         response_truncated, error
  FROM attempts WHERE delivery_id = ? ORDER BY n`;

export function createDeliveryReads({ db, read }: ReadContext) {
  const selectDelivery = prepare<DeliveryRow>(db, SELECT_DELIVERY);
  const selectAttempts = prepare<AttemptRow>(db, SELECT_ATTEMPTS);
  return {
    readDelivery: (request: { environment: number; id: DeliveryId }): DeliveryWithAttempts | null =>
      read(() => {
        const id = idBytes(request.id);
        const row = selectDelivery.get(id, request.environment);
        if (row === undefined) return null;
        return { ...toDelivery(row), attempts: selectAttempts.all(id).map(toAttempt) };
      }),
  };
}

function toAttempt(row: AttemptRow): Attempt {
  return {
    attempt: row.n,
    trigger: triggerCode.nameOf(row.trigger),
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    outcome: outcomeCode.nameOf(row.outcome),
    responseCode: row.response_code,
    responseHeaders: row.response_headers === null ? null : (JSON.parse(row.response_headers) as [string, string][]),
    responseBody: row.response_body,
    responseBodyTruncated: row.response_truncated === 1,
    error: row.error,
  };
}
