// Works on the operations that run: one step of each in turn, on one node at a time. A step is a short transaction, and
// between two of them the store's writer belongs to accepts and results. What is in memory here is a copy of rows: a
// crash loses nothing, and the node that goes on begins where the last commit ended.
import type { DestinationId, OperationId } from '../model/id.ts';
import type { Operation, OperationEnd, OperationRequest } from '../model/operation.ts';
import type { Clock } from '../runtime/clock.ts';
import type { StepResult } from '../runtime/loop.ts';
import { StoreError, type OperationStep, type Store } from '../store/store.ts';
import { countFrom, taskOf } from './operations.ts';
import { Pace } from './pace.ts';
import { readPosition, START, writePosition, type Position, type Taken, type Work } from './work.ts';

/** How soon it is noticed what was asked for, changed or taken over on another node. */
export const OPERATE_INTERVAL_MS = 1_000;
export const BETWEEN_STEPS_MS = 10;
/** So long steps are taken one after another; then the store is left alone three times as long as they took. */
const STEPS_MS_MAX = 10;
const REST_FACTOR = 3;
const REST_MS_MAX = 1_000;
const COUNT_MS_PER_STEP = 100;
/** Pages without anything to do that are looked through before the others have their turn. */
const PAGES_PER_STEP = 10;
/** After so many failures in a row that are no trouble of the store's an operation is given up. */
const FAILURES_MAX = 10;

const NOTHING_DONE = { counted: 0, failed: 0, sendAgain: null, replays: null };

type Options = {
  store: Pick<Store, 'readRunningOperations' | 'readOperation' | 'advanceOperation' | 'readDestination'>;
  clock: Clock;
  workOf: (kind: OperationRequest['kind']) => Work;
  /** Of several nodes one works on operations. */
  isOurs: () => boolean;
  isDestinationKnown: (id: DestinationId) => boolean;
  /** See Pace. */
  isBehind: (id: DestinationId) => boolean;
  /** Loads configuration changes made elsewhere. */
  catchUp: (environment: number) => Promise<void>;
  bodyRetentionMs: number;
  onEnded: (operation: Operation) => void;
  onError: (error: unknown) => void;
};

/** `notBefore`: monotonic ms. */
type Running = { operation: Operation; position: Position; pace: Pace; notBefore: number };

export class Runner {
  readonly #options: Options;
  readonly #running = new Map<OperationId, Running>();
  readonly #failures = new Map<OperationId, number>();
  #syncAt = Number.NEGATIVE_INFINITY;
  #restUntil = Number.NEGATIVE_INFINITY;

