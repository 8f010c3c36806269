// Recording results: the delivery moves on if nobody else moved it meanwhile, its history grows by one attempt, and a
// destination is paused by what came back from it.
import { ATTEMPTS_WITH_BODY_MAX } from '../../../../model/attempt.ts';
import { RESPONSE_CODES_MAX } from '../../../../model/delivery.ts';
import type { PausedReason } from '../../../../model/destination.ts';
import { formatId, idBytes, type DestinationId } from '../../../../model/id.ts';
import { mayRevive } from '../../../../model/transitions.ts';
import type { RecordOutcome, ResultToRecord } from '../../../store.ts';
import {
  deadReasonCode,
  deliveryStatusCode,
  encodeResponseCode,
  isUnfinished,
  nameOrNull,
  numberOrNull,
  outcomeCode,
  pausedReasonCode,
  triggerCode,
} from '../../../rows/codec.ts';
import { toOpenDeliveryAlone } from '../../../rows/delivery-rows.ts';
import type { Write, WriteContext } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { raiseConfig } from '../configuration/environments.ts';
import { STAMP_DESTINATION } from '../configuration/signing-keys.ts';
import { SELECT_OPEN } from './delivery-rows.ts';
import { writeHealth } from './health.ts';

// Integers only: every BLOB that is read costs a microsecond, and this runs once for every result.
type CurrentRow = {
  rev: number;
  status: number;
  destination: number;
  environment: number;
  attempt_count: number;
  dead_reason: number | null;
  deleted_at: number | null;
};

const SELECT_CURRENT = statement<CurrentRow>(`
  SELECT d.rev, d.status, d.destination, d.environment, d.attempt_count, d.dead_reason, t.deleted_at
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.id = ?`);

// `||` makes text of BLOBs and the cast takes it back, byte for byte.
const appendCode = (parameter: string): string =>
  `substr(CAST(response_codes || ${parameter} AS BLOB), -${2 * RESPONSE_CODES_MAX})`;

// The decision as `afterResult` has it (transitions.ts), which leaves nothing of what a forced attempt had kept: two
// columns that need not be bound; the conformance suite holds it to that. `writeState` writes every other move.
const MOVE_ON = statement(`
  UPDATE deliveries
  SET status = ?1, dead_reason = ?2, completed_at = ?3, due_at = ?4, schedule_position = ?5,
      attempt_count = attempt_count + 1,
      response_codes = ${appendCode('?6')},
      updated_at = max(updated_at, ?7),
      rev = rev + 1, scheduled_at = NULL, fallback_status = NULL
  WHERE id = ?8 AND rev = ?9`);

// Names no indexed column, so it touches no index.
const GROW_HISTORY = statement(`
  UPDATE deliveries
  SET attempt_count = attempt_count + 1, response_codes = ${appendCode('?1')},
      updated_at = max(updated_at, ?2)
  WHERE id = ?3`);

const INSERT_ATTEMPT = statement(`
  INSERT INTO attempts (delivery_id, n, trigger, started_at, duration_ms, outcome, response_code, response_headers,
                        response_body, response_truncated, error)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);

const DROP_BODY = statement('UPDATE attempts SET response_body = NULL WHERE delivery_id = ? AND n = ?');

// Nothing happens to a destination that is paused or deleted already.
const PAUSE = statement<{ id: Uint8Array; environment: number }>(`
  UPDATE destinations SET status = 1, paused_reason = ?, updated_at = max(updated_at, ?)
  WHERE key = ? AND status = 0 AND deleted_at IS NULL
  RETURNING id, environment`);

export const recordResults: Write<'recordResults'> = (context, { results, health, now }) =>
  context.write(() => {
    const batch: Batch = { now, paused: [] };
    const outcomes = results.map((result) => recordOne(context, result, batch));
    for (const one of health) writeHealth(context, one);
    return { outcomes, paused: batch.paused };
  });

/** `paused`: gets the destination if the result pauses it. */
type Batch = { now: number; paused: DestinationId[] };

// Written anew for each result, as the ids are that accept.ts binds, and for the same reason.
const ID = new Uint8Array(16);

function recordOne(context: WriteContext, result: ResultToRecord, batch: Batch): RecordOutcome {
  const { sql } = context;
  const { rev, attempt, decision } = result;
  const id = idBytes(result.id, ID);
  const row = sql(SELECT_CURRENT).get(id);
  if (row === undefined) return { result: 'conflict', current: 'pruned' };
  if (decision === null) {
    sql(GROW_HISTORY).run(encodeResponseCode(attempt.responseCode), batch.now, id);
  } else {
    const isOpen = isUnfinished(row.status) && row.deleted_at === null;
    if (!isOpen && !mayRevive(toEnded(row), decision)) return { result: 'conflict', current: 'finished' };
    if (isOpen && row.rev !== rev) {
      return { result: 'conflict', current: toOpenDeliveryAlone(sql(SELECT_OPEN).get(id)!) };
    }
    moveOn(context, { id, row }, result, batch.now);
    if (decision.pauseDestination !== null) pause(context, row.destination, decision.pauseDestination, batch);
  }
  insertAttempt(context, id, row.attempt_count + 1, attempt);
  return { result: 'recorded' };
}

function toEnded(row: CurrentRow) {
  return {
    status: deliveryStatusCode.nameOf(row.status),
    deadReason: nameOrNull(deadReasonCode, row.dead_reason),
  };
}

type Current = { id: Uint8Array; row: CurrentRow };

function moveOn({ sql, backlog }: WriteContext, { id, row }: Current, result: ResultToRecord, now: number): void {
  const decision = result.decision!;
  const { completedAt, dueAt, schedulePosition } = decision;
  const status = deliveryStatusCode.numberOf(decision.status);
  const deadReason = numberOrNull(deadReasonCode, decision.deadReason);
  const code = encodeResponseCode(result.attempt.responseCode);
  sql(MOVE_ON).run(status, deadReason, completedAt, dueAt, schedulePosition, code, now, id, row.rev);
  if (isUnfinished(row.status) && !isUnfinished(status)) backlog.add(row.destination, row.environment, -1);
}

function pause({ sql }: WriteContext, destination: number, reason: PausedReason, { now, paused }: Batch): void {
  const row = sql(PAUSE).get(pausedReasonCode.numberOf(reason), now, destination);
  if (row === undefined) return;
  sql(STAMP_DESTINATION).run(raiseConfig(sql, row.environment), destination);
  paused.push(formatId('dst', row.id));
}

function insertAttempt({ sql }: WriteContext, deliveryId: Uint8Array, n: number, attempt: ResultToRecord['attempt']) {
  const { trigger, startedAt, durationMs, outcome, responseCode, responseHeaders, responseBody } = attempt;
  sql(INSERT_ATTEMPT).run(
    deliveryId,
    n,
    triggerCode.numberOf(trigger),
    startedAt,
    Math.round(durationMs),
    outcomeCode.numberOf(outcome),
    responseCode,
    responseHeaders,
    responseBody,
    attempt.responseBodyTruncated ? 1 : 0,
    attempt.error,
  );
  // One comes, one goes: older ones lost theirs when the attempts after them were recorded.
  if (n > ATTEMPTS_WITH_BODY_MAX) sql(DROP_BODY).run(deliveryId, n - ATTEMPTS_WITH_BODY_MAX);
}
