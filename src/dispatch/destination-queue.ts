// One destination's deliveries that are in memory, and whether the next of them may start. The rest of its
// backlog stays in the store; `storeDueAt` says when to look there. Decides nothing by itself and does no I/O.
import type { OpenDelivery } from '../model/delivery.ts';
import { FORCED_DUE_AT, isForced } from '../model/delivery.ts';
import type { DestinationHealth, DestinationWithKeys } from '../model/destination.ts';
import type { DeliveryId, DestinationId } from '../model/id.ts';
import { resolveSchedule } from '../model/retry-policy.ts';
import type { Schedule } from '../model/retry-policy.ts';
import { createHealth } from './health.ts';
import type { Health } from './health.ts';
import { createRateLimit } from './rate-limit.ts';
import type { RateLimit } from './rate-limit.ts';

const NEVER = Number.POSITIVE_INFINITY;
const REST_AFTER_FAULT_MS = 250;
/** Others' clocks differ a little, and what they accept is seen only when it is committed. */
const REFILL_MARGIN_MS = 60_000;
/** The store gives expired ones again and again until they are ended there: looking for more must not spin. */
const UNSENT_IN_A_ROW_MAX = 1_000;
const REST_AFTER_UNSENT_MS = 1_000;
/** Forced attempts that wait in memory beside the rest; more wait in the store. */
const FORCED_WAITING_MAX = 100;

/** Wall-clock time for due times, monotonic time for spacing and rates. */
export type Instant = { now: number; monotonic: number };

export type Attempting = {
  delivery: OpenDelivery;
  /** The request has gone out; until then its body may still have to be read. */
  isSent: boolean;
  abort: (() => void) | null;
  /** Aborted so that another can send it: it has not happened, and is not recorded. */
  isAbandoned: boolean;
};

export class DestinationQueue {
  readonly id: DestinationId;
  destination: DestinationWithKeys;
  schedule: Schedule;
  readonly health: Health;
  readonly #rate: RateLimit;

  /** Sorted by (dueAt, id): forced ones first. */
  #waiting: OpenDelivery[] = [];
  /** Everything in memory: waiting, on the wire, or not yet recorded. */
  readonly #held = new Set<DeliveryId>();
  readonly #onWire = new Map<DeliveryId, Attempting>();
  /** Of those on the wire, the ones that are not sent yet: each has a token of the rate set aside. */
  #unsentCount = 0;
  /** When the earliest delivery that is only in the store is due, as far as we know. */
  #storeDueAt = NEVER;
  /** While a refill is read, what becomes known of the store is kept apart: the answer may be older. */
  #isRefilling = false;
  #dueSinceRefill = NEVER;
  readonly #settledSinceRefill = new Set<DeliveryId>();
  #nextStartAt = 0;
  /** Started and not sent, since the last that was: expired, or not ours any more. */
  #unsentInARow = 0;
  /** Monotonic ms: nothing starts before, forced or not. */
  #restsUntil = 0;
  /** Forced while its last attempt was under way: if that is not sent, the store has it as forced. */
  readonly #forcedWhileHeld = new Set<DeliveryId>();
  #isPauseExpected = false;

  /** Its destination was deleted: nothing starts any more, what is on the wire is being aborted. */
  isDeleted = false;
  /** Its shard is not ours any more: nothing starts, and nothing is looked for. */
  isDropped = false;
  /** And it may be another's already: what comes of attempts under way counts only if nobody was there before us. */
  isLost = false;
  #onDrained: (() => void) | null = null;

  // Kept by those who hold the queue: the heap, the ready buckets, the dispatcher's count of what waits, the refiller.
  wakeAt = NEVER;
  heapIndex = -1;
  readyBucket = -1;
  countedWaiting = 0;
  /** Monotonic ms at which the last refill ended. */
  refilledAt = Number.NEGATIVE_INFINITY;

