// Recording results: the delivery moves on if nobody else moved it meanwhile, and its history grows by one attempt.
import { ATTEMPTS_WITH_BODY_MAX } from '../../../../model/attempt.ts';
import { RESPONSE_CODES_MAX } from '../../../../model/delivery.ts';
import type { DestinationHealth } from '../../../../model/destination.ts';
import { idBytes } from '../../../../model/id.ts';
import type { DestinationId } from '../../../../model/id.ts';
import type { Decision } from '../../../../model/transitions.ts';
import type { RecordOutcome, ResultToRecord } from '../../../store.ts';
import {
  deadReasonCode,
  deliveryStatusCode,
  encodeResponseCode,
  isUnfinished,
  numberOrNull,
  outcomeCode,
  triggerCode,
} from '../../../rows/codec.ts';
import type { WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { toOpenDeliveryAlone } from '../../../rows/delivery-rows.ts';
import { SELECT_OPEN } from './select-delivery.ts';
import type { OpenRowWithDestination } from '../../../rows/delivery-rows.ts';
import { createHealthWriter } from './health.ts';
import { createPauser } from '../configuration/pause.ts';

// Integers only: every BLOB that is read costs a microsecond, and this runs once for every result.
type CurrentRow = {
  rev: number;
  status: number;
  destination: number;
  environment: number;
  attempt_count: number;
  deleted_at: number | null;
};

const SELECT_CURRENT = `
  SELECT d.rev, d.status, d.destination, d.environment, d.attempt_count, t.deleted_at
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.id = ?`;

// `||` makes text of BLOBs and the cast takes it back, byte for byte.
const appendCode = (parameter: string): string =>
  `substr(CAST(response_codes || ${parameter} AS BLOB), -${2 * RESPONSE_CODES_MAX})`;

const MOVE_ON = `
  UPDATE deliveries
  SET status = ?1, dead_reason = ?2, completed_at = ?3, due_at = ?4, schedule_position = ?5,
      attempt_count = attempt_count + 1,
      response_codes = ${appendCode('?6')},
      updated_at = ?7,
      rev = rev + 1, scheduled_at = NULL, fallback_status = NULL
  WHERE id = ?8 AND rev = ?9`;

// Names no indexed column, so it touches no index.
const GROW_HISTORY = `
  UPDATE deliveries
  SET attempt_count = attempt_count + 1, response_codes = ${appendCode('?1')}, updated_at = ?2
  WHERE id = ?3`;

const INSERT_ATTEMPT = `
  INSERT INTO attempts (delivery_id, n, trigger, started_at, duration_ms, outcome, response_code, response_headers,
                        response_body, response_truncated, error)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const DROP_BODY = 'UPDATE attempts SET response_body = NULL WHERE delivery_id = ? AND n = ?';

type RecordRequest = { results: ResultToRecord[]; health: DestinationHealth[]; now: number };

export function createRecordWrites(context: WriteContext) {
  const { db, write, backlog } = context;
  const selectCurrent = prepare<CurrentRow>(db, SELECT_CURRENT);
  const selectOpen = prepare<OpenRowWithDestination>(db, SELECT_OPEN);
  const moveOn = prepare(db, MOVE_ON);
  const growHistory = prepare(db, GROW_HISTORY);
  const insertAttempt = createAttemptInserter(context);
  const writeHealth = createHealthWriter(context);
  const pauser = createPauser(context);

  const conflict = (id: Uint8Array, row: CurrentRow): RecordOutcome => {
    const isOver = !isUnfinished(row.status) || row.deleted_at !== null;
    return { result: 'conflict', current: isOver ? 'finished' : toOpenDeliveryAlone(selectOpen.get(id)!) };
  };

  const decide = (result: ResultToRecord, decision: Decision, row: CurrentRow, now: number): void => {
    const status = deliveryStatusCode.numberOf(decision.status);
    const deadReason = numberOrNull(deadReasonCode, decision.deadReason);
    const code = encodeResponseCode(result.attempt.responseCode);
    const { completedAt, dueAt, schedulePosition, pauseDestination } = decision;
    moveOn.run(status, deadReason, completedAt, dueAt, schedulePosition, code, now, idBytes(result.id), result.rev);
    if (!isUnfinished(status)) backlog.add(row.destination, row.environment, -1);
    if (pauseDestination !== null) pauser.pause(row.destination, pauseDestination, now);
  };

  const recordOne = (result: ResultToRecord, now: number): RecordOutcome => {
    const id = idBytes(result.id);
    const { rev, attempt, decision } = result;
    const row = selectCurrent.get(id);
    if (row === undefined) return { result: 'conflict', current: 'pruned' };
    if (decision === null) {
      growHistory.run(encodeResponseCode(attempt.responseCode), now, id);
    } else {
      const isCurrent = row.rev === rev && isUnfinished(row.status) && row.deleted_at === null;
      if (!isCurrent) return conflict(id, row);
      decide(result, decision, row, now);
    }
    insertAttempt(id, row.attempt_count + 1, attempt);
    return { result: 'recorded' };
  };

  return {
    recordResults({ results, health, now }: RecordRequest): { outcomes: RecordOutcome[]; paused: DestinationId[] } {
      pauser.reset();
      return write(() => {
        const outcomes = results.map((result) => recordOne(result, now));
        for (const one of health) writeHealth(one);
        return { outcomes, paused: pauser.paused() };
      });
    },
  };
}

function createAttemptInserter({ db }: WriteContext) {
  const insert = prepare(db, INSERT_ATTEMPT);
  const dropBody = prepare(db, DROP_BODY);
  return (deliveryId: Uint8Array, n: number, attempt: ResultToRecord['attempt']): void => {
    const { trigger, startedAt, durationMs, outcome, responseCode, responseHeaders, responseBody } = attempt;
    insert.run(
      deliveryId,
      n,
      triggerCode.numberOf(trigger),
      startedAt,
      Math.round(durationMs),
      outcomeCode.numberOf(outcome),
      responseCode,
      responseHeaders === null ? null : JSON.stringify(responseHeaders),
      responseBody,
      attempt.responseBodyTruncated ? 1 : 0,
      attempt.error,
    );
    // One comes, one goes: older ones lost theirs when the attempts after them were recorded.
    if (n > ATTEMPTS_WITH_BODY_MAX) dropBody.run(deliveryId, n - ATTEMPTS_WITH_BODY_MAX);
  };
}
