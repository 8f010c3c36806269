// Transactions. Statements go out without waiting for one another, and the COMMIT right behind the last; only its own
// tag says that it was one. What is lost on the way is never guessed: the server is asked what became of it.
import type { Pool, PoolClient } from 'pg';
import { delay, type Clock } from '../../../runtime/clock.ts';
import type { Random } from '../../../runtime/random.ts';
import { StoreError } from '../../store.ts';
import { withConnection } from './connections.ts';
import { isConflict, isConnectionLoss, isRefusal, sqlState, toStoreError, unavailable } from './errors.ts';
import { Pipeline, type Sendable } from './pipeline.ts';
import { bindBatch, statement, type BatchRow, type BatchStatement, type Statement } from './statement.ts';
import type { Value } from './values.ts';

export type Tx = Pick<PipelinedTransaction, 'run' | 'change' | 'batch' | 'refuse' | 'provedBy'>;
/** `nth`: of the tries. */
export type Work<Result> = (tx: Tx, nth: number) => Promise<Result>;

type Proof = { statement: Statement<unknown>; values: readonly Value[] };
/** All by which the server can be asked whether a transaction was committed. */
export type SentCommit = { xid: string; proof: Proof | null };

export type Transactions = ReturnType<typeof createTransactions>;

/** The connection was lost after COMMIT had been sent, and nobody could be asked what became of it in time. */
export class OutcomeUnknown extends StoreError {
  readonly commit: SentCommit;
  /** Of `work`: what holds if it was committed. */
  readonly result: unknown;

  constructor(sent: SentCommit, result: unknown, cause: unknown) {
    super('unavailable', 'the database went away during a commit, and has not come back to say what became of it', {
      cause,
    });
    this.name = 'OutcomeUnknown';
    this.commit = sent;
    this.result = result;
  }
}

/** While the database is away a method fails after about this long. */
const TRY_FOR_MS = 3_000;
const PAUSE_MS = 50;
/** Each further try waits twice as long: it opens a connection, and a server that is ill should not drown in those. */
const PAUSE_MS_MAX = 400;
/** Longer than IDLE_IN_TRANSACTION_TIMEOUT_MS, after which the server itself ends what we left open. */
const RESOLVE_FOR_MS = 8_000;
const CONFLICT_TRIES_MAX = 8;
const CONFLICT_PAUSE_MS = 20;

const SELECT_XID = statement<{ xid: string }>('transaction_xid', 'SELECT pg_current_xact_id()::text AS xid');

/**
 * Writes into the log and nowhere else, so that COMMIT waits for a standby where that is asked for. For what is found
 * to be committed: a server that was stopped, or a session that was ended, while COMMIT waited has it alone.
 */
export const REACH_STANDBY = statement<unknown>(
  'transaction_reach_standby',
  `SELECT pg_logical_emit_message(true, 'postrider', '')::text`,
);

const SELECT_OUTCOME = statement<{ outcome: string | null }>(
  'transaction_outcome',
  'SELECT pg_xact_status($1::text::xid8) AS outcome',
);

const INVALID_PARAMETER = '22023';

