// What every query is given. A query is one method of store.ts, in a transaction or in several.
import type { Clock } from '../../runtime/clock.ts';
import type { Sealer } from '../../runtime/sealer.ts';
import type { ClusterStore } from '../cluster-store.ts';
import type { NewEvent, RecordOutcome, ResultToRecord, Store, ToHandOver } from '../store.ts';
import type { Backlog, BacklogChange, CountContext } from './backlog.ts';
import type { Horizons } from './horizons.ts';
import type { LockedKeys } from './queries/events/locked-keys.ts';
import type { Pass } from './queries/maintenance/steps.ts';
import type { Partitions } from './schema/partitions.ts';
import type { SentCommit, Transactions, Tx, Work } from './wire/transaction.ts';

/** The methods of the store that have a query of their own. */
type Method = Exclude<keyof Store, 'close' | 'lanes' | 'cluster' | 'findTrouble'>;
type Query<Context, Name extends Method> = (
  context: Context,
  ...parameters: Parameters<Store[Name]>
) => ReturnType<Store[Name]>;

export type Read<Name extends Method> = Query<ReadContext, Name>;
export type Configure<Name extends Method> = Query<ConfigurationContext, Name>;
export type Write<Name extends Method> = Query<WriteContext, Name>;

/** Of ClusterStore, by whichever connections it is given. */
export type OfCluster<Name extends keyof ClusterStore> = (
  transactions: Pick<Transactions, 'read' | 'write'>,
  ...parameters: Parameters<ClusterStore[Name]>
) => ReturnType<ClusterStore[Name]>;

type ReadContext = {
  sealer: Sealer;
  horizons: Horizons;
  read: Transactions['read'];
  look: Transactions['look'];
};

export type ConfigurationContext = ReadContext & {
  clock: Clock;
  write: Transactions['write'];
};

export type WriteContext = ConfigurationContext &
  CountContext & {
    /** Connections that only accept, and only record, so that neither waits for the other or for anything else. */
    accepting: Transactions;
    recording: Transactions;
    partitions: Partitions;
    isDistributed: boolean;
    lockedKeys: LockedKeys;
    /** What became of results that were handed in before. */
    recorded: WeakMap<ResultToRecord, Recorded>;
    /** Events and results that a try which may have been committed has brought to the database. */
    sentBefore: WeakSet<NewEvent | ResultToRecord>;
    /** How long accepting waits for an idempotency key that another transaction holds. */
    keyWaitMs: number;
    passes: Record<'erasing' | 'pruning' | 'ending' | 'stats', Pass>;
  };

/** `commit`: of the transaction that may have stored it; null: it is stored. */
export type Recorded = { commit: SentCommit | null; outcome: RecordOutcome };

/** A transaction whose changes of the backlog count when it is committed. */
export async function writeCounted<Result>(
  backlog: Backlog,
  run: <Of>(work: Work<Of>) => Promise<Of>,
  work: (tx: Tx, change: BacklogChange, nth: number) => Promise<Result>,
): Promise<Result> {
  let change = backlog.begin();
  let isCommitted = false;
  try {
    const result = await run((tx, nth) => {
      // An earlier try came to nothing.
      change.settle(false);
      change = backlog.begin();
      return work(tx, change, nth);
    });
    isCommitted = true;
    return result;
  } finally {
    change.settle(isCommitted);
  }
}

/** The same for what hands over deliveries: others may have found them while the server was asked (store.ts). */
export async function writeToHandOver<Result extends object>(
  backlog: Backlog,
  write: Transactions['write'],
  work: (tx: Tx, change: BacklogChange) => Promise<Result>,
): Promise<Result & ToHandOver> {
  let isLate = false;
  const result = await writeCounted(backlog, (counted) => write(counted, () => (isLate = true)), work);
  return isLate ? { ...result, mayBeUnderWay: true } : result;
}
