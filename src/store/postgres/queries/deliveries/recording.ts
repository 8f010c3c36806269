// How results get in whatever happens: in batches that are halved around what cannot be stored, and, if the connection
// was lost in the middle of a commit, without being decided twice.
import type { DestinationId } from '../../../../model/id.ts';
import type { RecordOutcome, ResultToRecord } from '../../../store.ts';
import { bisect, withPartitions } from '../../bisect.ts';
import { writeCounted, type Recorded, type Write, type WriteContext } from '../../context.ts';
import { OutcomeUnknown, type SentCommit } from '../../wire/transaction.ts';
import { timesOf } from './delivery-tables.ts';
import { recordAtOnce, splitResults, type PlainResult } from './record-at-once.ts';
import { recordTogether, type RecordAnswer, type RecordRequest } from './record.ts';

/**
 * Whoever hands in a result again after an error means the same attempt. What was stored of it then, perhaps in a
 * transaction whose end nobody could tell, is answered as it was: judged by its revision alone, our own write would
 * look like another's, and the attempt be told twice.
 */
export const recordResults: Write<'recordResults'> = async (context, { results, health, now }) => {
  const { recorded, isDistributed } = context;
  const missing = await findLeft(context, results);
  const { plain, others } = isDistributed ? { plain: [], others: missing } : splitResults(missing);
  const left: ResultToRecord[] = [];
  let areAllStored = false;
  const atOnce = async (part: readonly PlainResult[]): Promise<void[]> => {
    const leftOfPart = await inPartitions(context, part, () => recordAtOnce(context, { results: part, health, now }));
    left.push(...leftOfPart);
    // As it nearly always goes. Nothing that follows can fail, so nobody hands these results in again, and `recorded`
    // need not have them: what enters a WeakMap while V8 marks is kept by V8 for another cycle.
    areAllStored = leftOfPart.length === 0 && part.length === results.length;
    if (areAllStored) return [];
    const isLeft = new Set<ResultToRecord>(leftOfPart);
    for (const result of part) if (!isLeft.has(result)) recorded.set(result, RECORDED);
    return [];
  };
  if (plain.length > 0) await bisect(plain, atOnce, (result) => void left.push(result));
  if (areAllStored) return { outcomes: results.map(() => RECORDED.outcome), paused: [] };
  left.push(...others);
  const paused: DestinationId[] = [];
  const together = async (part: readonly ResultToRecord[]): Promise<RecordOutcome[]> => {
    const answer = await recordNew(context, { results: part, health: plain.length > 0 ? [] : health, now });
    paused.push(...answer.paused);
    return answer.outcomes;
  };
  const alone = async (result: ResultToRecord): Promise<RecordOutcome> => {
    const [outcome] = await together([withoutResponse(result)]);
    recorded.set(result, { commit: null, outcome: outcome! });
    return outcome!;
  };
  if (left.length > 0 || plain.length === 0) await bisect(left, together, alone);
  return { outcomes: results.map((result) => recorded.get(result)!.outcome), paused };
};

const RECORDED: Recorded = { commit: null, outcome: { result: 'recorded' } };

function inPartitions<Result>(
  { partitions }: WriteContext,
  results: readonly ResultToRecord[],
  work: () => Promise<Result>,
): Promise<Result> {
  const times = timesOf(results.map(({ id }) => id));
  return withPartitions(partitions, times, work);
}

async function recordNew(context: WriteContext, request: RecordRequest): Promise<RecordAnswer> {
  const { recording, backlog, recorded } = context;
  const note = ({ outcomes }: RecordAnswer, commit: SentCommit | null): void => {
    for (const [i, result] of request.results.entries()) recorded.set(result, { commit, outcome: outcomes[i]! });
  };
  try {
    const answer = await inPartitions(context, request.results, () =>
      writeCounted(backlog, recording.write, (tx, change) => recordTogether(tx, context, change, request)),
    );
    note(answer, null);
    return answer;
  } catch (error) {
    if (error instanceof OutcomeUnknown) note(error.result as RecordAnswer, error.commit);
    throw error;
  }
}

/** Those that are not stored yet. */
async function findLeft({ recording, recorded }: WriteContext, results: readonly ResultToRecord[]) {
  const left: ResultToRecord[] = [];
  for (const result of results) {
    const known = recorded.get(result);
    const isStored = known !== undefined && (known.commit === null || (await recording.isCommitted(known.commit)));
    if (!isStored) left.push(result);
    // Its transaction's end is known now.
    else if (known.commit !== null) recorded.set(result, { ...known, commit: null });
  }
  return left;
}

/** What came from outside is what could not be stored. The decision counts all the same. */
function withoutResponse(result: ResultToRecord): ResultToRecord {
  const error = 'the response could not be stored';
  const attempt = { ...result.attempt, responseHeaders: null, responseBody: null, error };
  return { ...result, attempt };
}
