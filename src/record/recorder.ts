// Writes what came of attempts: many results in one transaction, each decided on the revision it was sent from.
// A result is kept until it is stored; while results cannot be stored, dispatch starts no new attempts.
import type { AttemptResult, AttemptTrigger } from '../model/attempt.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import type { DestinationHealth, PausedReason } from '../model/destination.ts';
import type { DestinationId } from '../model/id.ts';
import type { Schedule } from '../model/retry-policy.ts';
import { afterResult, type Decision } from '../model/transitions.ts';
import { delay, type Clock } from '../runtime/clock.ts';
import { GroupCommit } from '../runtime/group-commit.ts';
import type { Random } from '../runtime/random.ts';
import type { RecordOutcome, ResultToRecord, Store } from '../store/store.ts';

type AttemptToRecord = {
  delivery: OpenDelivery;
  trigger: AttemptTrigger;
  result: AttemptResult;
  isOfFormerUrl: boolean;
  schedule: Schedule;
  /** The destination's health after this attempt; null: as stored. */
  health: DestinationHealth | null;
  /** The destination has failed for too long. */
  pauseDestination: PausedReason | null;
  /** Whether the destination is still ours to decide about. */
  isOurs: () => boolean;
};

/** What is stored now: the decision, or null where the delivery was finished, pruned or taken over by another. */
type Recorded = { decision: Decision | null };

const BATCH_RESULTS_MAX = 500;
const BATCH_BYTES_MAX = 2 * 1024 * 1024;
const NO_LIMIT = Number.POSITIVE_INFINITY;
const RETRY_DELAY_MS = 250;

type Item = { toStore: ResultToRecord; health: DestinationHealth | null };

type RecorderOptions = {
  store: Pick<Store, 'recordResults' | 'lanes'>;
  clock: Clock;
  random: Random;
  onPaused: (ids: DestinationId[]) => void;
  onTrouble: (error: unknown) => void;
  onRecovered: () => void;
};

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #commits: GroupCommit<Item, RecordOutcome>;
  #isWriting = true;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#commits = new GroupCommit({
      clock: options.clock,
      lane: options.store.lanes?.recording,
      limits: {
        batch: { items: BATCH_RESULTS_MAX, units: BATCH_RESULTS_MAX, bytes: BATCH_BYTES_MAX },
        // Dispatch bounds how many results can be waiting: it starts nothing while they are not written.
        waiting: { items: NO_LIMIT, units: NO_LIMIT, bytes: NO_LIMIT },
      },
      unitsOf: () => 1,
      bytesOf: ({ toStore }) => toStore.attempt.responseBody?.length ?? 0,
      write: (items) => this.#write(items),
    });
  }

  async record(attempt: AttemptToRecord): Promise<Recorded> {
    const { result } = attempt;
    const stored = attemptToStore(attempt);
    // A cancelled attempt's delivery ended with its destination: only the history grows.
    let delivery: OpenDelivery | 'finished' = result.outcome === 'cancelled' ? 'finished' : attempt.delivery;
    // Stored with the first write even if that one lost: by the next, later results may have changed it.
    let { health } = attempt;
    for (;;) {
      const decision: Decision | null = delivery === 'finished' ? null : this.#decide(delivery, attempt);
      const { id, rev } = delivery === 'finished' ? attempt.delivery : delivery;
      const toStore = { id, rev, attempt: stored, decision };
      const outcome = await this.#commits.submit({ toStore, health })!;
      health = null;
      if (outcome.result === 'recorded') return { decision };
      // A manual retry, a replay, a delete or an expiry came between: decide again on what it left.
      if (outcome.current === 'pruned') return { decision: null };
      // The shard may have been taken over while this request was on the wire (we were paused, the database was away).
      // What the successor has touched is its own: this result is dropped. The destination may see the event twice,
      // which the promise allows; the history stays true.
      if (!attempt.isOurs()) return { decision: null };
      delivery = outcome.current;
    }
  }

  isWriting(): boolean {
    return this.#isWriting;
  }

  idle(): Promise<void> {
    return this.#commits.idle();
  }

  #decide(delivery: OpenDelivery, attempt: AttemptToRecord): Decision {
    const { result, trigger, isOfFormerUrl, schedule } = attempt;
    const fraction = this.#options.random.fraction();
    const decision = afterResult(delivery, { result, trigger, isOfFormerUrl, schedule, fraction });
    if (attempt.pauseDestination === null) return decision;
    return { ...decision, pauseDestination: decision.pauseDestination ?? attempt.pauseDestination };
  }

  /** Tries until it works: an outcome that happened on the wire cannot be taken back. */
  async #write(items: Item[]): Promise<RecordOutcome[]> {
    for (;;) {
      try {
        const outcomes = await this.#writeOnce(items);
        if (!this.#isWriting) {
          this.#isWriting = true;
          this.#options.onRecovered();
        }
        return outcomes;
      } catch (error) {
        // Told once: on a full disk a line for every try would make it worse.
        if (this.#isWriting) this.#options.onTrouble(error);
        this.#isWriting = false;
        await delay(this.#options.clock, RETRY_DELAY_MS);
      }
    }
  }

  async #writeOnce(items: Item[]): Promise<RecordOutcome[]> {
    const { store, clock, onPaused } = this.#options;
    // Several results of one destination: the last has its health after all of them.
    const health = new Map(items.map((item) => [item.health?.destinationId, item.health]));
    const { outcomes, paused } = await store.recordResults({
      results: items.map((item) => item.toStore),
      health: [...health.values()].filter((state) => state !== null),
      now: clock.now(),
    });
    if (paused.length > 0) onPaused(paused);
    return outcomes;
  }
}

/** Member by member: copying all but one costs a microsecond, and this runs for every attempt. */
function attemptToStore({ result, trigger }: AttemptToRecord): ResultToRecord['attempt'] {
  return {
    trigger,
    outcome: result.outcome,
    startedAt: result.startedAt,
    durationMs: result.durationMs,
    responseCode: result.responseCode,
    responseHeaders: toText(result.responseHeaders),
    responseBody: result.responseBody,
    responseBodyTruncated: result.responseBodyTruncated,
    error: result.error,
  };
}

type Headers = AttemptResult['responseHeaders'];

let lastHeaders: Headers = null;
let lastText: string | null = null;

/** As JSON. The headers of a busy receiver are one object until one changes, such as the date (response-head.ts). */
function toText(headers: Headers): string | null {
  if (headers === lastHeaders) return lastText;
  lastHeaders = headers;
  lastText = headers === null ? null : JSON.stringify(headers);
  return lastText;
}
