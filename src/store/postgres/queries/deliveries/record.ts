// Recording results: the delivery moves on if nobody else moved it meanwhile, and its history grows by one attempt.
import { isUnfinished } from '../../../../model/delivery.ts';
import type { DestinationHealth, PausedReason } from '../../../../model/destination.ts';
import { formatId } from '../../../../model/id.ts';
import type { DestinationId } from '../../../../model/id.ts';
import type { Decision } from '../../../../model/transitions.ts';
import type { RecordOutcome, ResultToRecord } from '../../../store.ts';
import { deliveryStatusCode, encodeResponseCode } from '../../../rows/codec.ts';
import type { BacklogChange } from '../../backlog.ts';
import type { WriteContext } from '../../context.ts';
import type { Tx } from '../../wire/transaction.ts';
import { insertAttempts } from './attempts.ts';
import type { NumberedAttempt } from './attempts.ts';
import { appendCode, countOut, insertDone, keyOf, toMovedRow } from './delivery-tables.ts';
import { FINISH, MOVE_ON, growHistories, readStates } from './record-rows.ts';
import type { Moved } from './record-rows.ts';
import { selectLive, writeHealth } from './health.ts';
import { pauseDestinations } from '../configuration/pause.ts';

export type RecordRequest = {
  results: readonly ResultToRecord[];
  health: readonly DestinationHealth[];
  now: number;
};
export type Recorded = { outcomes: RecordOutcome[]; paused: DestinationId[] };

type Decided = ResultToRecord & { decision: Decision };

export async function recordTogether(
  tx: Tx,
  { horizons }: Pick<WriteContext, 'horizons'>,
  change: BacklogChange,
  { results, health, now }: RecordRequest,
): Promise<Recorded> {
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
  writeHealth(tx, health, { live: await finding, now });
  const paused = await pauseDestinations(tx, pauses, now);
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
  const [finished, moved, grown] = await Promise.all([
    finish(tx, decided.filter(isEnd), options),
    moveOn(
      tx,
      decided.filter((result) => !isEnd(result)),
      options.now,
    ),
    growHistories(
      tx,
      results.filter((result) => result.decision === null),
      options.now,
    ),
  ]);
  return new Map([...finished, ...moved, ...grown].map((row) => [formatId('dlv', row.id), row]));
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
  const rows = await tx.batch(
    FINISH,
    results.map(({ id, rev }) => [...keyOf(id), rev]),
  );
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
        encodeResponseCode(attempt.responseCode),
      ] as const,
  );
  return tx.batch(MOVE_ON, rows, [now]);
}
