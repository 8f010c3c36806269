// How results get in whatever happens: in batches that are halved around what cannot be stored, and, if the connection
// was lost in the middle of a commit, without being decided twice.
import type { DestinationHealth } from '../../../model/destination.ts';
import type { RecordOutcome, ResultToRecord } from '../../store.ts';
import { bisect, withPartitions } from '../bisect.ts';
import type { WriteContext } from '../context.ts';
import { writeCounted } from '../context.ts';
import { OutcomeUnknown } from '../transaction.ts';
import { timesOf } from './delivery-tables.ts';
import { recordTogether } from './record.ts';
import type { RecordRequest, Recorded } from './record.ts';

type StoreRequest = { results: ResultToRecord[]; health: DestinationHealth[]; now: number };

export function createRecordWrites(context: WriteContext) {
  const { recording, partitions, backlog } = context;
  // Whoever hands in a result again after an error means the same attempt. If its transaction was committed after all,
  // the answer is what that came to: judged by revision alone, our own write would look like another's.
  const unknown = new WeakMap<ResultToRecord, { error: OutcomeUnknown; outcome: RecordOutcome }>();

  const recordNew = async (request: RecordRequest): Promise<Recorded> => {
    try {
      return await withPartitions(partitions, timesOf(request.results.map(({ id }) => id)), () =>
        writeCounted(backlog, recording.write, (tx, change) => recordTogether(tx, context, change, request)),
      );
    } catch (error) {
      if (error instanceof OutcomeUnknown) {
        const { outcomes } = error.result as Recorded;
        for (const [i, result] of request.results.entries()) unknown.set(result, { error, outcome: outcomes[i]! });
      }
      throw error;
    }
  };

  /** The outcomes of those that were committed when nobody could say so. */
  const settleUnknown = async (results: readonly ResultToRecord[]): Promise<Map<ResultToRecord, RecordOutcome>> => {
    const settled = new Map<ResultToRecord, RecordOutcome>();
    for (const result of results) {
      const left = unknown.get(result);
      if (left === undefined) continue;
      if ((await recording.resolve(left.error.xid)) === 'committed') settled.set(result, left.outcome);
      unknown.delete(result);
    }
    return settled;
  };

  return {
    async recordResults({ results, health, now }: StoreRequest): Promise<Recorded> {
      const settled = await settleUnknown(results);
      const left = results.filter((result) => !settled.has(result));
      const paused: Recorded['paused'] = [];
      const together = async (part: readonly ResultToRecord[]): Promise<RecordOutcome[]> => {
        const recorded = await recordNew({ results: part, health, now });
        paused.push(...recorded.paused);
        return recorded.outcomes;
      };
      const outcomes = await bisect(left, together, async (result) => (await together([withoutResponse(result)]))[0]!);
      for (const [i, result] of left.entries()) settled.set(result, outcomes[i]!);
      return { outcomes: results.map((result) => settled.get(result)!), paused };
    },
  };
}

/** What came from outside is what could not be stored. The decision counts all the same. */
function withoutResponse(result: ResultToRecord): ResultToRecord {
  const error = 'the response could not be stored';
  const attempt = { ...result.attempt, responseHeaders: null, responseBody: null, error };
  return { ...result, attempt };
}