  constructor(options: Options) {
    this.#options = options;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** What is stored has changed: the next step looks at it first. */
  look(): void {
    this.#syncAt = Number.NEGATIVE_INFINITY;
  }

  async step(): Promise<StepResult> {
    const { clock, isOurs } = this.#options;
    if (!isOurs()) {
      this.#running.clear();
      return 'idle';
    }
    if (clock.monotonic() >= this.#syncAt) await this.#sync();
    if (clock.monotonic() >= this.#restUntil) await this.#stepInTurn();
    return this.#running.size > 0 ? 'more' : 'idle';
  }

  /** Whoever had a step goes to the end. A step takes longer the busier the store is, and so does the rest after it. */
  async #stepInTurn(): Promise<void> {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    for (const one of [...this.#running.values()].filter(({ notBefore }) => notBefore <= startedAt)) {
      const { id } = one.operation;
      await this.#stepSafely(one);
      if (this.#running.delete(id)) this.#running.set(id, one);
      if (clock.monotonic() - startedAt >= STEPS_MS_MAX) break;
    }
    const now = clock.monotonic();
    this.#restUntil = now + Math.min(REST_MS_MAX, REST_FACTOR * (now - startedAt));
  }

  async #sync(): Promise<void> {
    const { store, clock, isBehind } = this.#options;
    this.#syncAt = clock.monotonic() + OPERATE_INTERVAL_MS;
    const stored = new Map((await store.readRunningOperations()).map((one) => [one.id, one]));
    for (const [id, { operation }] of this.#running) {
      if (stored.get(id)?.rev !== operation.rev) this.#running.delete(id);
    }
    for (const id of this.#failures.keys()) if (!stored.has(id)) this.#failures.delete(id);
    for (const { id, environment } of stored.values()) {
      if (this.#running.has(id)) continue;
      const operation = await store.readOperation({ environment, id });
      if (operation === null || operation.status !== 'running') continue;
      const position = readPosition(operation.position);
      this.#running.set(id, {
        operation,
        position,
        pace: new Pace(operation.request.perSecond, isBehind),
        notBefore: 0,
      });
    }
  }

  /** Whatever a step fails of, the row says where to go on: it is read again. */
  async #stepSafely(one: Running): Promise<void> {
    const { id } = one.operation;
    try {
      await this.#stepOne(one);
      this.#failures.delete(id);
    } catch (error) {
      this.#options.onError(error);
      this.#running.delete(id);
      if (error instanceof StoreError) return;
      const failures = (this.#failures.get(id) ?? 0) + 1;
      this.#failures.set(id, failures);
      if (failures >= FAILURES_MAX) await this.#advance(one, NOTHING_DONE, 'failed').catch(this.#options.onError);
    }
  }

  async #stepOne(one: Running): Promise<void> {
    if (await this.#isPointless(one.operation)) return void (await this.#advance(one, NOTHING_DONE, 'failed'));
    if (one.position.phase === 'counting') return this.#count(one);
    for (let pages = 0; pages < PAGES_PER_STEP; pages++) {
      const taken = await this.#workOf(one).take(taskOf(one.operation), one.position.place, one.pace);
      await this.#do(one, taken);
      if (taken.step !== null || taken.next === null || taken.waitMs > 0) return;
    }
  }

  async #count(one: Running): Promise<void> {
    const { clock } = this.#options;
    const endsAt = clock.monotonic() + COUNT_MS_PER_STEP;
    const { found, position } = await countFrom(this.#workOf(one), taskOf(one.operation), {
      place: one.position.place,
      isOver: () => clock.monotonic() >= endsAt,
    });
    one.position = position;
    await this.#advance(one, { ...NOTHING_DONE, counted: found.count }, null);
  }

  /** What has nothing to be done is not stored: after a crash it is looked through again. */
  async #do(one: Running, { step, next, waitMs, onStored }: Taken): Promise<void> {
    one.notBefore = this.#options.clock.monotonic() + waitMs;
    const before = one.position;
    one.position = { phase: 'working', place: next ?? START };
    if (step === null && next !== null) return;
    const stored = await this.#advance(one, { ...NOTHING_DONE, ...step }, next === null ? 'done' : null);
    if (stored.result === 'advanced') onStored(stored, stored.now);
    if (stored.result === 'stale') one.position = before;
  }

  async #advance(
    one: Running,
    what: Pick<OperationStep, 'counted' | 'failed' | 'sendAgain' | 'replays'>,
    end: OperationEnd | null,
  ) {
    const { store, clock, bodyRetentionMs, catchUp, onEnded } = this.#options;
    const { operation } = one;
    const now = clock.now();
    const position = writePosition(one.position);
    const stored = await store.advanceOperation({
      ...what,
      operation,
      now,
      position,
      end,
      bodyCutoff: now - bodyRetentionMs,
    });
    if (stored.result === 'stale') await catchUp(operation.environment);
    // Paused or cancelled, or another node works on it.
    if (stored.result === 'overtaken') this.#running.delete(operation.id);
    if (stored.result === 'advanced') one.operation = stored.operation;
    if (stored.result === 'advanced' && end !== null) {
      this.#running.delete(operation.id);
      onEnded(stored.operation);
    }
    return { ...stored, now };
  }

  /** The one destination that it is about has been deleted: nothing can be sent any more. */
  async #isPointless({ environment, request }: Operation): Promise<boolean> {
    const { store, isDestinationKnown } = this.#options;
    if (request.kind === 'event_replay' || request.destinationId === null) return false;
    if (isDestinationKnown(request.destinationId)) return false;
    return (await store.readDestination({ environment, id: request.destinationId })) === null;
  }

  #workOf({ operation }: Running): Work {
    return this.#options.workOf(operation.request.kind);
  }
}
