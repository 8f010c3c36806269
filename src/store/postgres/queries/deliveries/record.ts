// Recording results: the delivery moves on if nobody else moved it meanwhile, its history grows by one attempt, and a
// destination is paused by what came back from it.
import { isUnfinished } from '../../../../model/delivery.ts';
import type { DestinationHealth, PausedReason } from '../../../../model/destination.ts';
import { formatId, idBytes, type DestinationId } from '../../../../model/id.ts';
import type { Decision } from '../../../../model/transitions.ts';
import type { RecordOutcome, ResultToRecord } from '../../../store.ts';
import { deliveryStatusCode, pausedReasonCode } from '../../../rows/codec.ts';
import type { BacklogChange } from '../../backlog.ts';
import type { WriteContext } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { encodeArray } from '../../wire/values.ts';
import { insertAttempts, type NumberedAttempt } from './attempts.ts';
import { appendCode, countOut, insertDone, keyOf, toMovedRow } from './delivery-tables.ts';
import { FINISH, MOVE_ON, REVIVE, growHistories, readStates, type Moved } from './record-rows.ts';
import { selectLive, writeHealth } from './health.ts';
import { raiseConfig } from '../configuration/environments.ts';

const SELECT_ACTIVE = statement<{ id: Uint8Array; environment: number }>(
  'destinations_active',
  `SELECT id, environment FROM destinations
   WHERE id = ANY ($1::uuid[]) AND status = 0 AND deleted_at IS NULL ORDER BY environment, id`,
);

const PAUSE = statement<{ id: Uint8Array }>(
  'destinations_pause',
  `UPDATE destinations SET status = 1, paused_reason = $2::int2, version = $3::int8,
          updated_at = greatest(updated_at, $4::int8)
   WHERE id = $1 AND status = 0 AND deleted_at IS NULL
   RETURNING id`,
);

export type RecordRequest = {
  results: readonly ResultToRecord[];
  health: readonly DestinationHealth[];
  now: number;
};
export type RecordAnswer = { outcomes: RecordOutcome[]; paused: DestinationId[] };

type Decided = ResultToRecord & { decision: Decision };

export async function recordTogether(
  tx: Tx,
  { horizons }: Pick<WriteContext, 'horizons'>,
  change: BacklogChange,
  { results, health, now }: RecordRequest,
): Promise<RecordAnswer> {
  const outcomes = new Map<ResultToRecord, RecordOutcome>();
  const pauses = new Map<DestinationId, PausedReason>();
  const finding = selectLive(tx, health);
  for (const round of inRounds(results)) {
    const moved = await moveAll(tx, round, { change, now });
    const attempts = round.flatMap((result): NumberedAttempt[] => {
      const row = moved.get(result.id);
      if (row === undefined) return [];
      const { decision, attempt } = result;
      if (decision?.pauseDestination) pauses.set(formatId('dst', row.destination_id), decision.pauseDestination);
      outcomes.set(result, { result: 'recorded' });
      return [{ ...attempt, shard: row.shard, deliveryId: row.id, n: row.attempt_count }];
    });
    insertAttempts(tx, attempts);
    const lost = round.filter((result) => !moved.has(result.id));
    for (const [result, current] of await readStates(tx, horizons, lost)) {
      outcomes.set(result, { result: 'conflict', current });
    }
  }
  // The environment's row before those of its destinations' health, as changes of the configuration take them.
  const paused = await pauseDestinations(tx, pauses, now);
  writeHealth(tx, health, { live: await finding, now });
  return { outcomes: results.map((result) => outcomes.get(result)!), paused };
}

/** Each delivery once a round: a second result of one finds what the first has left. */
function inRounds(results: readonly ResultToRecord[]): ResultToRecord[][] {
  const rounds: ResultToRecord[][] = [];
  const seen = new Map<string, number>();
  for (const result of results) {
    const round = seen.get(result.id) ?? 0;
    seen.set(result.id, round + 1);
    (rounds[round] ??= []).push(result);
  }
  return rounds;
}

/** Those that were as their results expected, by id, with the number of attempts that they have now. */
async function moveAll(
  tx: Tx,
  results: readonly ResultToRecord[],
  options: { change: BacklogChange; now: number },
): Promise<Map<string, Moved>> {
  const decided = results.filter((result): result is Decided => result.decision !== null);
  const ending = decided.filter(isEnd);
  const goingOn = decided.filter((result) => !isEnd(result));
  const ended = results.filter((result) => result.decision === null);
  const [finished, moved, grown] = await Promise.all([
    finish(tx, ending, options),
    moveOn(tx, goingOn, options.now),
    growHistories(tx, ended, options.now),
  ]);
  const byId = new Map([...finished, ...moved, ...grown].map((row) => [formatId('dlv', row.id), row]));
  const late = decided.filter(({ id, decision }) => decision.status === 'succeeded' && !byId.has(id));
  if (late.length > 0) for (const row of await revive(tx, late, options.now)) byId.set(formatId('dlv', row.id), row);
  return byId;
}

function revive(tx: Tx, results: readonly Decided[], now: number): Promise<Moved[]> {
  const rows = results.map(({ id, decision, attempt }) => {
    return [...keyOf(id), decision.completedAt, attempt.responseCode] as const;
  });
  return tx.batch(REVIVE, rows, [now]);
}

function isEnd({ decision }: Decided): boolean {
  return !isUnfinished(decision);
}

/** Out of the one table and into the other. */
async function finish(
  tx: Tx,
  results: readonly Decided[],
  { change, now }: { change: BacklogChange; now: number },
): Promise<Moved[]> {
  const seen = results.map(({ id, rev }) => [...keyOf(id), rev] as const);
  const rows = await tx.batch(FINISH, seen);
  const byId = new Map(results.map((result) => [result.id as string, result]));
  const done = rows.map((row) => {
    const { decision, attempt } = byId.get(formatId('dlv', row.id))!;
    countOut(change, row);
    return {
      ...toMovedRow(row, decision, now),
      attempt_count: row.attempt_count + 1,
      response_codes: appendCode(row.response_codes, attempt.responseCode),
    };
  });
  void insertDone(tx, done);
  return done;
}

function moveOn(tx: Tx, results: readonly Decided[], now: number): Promise<Moved[]> {
  const rows = results.map(
    ({ id, rev, decision, attempt }) =>
      [
        ...keyOf(id),
        rev,
        deliveryStatusCode.numberOf(decision.status),
        decision.dueAt,
        decision.schedulePosition,
        attempt.responseCode,
      ] as const,
  );
  return tx.batch(MOVE_ON, rows, [now]);
}

/** Nothing happens to a destination that is paused or deleted already. Returns those that were active. */
async function pauseDestinations(
  tx: Tx,
  pauses: ReadonlyMap<DestinationId, PausedReason>,
  now: number,
): Promise<DestinationId[]> {
  if (pauses.size === 0) return [];
  const ids = [...pauses.keys()].map((id) => idBytes(id));
  const active = await tx.run(SELECT_ACTIVE, [encodeArray('uuid', ids)]);
  const paused: DestinationId[] = [];
  for (const [environment, rows] of Map.groupBy(active, (row) => row.environment)) {
    // Now nobody else changes this environment's configuration, but somebody may have done so just before.
    const { config_version: version } = await raiseConfig(tx, environment);
    for (const row of rows) {
      const reason = pausedReasonCode.numberOf(pauses.get(formatId('dst', row.id))!);
      const found = await tx.run(PAUSE, [row.id, reason, version, now]);
      paused.push(...found.map(({ id }) => formatId('dst', id)));
    }
  }
  return paused;
}