  /**
   * `ownedSince`: monotonic ms; who sent to the destination before may have used up its rate just then. Absent: nobody
   * did.
   */
  constructor(destination: DestinationWithKeys, stored: DestinationHealth | null, at: Instant, ownedSince?: number) {
    this.id = destination.id;
    this.destination = destination;
    this.schedule = resolveSchedule(destination.retryPolicy);
    this.health = createHealth(destination.id, destination.maxInFlight, stored);
    this.#rate = createRateLimit(destination.ratePerSecond, at.monotonic, ownedSince);
  }

  inFlightCount(): number {
    return this.#onWire.size;
  }

  waitingCount(): number {
    return this.#waiting.length;
  }

  /** In memory: waiting, on the wire, or not yet recorded. */
  heldCount(): number {
    return this.#held.size;
  }

  heldIds(): DeliveryId[] {
    return [...this.#held];
  }

  attempting(): Attempting[] {
    return [...this.#onWire.values()];
  }

  /** There is nothing to do, and nothing to remember that a new queue would not know. */
  isIdle(at: Instant): boolean {
    const hasWork = this.#held.size > 0 || this.#storeDueAt !== NEVER || this.#isRefilling || this.#isPauseExpected;
    return !hasWork && this.health.isNeutral(at.now) && this.#rate.isFull(at.monotonic);
  }

  // ── What comes in ──

  /**
   * A delivery that was just stored. It waits in memory, unless older work of this destination waits in the store:
   * then it waits there behind it. False: it waits in the store.
   */
  offer(delivery: OpenDelivery, { capacity, at }: { capacity: number; at: Instant }): boolean {
    // A refill saw the commit before its answer was here, and has brought it already.
    if (this.#held.has(delivery.id)) return true;
    const isSpilled = this.#storeDueAt <= at.now || this.#isRefilling;
    const isTaken = !this.#isPaused() && !isSpilled && this.#waiting.length < capacity;
    if (isTaken) this.#insert(delivery);
    else this.noteStored(delivery.dueAt);
    return isTaken;
  }

  /** A forced delivery: ahead of the rest, however full the queue is. One that is here takes its new revision. */
  force(delivery: OpenDelivery): void {
    const index = this.#waiting.findIndex(({ id }) => id === delivery.id);
    if (index >= 0) {
      this.#waiting.splice(index, 1);
      this.#held.delete(delivery.id);
    }
    // On the wire, or its result is being recorded: that meets the new revision there and is decided again. It serves
    // as the attempt that was asked for.
    if (this.#held.has(delivery.id)) this.#forcedWhileHeld.add(delivery.id);
    else if (this.#isFullOfForced()) this.noteStored(FORCED_DUE_AT);
    else this.#insert(delivery);
  }

  /** The store has a delivery of this destination that is not in memory. */
  noteStored(dueAt: number): void {
    if (this.#isRefilling) this.#dueSinceRefill = Math.min(this.#dueSinceRefill, dueAt);
    else this.#storeDueAt = Math.min(this.#storeDueAt, dueAt);
  }

  /** How many to fetch from the store now; 0: none. */
  refillWanted(capacity: number, at: Instant): number {
    const dueBy = this.refillDueBy(capacity, at);
    if (this.#isRefilling || this.#storeDueAt > dueBy) return 0;
    if (dueBy !== FORCED_DUE_AT) return capacity - this.#waiting.length;
    return this.#isFullOfForced() ? 0 : FORCED_WAITING_MAX;
  }

  /** Only what could start is fetched: while paused or held, and until three quarters are free, the forced ones. */
  refillDueBy(capacity: number, at: Instant): number {
    const isForcedOnly = this.#isPaused() || this.health.heldUntil() > at.now || this.#waiting.length > capacity / 4;
    return isForcedOnly ? FORCED_DUE_AT : at.now;
  }

  /** Where the store's part begins, as far as we know; what others commit late is younger than the margin. */
  refillDueFrom(): number {
    return Math.max(FORCED_DUE_AT, this.#storeDueAt - REFILL_MARGIN_MS);
  }

  beginRefill(): void {
    this.#isRefilling = true;
    this.#dueSinceRefill = NEVER;
    this.#settledSinceRefill.clear();
  }

  /** `null`: the read failed; look again. */
  endRefill(refill: { deliveries: OpenDelivery[]; nextDueAt: number | null } | null): void {
    this.#isRefilling = false;
    if (this.isOver) return;
    if (refill !== null) this.#storeDueAt = refill.nextDueAt ?? NEVER;
    this.noteStored(this.#dueSinceRefill);
    for (const delivery of refill?.deliveries ?? []) {
      if (this.#held.has(delivery.id)) continue;
      // Recorded while the refill was being read: this row may be from before. The next look shows it as it is.
      if (this.#settledSinceRefill.has(delivery.id)) this.noteStored(delivery.dueAt);
      else if (this.#isPaused() && !isForced(delivery)) this.noteStored(delivery.dueAt);
      else this.#insert(delivery);
    }
    this.#settledSinceRefill.clear();
  }

  /** Whether what was started must not be sent after all: since then the destination was changed, or held. */
  isHeldBack(delivery: OpenDelivery, now: number): boolean {
    if (this.#onWire.size - this.#unsentCount >= this.destination.maxInFlight) return true;
    return !isForced(delivery) && (this.#isPaused() || this.health.heldUntil() > now);
  }

  // ── What goes out ──

  canStart(at: Instant): boolean {
    return this.startableAt(at) <= at.monotonic;
  }

  /** Monotonic ms at which the first waiting delivery may start, as things stand; NEVER: not by time alone. */
  startableAt(at: Instant): number {
    const first = this.#waiting[0];
    if (first === undefined) return NEVER;
    const rateAt = Math.max(at.monotonic + this.#rate.waitMs(at.monotonic, this.#unsentCount), this.#restsUntil);
    // A forced attempt keeps to what the destination's owner set, not to what its failures slowed it to.
    if (isForced(first)) return this.#onWire.size < this.destination.maxInFlight ? rateAt : NEVER;
    const limit = Math.min(this.destination.maxInFlight, this.health.inFlightLimit());
    if (this.#isPaused() || this.#onWire.size >= limit) return NEVER;
    // What waits in memory was due when it came, and stays so if the wall clock is set back.
    const heldMs = Math.max(0, this.health.heldUntil() - at.now);
    return Math.max(rateAt, this.#nextStartAt, at.monotonic + heldMs);
  }

  /** Monotonic ms at which time alone makes something possible here: a start, or a look into the store. */
  nextLookAt(at: Instant): number {
    const startAt = this.startableAt(at);
    const storeAt = Math.max(this.#storeDueAt, this.health.heldUntil());
    if (this.#isPaused() || this.#isRefilling || storeAt === NEVER || storeAt <= at.now) return startAt;
    return Math.min(startAt, at.monotonic + (storeAt - at.now));
  }

  /** Takes the first waiting delivery onto the wire; call only when `canStart`. */
  start(at: Instant): Attempting {
    const attempting: Attempting = { delivery: this.#waiting.shift()!, isSent: false, abort: null, isAbandoned: false };
    this.#onWire.set(attempting.delivery.id, attempting);
    this.#unsentCount++;
    this.#nextStartAt = at.monotonic + this.health.spacingMs();
    return attempting;
  }

  /** Its request goes out. The rate counts from here: bodies that come late together must not make a burst. */
  send(attempting: Attempting, at: Instant): void {
    attempting.isSent = true;
    this.#unsentCount--;
    this.#unsentInARow = 0;
    this.#rate.take(at.monotonic);
  }

  /**
   * What it started could not be sent, and what it has next may be the same again: time for the cause to pass.
   * False: it rests already.
   */
  rest(at: Instant): boolean {
    if (this.#restsUntil > at.monotonic) return false;
    this.#restsUntil = at.monotonic + REST_AFTER_FAULT_MS;
    return true;
  }

  /** What was started needs not be sent after all: on to the next, unless that has gone on for very long. */
  noteUnsent(at: Instant): void {
    this.#nextStartAt = at.monotonic;
    this.#unsentInARow++;
    if (this.#unsentInARow % UNSENT_IN_A_ROW_MAX === 0) this.#restsUntil = at.monotonic + REST_AFTER_UNSENT_MS;
  }

  /** The wire is free again; the delivery stays held until its result is stored. False: it was free already. */
  endAttempt(id: DeliveryId): boolean {
    if (this.#onWire.get(id)?.isSent === false) this.#unsentCount--;
    return this.#onWire.delete(id);
  }

  /** The delivery is not ours to hold any more; `dueAt` if it is to be looked for in the store again. */
  settle(id: DeliveryId, dueAt: number | null): void {
    this.#held.delete(id);
    if (this.#forcedWhileHeld.delete(id)) this.noteStored(FORCED_DUE_AT);
    if (this.#isRefilling) this.#settledSinceRefill.add(id);
    if (dueAt !== null) this.noteStored(dueAt);
    if (this.#held.size === 0) this.#onDrained?.();
  }

  // ── What changes ──

  change(destination: DestinationWithKeys, at: Instant): void {
    const wasPaused = this.destination.status === 'paused';
    this.#isPauseExpected = false;
    this.destination = destination;
    this.schedule = resolveSchedule(destination.retryPolicy);
    this.health.setMaxInFlight(destination.maxInFlight);
    this.#rate.setRate(destination.ratePerSecond, at.monotonic);
    if (this.#isPaused()) this.#putBackScheduled();
    else if (wasPaused) this.health.reset();
  }

  /**
   * A result that is being stored pauses the destination: nothing more goes out although the pause has yet to come
   * back as a change. False: it did not pause it after all.
   */
  expectPause(isExpected: boolean): void {
    this.#isPauseExpected = isExpected;
  }

  delete(): void {
    this.isDeleted = true;
    this.#dropWaiting();
  }

  /** Resolves when nothing of it is on the wire, and every result is stored. */
  drop({ isLost }: { isLost: boolean }): Promise<void> {
    this.isDropped = true;
    this.isLost = isLost;
    this.#dropWaiting();
    if (this.#held.size === 0) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onDrained = resolve;
    return promise;
  }

  /** Somebody else, or nobody, sends to it. */
  get isOver(): boolean {
    return this.isDeleted || this.isDropped;
  }

  #dropWaiting(): void {
    for (const { id } of this.#waiting) this.#held.delete(id);
    this.#waiting = [];
  }

  /** What is not forced goes back to the store, where it waits for the destination to be active again. */
  #putBackScheduled(): void {
    const scheduled = this.#waiting.filter((delivery) => !isForced(delivery));
    this.#waiting = this.#waiting.filter(isForced);
    for (const { id, dueAt } of scheduled) this.settle(id, dueAt);
  }

  #isFullOfForced(): boolean {
    const last = this.#waiting[FORCED_WAITING_MAX - 1];
    return last !== undefined && isForced(last);
  }

  #insert(delivery: OpenDelivery): void {
    this.#held.add(delivery.id);
    const waiting = this.#waiting;
    // Nearly always the newest: look from the end.
    let index = waiting.length;
    while (index > 0 && isBefore(delivery, waiting[index - 1]!)) index--;
    if (index === waiting.length) waiting.push(delivery);
    else waiting.splice(index, 0, delivery);
  }

  #isPaused(): boolean {
    return this.destination.status === 'paused' || this.#isPauseExpected;
  }
}

function isBefore(a: OpenDelivery, b: OpenDelivery): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.id < b.id);
}
