// How results get in whatever happens: in batches that are halved around what cannot be stored, and, if the connection
// was lost in the middle of a commit, without being decided twice.
import type { DestinationHealth } from '../../../../model/destination.ts';
import type { RecordOutcome, ResultToRecord } from '../../../store.ts';
import { bisect, withPartitions } from '../../bisect.ts';
import type { WriteContext } from '../../context.ts';
import { writeCounted } from '../../context.ts';
import { OutcomeUnknown } from '../../wire/transaction.ts';
import { timesOf } from './delivery-tables.ts';
import { recordTogether } from './record.ts';
import type { RecordRequest, Recorded } from './record.ts';

type StoreRequest = { results: ResultToRecord[]; health: DestinationHealth[]; now: number };

export function createRecordWrites(context: WriteContext) {
  const { recording, partitions, backlog } = context;
  // Whoever hands in a result again after an error means the same attempt. What was stored of it then, perhaps in a
  // transaction whose end nobody could tell, is answered as it was: judged by its revision alone, our own write would
  // look like another's, and the attempt be told twice.
  const earlier = new WeakMap<ResultToRecord, Earlier>();

  const recordNew = async (request: RecordRequest): Promise<Recorded> => {
    const note = ({ outcomes }: Recorded, xid: string | null): void => {
      for (const [i, result] of request.results.entries()) earlier.set(result, { xid, outcome: outcomes[i]! });
    };
    try {
      const times = timesOf(request.results.map(({ id }) => id));
      const recorded = await withPartitions(partitions, times, () =>
        writeCounted(backlog, recording.write, (tx, change) => recordTogether(tx, context, change, request)),
      );
      note(recorded, null);
      return recorded;
    } catch (error) {
      if (error instanceof OutcomeUnknown) note(error.result as Recorded, error.xid);
      throw error;
    }
  };

  /** Those that are not stored yet. */
  const findLeft = async (results: readonly ResultToRecord[]): Promise<ResultToRecord[]> => {
    const left: ResultToRecord[] = [];
    for (const result of results) {
      const known = earlier.get(result);
      const isStored =
        known !== undefined && (known.xid === null || (await recording.resolve(known.xid)) === 'committed');
      if (!isStored) left.push(result);
      // Its transaction's end is known now.
      else if (known.xid !== null) earlier.set(result, { ...known, xid: null });
    }
    return left;
  };

  return {
    async recordResults({ results, health, now }: StoreRequest): Promise<Recorded> {
      const left = await findLeft(results);
      const paused: Recorded['paused'] = [];
      const together = async (part: readonly ResultToRecord[]): Promise<RecordOutcome[]> => {
        const recorded = await recordNew({ results: part, health, now });
        paused.push(...recorded.paused);
        return recorded.outcomes;
      };
      const alone = async (result: ResultToRecord): Promise<RecordOutcome> => {
        const [outcome] = await together([withoutResponse(result)]);
        earlier.set(result, { xid: null, outcome: outcome! });
        return outcome!;
      };
      await bisect(left, together, alone);
      return { outcomes: results.map((result) => earlier.get(result)!.outcome), paused };
    },
  };
}

/** `xid`: of the transaction that may have stored it; null: it is stored. */
type Earlier = { xid: string | null; outcome: RecordOutcome };

/** What came from outside is what could not be stored. The decision counts all the same. */
function withoutResponse(result: ResultToRecord): ResultToRecord {
  const error = 'the response could not be stored';
  const attempt = { ...result.attempt, responseHeaders: null, responseBody: null, error };
  return { ...result, attempt };
}
