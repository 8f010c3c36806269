// The history of deliveries.
import { ATTEMPTS_WITH_BODY_MAX } from '../../../../model/attempt.ts';
import { outcomeCode, triggerCode } from '../../../rows/codec.ts';
import type { ResultToRecord } from '../../../store.ts';
import { batchStatement, insertOf, insertStatement, statement, type BatchRow } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { encodeText, type Value } from '../../wire/values.ts';

export type NumberedAttempt = ResultToRecord['attempt'] & { shard: number; deliveryId: Uint8Array; n: number };

export const ATTEMPT_COLUMNS = {
  delivery_id: 'uuid',
  n: 'int4',
  trigger: 'int2',
  started_at: 'int8',
  duration_ms: 'int8',
  outcome: 'int2',
  response_code: 'int2',
  response_headers: 'text',
  response_body: 'bytea',
  response_truncated: 'bool',
  error: 'text',
} as const;

const INSERT = insertStatement('attempts_insert', insertOf('attempts', ATTEMPT_COLUMNS));

const DROP_BODIES = batchStatement<never>(
  'attempts_drop_bodies',
  { delivery_id: 'uuid', n: 'int4' },
  ({ rows, inShard }) => `
    UPDATE attempts a SET response_body = NULL FROM ${rows}
    WHERE ${inShard('a')} AND a.delivery_id = r.delivery_id AND a.n = r.n`,
);

/** By its time, too: where this one was lost, another node's may have its number. */
const IS_STORED = statement<unknown>(
  'attempts_is_stored',
  `SELECT 1 FROM attempts
   WHERE shard = $1::int2 AND delivery_id = $2 AND n = $3::int4 AND started_at = $4::int8`,
);

/** Sent, not awaited: the transaction's commit sees an error. */
export function insertAttempts(tx: Tx, attempts: readonly NumberedAttempt[]): void {
  void tx.batch(INSERT, attempts.map(toRow));
  const [first] = attempts;
  if (first !== undefined) tx.provedBy(IS_STORED, [...placeOf(first), Math.round(first.startedAt)]);
  // One comes, one goes: older ones lost theirs when the attempts after them were recorded.
  const old = attempts.filter(({ n }) => n > ATTEMPTS_WITH_BODY_MAX);
  const keys = old.map(({ shard, deliveryId, n }) => [shard, deliveryId, n - ATTEMPTS_WITH_BODY_MAX] as const);
  void tx.batch(DROP_BODIES, keys);
}

function toRow(attempt: NumberedAttempt): BatchRow {
  return [...placeOf(attempt), ...toValues(attempt)];
}

function placeOf({ shard, deliveryId, n }: NumberedAttempt): [number, Uint8Array, number] {
  return [shard, deliveryId, n];
}

/** Of all columns after the number. */
export function toValues(attempt: ResultToRecord['attempt']): Value[] {
  return [
    triggerCode.numberOf(attempt.trigger),
    Math.round(attempt.startedAt),
    Math.round(attempt.durationMs),
    outcomeCode.numberOf(attempt.outcome),
    attempt.responseCode,
    attempt.responseHeaders,
    attempt.responseBody,
    attempt.responseBodyTruncated,
    encodeText(attempt.error),
  ];
}
