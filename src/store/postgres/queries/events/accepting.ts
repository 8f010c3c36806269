// How events get in whatever happens: in batches that are halved around what cannot be stored, and around idempotency
// keys that a transaction without an end holds (a prepared one, whose coordinator is gone; a session that was cut off).
// Only the events with those keys are refused, and the time that others wait for it is bounded.
import type { Clock } from '../../../../runtime/clock.ts';
import type { AcceptResult, NewEvent } from '../../../store.ts';
import { bisect, isOfOneItem, withPartitions } from '../../bisect.ts';
import { writeToHandOver, type Write } from '../../context.ts';
import { isKeyLocked, keyLocked, toStoreError } from '../../wire/errors.ts';
import { acceptAtOnce } from './accept-at-once.ts';
import { acceptTogether } from './accept.ts';
import { timesOf } from '../deliveries/delivery-tables.ts';
import { hasKey } from './idempotency.ts';

/** Of the first wait for a key: enough for a transaction that is just ending, short enough for nine in a row. */
const LATER_WAIT_PART = 0.3;
/** From the first key that was not to be had on: then no further one is waited for. One among 500 takes nine waits. */
const HALVING_MS_MAX = 2_000;

/** One result for each event; null: it is left for the next way to accept it. */
type AcceptSome = (events: readonly NewEvent[], keyWaitMs: number) => Promise<(AcceptResult | null)[]>;

export const acceptEvents: Write<'acceptEvents'> = async (context, events) => {
  const { accepting, backlog, partitions, clock, isDistributed, keyWaitMs, lockedKeys } = context;

  const inPartitions =
    (acceptSome: AcceptSome): AcceptSome =>
    (some, waitMs) =>
      withPartitions(partitions, timesOf(some.flatMap(idsOf)), () => acceptSome(some, waitMs));
  const atOnce = inPartitions((some, waitMs) => acceptAtOnce(context, some, waitMs));
  const inSteps = inPartitions(async (some, waitMs) => {
    const { results, ...handOver } = await writeToHandOver(backlog, accepting.write, async (tx, change) => ({
      results: await acceptTogether(tx, context, { change, events: some, keyWaitMs: waitMs }),
    }));
    return results.map((one) => (one.result === 'accepted' ? { ...one, ...handOver } : one));
  });

  const refuse = (event: NewEvent, error: unknown): AcceptResult => {
    if (isKeyLocked(error)) lockedKeys.note(event);
    return toFailed(error);
  };

  if (events.length === 0) return [];
  const batch = new HalvedBatch(clock, keyWaitMs);
  const suspects = new Set(events.filter((event) => lockedKeys.isSuspect(event)));
  const others = events.filter((event) => !suspects.has(event));
  // Those without a key first: they need not be cut into small pieces when the time for keys is over.
  const sorted = [...others.filter((event) => !hasKey(event)), ...others.filter(hasKey)];
  const results = new Map<NewEvent, AcceptResult>();
  const accept = async (acceptSome: AcceptSome, part: readonly NewEvent[]): Promise<void> => {
    const missing = part.filter((event) => !results.has(event));
    const found = await bisect(missing, (some) => batch.accept(acceptSome, some), refuse);
    for (const [i, result] of found.entries()) if (result !== null) results.set(missing[i]!, result);
  };
  for (const acceptSome of isDistributed ? [inSteps] : [atOnce, inSteps]) {
    await accept(acceptSome, sorted);
    if (suspects.size > 0) batch.waitBriefly();
    await accept(acceptSome, [...suspects]);
  }
  return events.map((event) => results.get(event)!);
};

/** The parts of one batch, each a transaction. */
class HalvedBatch {
  readonly #clock: Clock;
  readonly #laterWaitMs: number;
  #waitMs: number;
  #endsAt = Number.POSITIVE_INFINITY;
  #hasStored = false;
  #broken: { error: unknown } | null = null;

  constructor(clock: Clock, keyWaitMs: number) {
    this.#clock = clock;
    this.#waitMs = keyWaitMs;
    this.#laterWaitMs = Math.ceil(keyWaitMs * LATER_WAIT_PART);
  }

  waitBriefly(): void {
    this.#waitMs = this.#laterWaitMs;
  }

  async accept(acceptSome: AcceptSome, events: readonly NewEvent[]): Promise<(AcceptResult | null)[]> {
    if (events.length === 0) return [];
    if (this.#broken !== null) return this.#giveUp(events, this.#broken.error);
    if (this.#clock.monotonic() >= this.#endsAt && events.some(hasKey)) throw keyLocked();
    try {
      const results = await acceptSome(events, this.#waitMs);
      this.#hasStored = true;
      return results;
    } catch (error) {
      if (isKeyLocked(error)) {
        this.waitBriefly();
        this.#endsAt = Math.min(this.#endsAt, this.#clock.monotonic() + HALVING_MS_MAX);
      }
      // What is stored already has to be answered as stored, and what is left need not meet the same trouble again.
      if (isOfOneItem(error) || !this.#hasStored) throw error;
      return this.#giveUp(events, error);
    }
  }

  #giveUp(events: readonly NewEvent[], error: unknown): AcceptResult[] {
    this.#broken = { error };
    return events.map(() => toFailed(error));
  }
}

function toFailed(error: unknown): AcceptResult {
  return { result: 'failed', error: toStoreError(error) };
}

function idsOf(event: NewEvent): string[] {
  return [event.id, ...event.deliveries.map((delivery) => delivery.id)];
}