const BEGIN: Sendable = { name: 'BEGIN', text: 'BEGIN' };
const BEGIN_READING: Sendable = { name: 'BEGIN READ', text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' };
const COMMIT: Sendable = { name: 'COMMIT', text: 'COMMIT' };
const ROLLBACK: Sendable = { name: 'ROLLBACK', text: 'ROLLBACK' };
const DISCARD_PLANS: Sendable = { name: 'DISCARD PLANS', text: 'DISCARD PLANS' };

/**
 * A connection keeps the plan of a prepared statement until the server's statistics change, a minute or more later. One
 * made while a table was empty reads all of it: 300,000 deliveries later each result would look through every page.
 * Planning anew so often costs nothing that could be measured, and in that time a table grows by little.
 */
const PLANS_KEPT_MS = 2_000;
/** When each connection last forgot its plans. */
const plannedAt = new WeakMap<PoolClient, number>();

type Options = {
  pool: Pool;
  clock: Clock;
  random: Random;
  isDistributed: boolean;
  createPipeline?: ((client: PoolClient) => Pipeline) | undefined;
};

export function createTransactions(options: Options) {
  const { pool, clock, random } = options;
  const retrying = createRetries(clock, random);

  const look = <Result>(work: Work<Result>): Promise<Result> =>
    retrying((nth) => lookOnce(options, (tx) => work(tx, nth)));

  const resolve = async (xid: string): Promise<'committed' | 'aborted'> => {
    const endsAt = clock.monotonic() + RESOLVE_FOR_MS;
    for (;;) {
      const outcome = await askOutcome(pool, xid);
      if (outcome === 'committed' || outcome === 'aborted') return outcome;
      if (clock.monotonic() >= endsAt) throw unavailable(new Error(`transaction ${xid} is ${String(outcome)}`));
      await delay(clock, PAUSE_MS);
    }
  };

  const isCommitted = async ({ xid, proof }: SentCommit): Promise<boolean> => {
    if ((await resolve(xid)) !== 'committed') return false;
    // A server that crashed gives out again the ids of transactions of which nothing had reached its log: what is
    // committed under this id may be another transaction.
    if (proof === null) return true;
    const prove = (tx: Tx): Promise<unknown[]> => {
      void tx.run(REACH_STANDBY);
      return tx.run(proof.statement, proof.values);
    };
    return (await retrying(() => sendOnce(options, prove))).length > 0;
  };

  const settle = async <Result>(ending: Ending<Result>, onLate: () => void): Promise<Result> => {
    if (ending.end === 'committed') return ending.result;
    const wasCommitted = await isCommitted(ending.commit).catch((error: unknown) => {
      throw new OutcomeUnknown(ending.commit, ending.result, error);
    });
    if (!wasCommitted) throw ending.error;
    onLate();
    return ending.result;
  };

  return {
    /**
     * All or nothing, durable when it resolves. `work` may run several times, each on a state of its own. `onLate`:
     * it was committed, but the server had to be asked, which took a while.
     */
    write: <Result>(work: Work<Result>, onLate: () => void = () => undefined): Promise<Result> =>
      retrying(async (nth) => settle(await writeOnce(options, (tx) => work(tx, nth)), onLate)),
    /**
     * The same in one round trip: `send` sends its statements without awaiting any, and COMMIT goes out with them. What
     * became of it when the connection is lost cannot be asked for then, so it is sent once more: all of it must hold
     * only where it has not been done yet, and the caller finds out what had been.
     */
    writeAtOnce: <Result>(send: Work<Result>): Promise<Result> =>
      retrying((nth) => sendOnce(options, (tx) => send(tx, nth))),
    /** One consistent state for several statements. */
    read: <Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> => retrying(() => readOnce(options, work)),
    /** Reads of which each may see a state of its own: without BEGIN and COMMIT they are answered sooner. */
    look,
    /** What became of a transaction that ended in an OutcomeUnknown. */
    isCommitted,
  };
}

/** Tries again what another transaction was in the way of, and, for a while, what the connection was lost for. */
function createRetries(clock: Clock, random: Random) {
  return async <Result>(once: (nth: number) => Promise<Result>): Promise<Result> => {
    const endsAt = clock.monotonic() + TRY_FOR_MS;
    for (let tries = 1; ; tries++) {
      try {
        return await once(tries);
      } catch (error) {
        const mayPass = isConflict(error) ? tries < CONFLICT_TRIES_MAX : isConnectionLoss(error);
        if (!mayPass || clock.monotonic() >= endsAt) throw toStoreError(error);
        // Two that met must not meet again.
        const pauseMs = isConflict(error)
          ? random.fraction() * CONFLICT_PAUSE_MS * tries
          : Math.min(PAUSE_MS * 2 ** (tries - 1), PAUSE_MS_MAX);
        await delay(clock, pauseMs);
      }
    }
  };
}

type Ending<Result> =
  | { end: 'committed'; result: Result }
  /** The connection was lost between COMMIT and its answer. */
  | { end: 'unknown'; commit: SentCommit; result: Result; error: unknown };

async function writeOnce<Result>(options: Options, work: (tx: Tx) => Promise<Result>): Promise<Ending<Result>> {
  return withConnection(options.pool, async (client, discard) => {
    const tx = new PipelinedTransaction(client, options);
    tx.begin(BEGIN);
    const started = tx.run(SELECT_XID);
    let xid = '';
    const workAndName = async (): Promise<Result> => {
      const result = await work(tx);
      // Known before COMMIT is sent: what became of a transaction without a name could not be asked for.
      xid = (await started)[0]!.xid;
      return result;
    };
    const worked = await runWork(tx, workAndName, discard);
    if (worked.isRefused) return { end: 'committed', result: worked.result };
    return commit(tx, { xid, result: worked.result, discard });
  });
}

async function sendOnce<Result>(options: Options, send: (tx: Tx) => Promise<Result>): Promise<Result> {
  return withConnection(options.pool, async (client, discard) => {
    const tx = new PipelinedTransaction(client, options);
    tx.begin(BEGIN);
    const answer = mayBeIgnored(send(tx));
    try {
      await tx.commit();
      return await answer;
    } catch (error) {
      if (isConnectionLoss(error)) discard(error as Error);
      else await tx.rollback().catch(discard);
      // What was made of a statement's error says more than that.
      const [made] = await Promise.allSettled([answer]);
      throw made.status === 'rejected' && made.reason instanceof StoreError ? made.reason : error;
    }
  });
}

async function commit<Result>(
  tx: PipelinedTransaction,
  options: { xid: string; result: Result; discard: (error: Error) => void },
): Promise<Ending<Result>> {
  const { xid, result, discard } = options;
  try {
    await tx.commit();
    return { end: 'committed', result };
  } catch (error) {
    if (isRefusal(error) || !isConnectionLoss(error)) {
      // A COMMIT that was skipped has not even ended it.
      await tx.rollback().catch(discard);
      throw error;
    }
    discard(error as Error);
    return { end: 'unknown', commit: { xid, proof: tx.proof }, result, error };
  }
}

async function readOnce<Result>(options: Options, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  return withConnection(options.pool, async (client, discard) => {
    const tx = new PipelinedTransaction(client, options);
    tx.begin(BEGIN_READING);
    const worked = await runWork(tx, work, discard);
    if (worked.isRefused) return worked.result;
    try {
      await tx.commit();
    } catch (error) {
      await tx.rollback().catch(discard);
      throw error;
    }
    return worked.result;
  });
}

async function lookOnce<Result>(options: Options, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  return withConnection(options.pool, async (client, discard) => {
    const tx = new PipelinedTransaction(client, options);
    tx.renewPlans();
    try {
      return await work(tx);
    } catch (error) {
      if (isConnectionLoss(error)) discard(error as Error);
      throw error;
    }
  });
}

/** On any error, ours or the server's, what was begun is rolled back; a connection that cannot even do that goes. */
async function runWork<Result>(
  tx: PipelinedTransaction,
  work: (tx: Tx) => Promise<Result>,
  discard: (error: Error) => void,
): Promise<{ result: Result; isRefused: boolean }> {
  try {
    return { result: await work(tx), isRefused: false };
  } catch (error) {
    await tx.rollback().catch(discard);
    if (error instanceof Refusal) return { result: error.result as Result, isRefused: true };
    // What the work has made of a statement's error says more than that.
    if (error instanceof StoreError) throw error;
    throw (await tx.firstError()) ?? error;
  }
}

async function askOutcome(pool: Pool, xid: string): Promise<string | null> {
  try {
    const { rows } = await pool.query<{ outcome: string | null }>({ ...SELECT_OUTCOME, values: [xid] });
    return rows[0]!.outcome;
  } catch (error) {
    if (isConnectionLoss(error)) return 'nobody answers';
    // "The transaction is in the future": this server was promoted before it had heard of it, and never will.
    if (sqlState(error) === INVALID_PARAMETER) return 'aborted';
    throw error;
  }
}

class Refusal extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super('refused');
    this.result = result;
  }
}

