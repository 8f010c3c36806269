// Asking for an operation: what it is about is counted, then it is stored, and from then on the runner works on it.
import { hash } from 'node:crypto';
import type { ApiKey } from '../model/api-key.ts';
import { ApiError } from '../model/error.ts';
import { idTime, type OperationId } from '../model/id.ts';
import type { Operation, OperationAction, OperationRequest } from '../model/operation.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Ids } from '../runtime/ids.ts';
import type { Store } from '../store/store.ts';
import {
  NOTHING_FOUND,
  START,
  together,
  writePosition,
  type Found,
  type Position,
  type Task,
  type Work,
} from './work.ts';

/** Of an environment, running and paused together. */
const UNFINISHED_MAX = 100;
/** A request that begins an operation counts for so long; the runner counts the rest before it does anything. */
const COUNT_MS_MAX = 2_000;
/** Whoever asks only for the count waits for all of it, but no caller waits for ever. */
const DRY_RUN_MS_MAX = 20_000;

type Options = {
  store: Pick<Store, 'createOperation' | 'changeOperation'>;
  clock: Clock;
  ids: Ids;
  workOf: (kind: OperationRequest['kind']) => Work;
  /** There is something to do, or no more. */
  onChanged: () => void;
};

export type Operations = ReturnType<typeof createOperations>;

/** Requests that count at one time, page by page in turn; more are refused. */
const COUNTING_MAX = 50;

export function createOperations({ store, clock, ids, workOf, onChanged }: Options) {
  const count = createCounter({ clock, workOf });

  const toTask = (environment: number, request: OperationRequest): { task: Task; id: OperationId; now: number } => {
    const now = clock.now();
    // Ids may be a little ahead of the clock: what has one that is older was there.
    const id = ids.next('op');
    return { task: taskOf({ id, environment, request, createdAt: now }), id, now };
  };

  return {
    /** What the operation would be about. Throws ApiError `rate_limited`, or `unavailable` if that takes too long. */
    async dryRun({ environment }: ApiKey, request: OperationRequest): Promise<Found> {
      const { found, position } = await count(toTask(environment, request).task, DRY_RUN_MS_MAX);
      if (position.phase === 'working') return found;
      const remedy = 'take a shorter range from "since" to "until", or begin without "dry_run"';
      throw new ApiError(
        'unavailable',
        `there are more than ${found.count}, and to count them takes too long: ${remedy}`,
      );
    },

    /** Throws ApiError `operation_in_progress`, `over_operation_limit` or `rate_limited`. */
    async begin(caller: ApiKey, request: OperationRequest): Promise<Operation> {
      const { environment } = caller;
      const { task, id, now } = toTask(environment, request);
      const { found, position } = await count(task, COUNT_MS_MAX);
      const operation: Operation = {
        id,
        environment,
        request,
        status: 'running',
        rev: 0,
        position: writePosition(position),
        total: found.count,
        done: 0,
        failed: 0,
        skipped: 0,
        createdAt: now,
        updatedAt: now,
        finishedAt: null,
        createdBy: caller.id,
      };
      const made = await store.createOperation(
        { operation, identity: identityOf(request) },
        { unfinishedMax: UNFINISHED_MAX },
      );
      if (made.result === 'in_progress') throw inProgress(made.id);
      if (made.result === 'over_limit') throw overLimit();
      onChanged();
      return operation;
    },

    /** Throws ApiError `operation_ended` or `not_found`. */
    async change({ environment }: ApiKey, id: OperationId, action: OperationAction): Promise<Operation> {
      const changed = await store.changeOperation({ environment, id, action, now: clock.now() });
      if (changed === 'not_found') throw new ApiError('not_found', 'there is no operation of this id here');
      if (changed === 'ended') {
        throw new ApiError('operation_ended', `there is nothing left to ${action}: this operation has ended`);
      }
      onChanged();
      return changed;
    },
  };
}

/** An operation's id tells, as its time does, what was there before it. */
export function taskOf({ id, environment, request, createdAt }: OperationTask): Task {
  return { environment, request, cutoff: Math.max(createdAt, idTime(id)) + 1 };
}

type OperationTask = Pick<Operation, 'id' | 'environment' | 'request' | 'createdAt'>;

/** Counts page by page, each in a turn of its own, until all is counted or `isOver`. */
export async function countFrom(
  pages: Pick<Work, 'count'>,
  task: Task,
  { place, isOver }: { place: Position['place']; isOver: () => boolean },
): Promise<{ found: Found; position: Position }> {
  let found = NOTHING_FOUND;
  let at: Position['place'] | null = place;
  do {
    const page: Awaited<ReturnType<Work['count']>> = await pages.count(task, at);
    found = together(found, page.found);
    at = page.next;
  } while (at !== null && !isOver());
  const position: Position = at === null ? { phase: 'working', place: START } : { phase: 'counting', place: at };
  return { found, position };
}

/** Page by page in turn: the reader of the store, which dispatching waits for, has one of these to read at a time. */
function createCounter({ clock, workOf }: Pick<Options, 'clock' | 'workOf'>) {
  let last: Promise<unknown> = Promise.resolve();
  let counting = 0;

  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  };

  return async (task: Task, forMs: number): Promise<{ found: Found; position: Position }> => {
    if (counting === COUNTING_MAX) {
      throw new ApiError('rate_limited', 'too many requests like this one are being counted; try again', {
        retryAfterSeconds: 1,
      });
    }
    counting++;
    const work = workOf(task.request.kind);
    const endsAt = clock.monotonic() + forMs;
    const pages: Pick<Work, 'count'> = { count: (...page) => inTurn(() => work.count(...page)) };
    const isOver = (): boolean => clock.monotonic() >= endsAt;
    return countFrom(pages, task, { place: START, isOver }).finally(() => counting--);
  };
}

/** Equal for requests that are about the same, however fast. */
function identityOf(request: OperationRequest): Uint8Array {
  const { perSecond: _, ...about } = request;
  const sorted = 'destinationIds' in about ? { ...about, destinationIds: about.destinationIds?.toSorted() } : about;
  return hash('sha256', JSON.stringify(sorted), 'buffer');
}

function inProgress(operationId: OperationId): ApiError {
  return new ApiError(
    'operation_in_progress',
    `the same was asked for before and has not ended: ${operationId}; wait for it, or cancel it`,
    { operationId },
  );
}

function overLimit(): ApiError {
  return new ApiError(
    'over_operation_limit',
    `this environment has ${UNFINISHED_MAX} operations that have not ended; wait for one of them, or cancel it`,
  );
}