class PipelinedTransaction {
  readonly #client: PoolClient;
  readonly #pipeline: Pipeline;
  readonly #options: Options;
  readonly #sent: Promise<unknown>[] = [];
  #proof: Proof | null = null;

  constructor(client: PoolClient, options: Options) {
    this.#client = client;
    this.#pipeline = options.createPipeline?.(client) ?? new Pipeline(client);
    this.#options = options;
  }

  begin(what: Sendable): void {
    void this.#track(this.#pipeline.send(what, []));
    // Not before: the state that a transaction sees would be fixed by it.
    this.renewPlans();
  }

  renewPlans(): void {
    // Distributed, the machines that have the rows plan each statement as it comes.
    if (this.#options.isDistributed) return;
    const now = this.#options.clock.monotonic();
    if (now - (plannedAt.get(this.#client) ?? Number.NEGATIVE_INFINITY) < PLANS_KEPT_MS) return;
    plannedAt.set(this.#client, now);
    void this.#track(this.#pipeline.send(DISCARD_PLANS, []));
  }

  /** Sent at once, in order. Its rejection ends the transaction also if nobody awaits it. */
  run<Row>(what: Statement<Row>, values: readonly Value[] = []): Promise<Row[]> {
    if (this.#options.isDistributed && what.isOfOneMachine === true) throw new Error(`${what.name} is of one machine`);
    return mayBeIgnored(this.#track(this.#pipeline.send(what, values)).then(({ rows }) => rows as Row[]));
  }

  /** How many rows it changed. */
  change(what: Statement<unknown>, values: readonly Value[] = []): Promise<number> {
    return mayBeIgnored(this.#track(this.#pipeline.send(what, values)).then(({ rowCount }) => rowCount));
  }

  /** All rows in one statement, or in one for each shard (statement.ts). `more`: parameters after the rows. */
  batch<Row>(what: BatchStatement<Row>, rows: readonly BatchRow[], more: readonly Value[] = []): Promise<Row[]> {
    const { isDistributed } = this.#options;
    const bound = bindBatch(what, rows, { isDistributed, more });
    const found = bound.map((one) => this.run(one.statement, one.values));
    return mayBeIgnored(Promise.all(found).then((parts) => parts.flat()));
  }

  /** Ends the transaction without effect, with this result. */
  refuse<Result>(result: Result): Result {
    throw new Refusal(result);
  }

  /**
   * This finds a row if the transaction was committed, and none if not: to be asked should nobody say which. Whatever
   * is answered needs one; what has none is done again by itself.
   */
  provedBy(what: Statement<unknown>, values: readonly Value[]): void {
    this.#proof = { statement: what, values };
  }

  get proof(): Proof | null {
    return this.#proof;
  }

  /** The server answers the COMMIT of a transaction that has failed with ROLLBACK, and no error. */
  async commit(): Promise<void> {
    const { command } = await this.#pipeline.send(COMMIT, []);
    if (command === 'COMMIT') return;
    throw (await this.firstError()) ?? new Error(`COMMIT was answered with ${command}`);
  }

  async rollback(): Promise<void> {
    await Promise.allSettled(this.#sent);
    await this.#pipeline.send(ROLLBACK, []);
  }

  /** Why the server gave the transaction up: those after the first fail only because of it. */
  async firstError(): Promise<Error | null> {
    const settled = await Promise.allSettled(this.#sent);
    const errors = settled.filter((one) => one.status === 'rejected').map((one) => one.reason as Error);
    return errors.find((error) => sqlState(error) !== '25P02') ?? errors[0] ?? null;
  }

  #track<Result>(sent: Promise<Result>): Promise<Result> {
    this.#sent.push(sent);
    return mayBeIgnored(sent);
  }
}

/** Who does not await it must not end the process by it: its transaction's commit sees that it failed. */
function mayBeIgnored<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => {});
  return promise;
}
