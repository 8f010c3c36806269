// What one destination has to be sent: the deliveries in memory, and when to look for more in the store. Most of a
// large backlog stays in the store; nothing here does I/O.
import { FORCED_DUE_AT, isForced, type OpenDelivery } from '../model/delivery.ts';
import type { DeliveryId } from '../model/id.ts';
import { LinkedMap } from '../runtime/linked-map.ts';
import type { Refill } from '../store/store.ts';
import { NEVER, type Instant } from '../runtime/clock.ts';

/** Forced attempts that wait in memory beside the rest; more wait in the store. */
const FORCED_WAITING_MAX = 100;

/** What a destination would take now: `room` deliveries in memory at most; `onlyForced` while it is paused or held. */
export type Appetite = { room: number; now: number; onlyForced: boolean };

/** What a refill found. */
export type Refilled = Pick<Refill, 'deliveries' | 'nextDueAt'>;

export class Backlog {
  /** Sorted by (dueAt, id): forced ones first. */
  #waiting: OpenDelivery[] = [];
  readonly #inMemory = new LinkedMap<DeliveryId, OpenDelivery>();
  /** Waiting, on the wire, or not yet recorded. */
  readonly inMemory: Readonly<Pick<LinkedMap<DeliveryId, OpenDelivery>, 'size'>> = this.#inMemory;
  /** When the earliest delivery that is only in the store is due, as far as we know. */
  #storeDueAt = NEVER;
  /**
   * While a refill is read: what became known of the store meanwhile, for the refill's answer may be older; and what
   * was `offered`, until it is known whether older work is left in the store.
   */
  #refilling: { dueAt: number; settled: Set<DeliveryId>; offered: OpenDelivery[] } | null = null;
  /** Forced while an attempt of theirs was under way: if that is not sent, the store has them as forced. */
  readonly #forcedMeanwhile = new Set<DeliveryId>();
  #refilledAt = Number.NEGATIVE_INFINITY;
  #onDrained: (() => void) | null = null;

  // ── What is there ──

  first(): OpenDelivery | undefined {
    return this.#waiting[0];
  }

  waitingCount(): number {
    return this.#waiting.length;
  }

  /** Of those in memory, all that a look into the store may meet: due from `dueFrom` on, or forced. */
  listInMemory(dueFrom: number): DeliveryId[] {
    const isMet = (one: OpenDelivery): boolean =>
      one.dueAt >= dueFrom || isForced(one) || (this.#forcedMeanwhile.size > 0 && this.#forcedMeanwhile.has(one.id));
    return this.#inMemory
      .values()
      .filter(isMet)
      .map(({ id }) => id);
  }

  /** Monotonic ms at which the last refill ended. */
  get refilledAt(): number {
    return this.#refilledAt;
  }

  isEmpty(): boolean {
    return this.#inMemory.size === 0 && this.#storeDueAt === NEVER && this.#refilling === null;
  }

  /** Unix ms at which time alone makes something of the store due; NEVER: nothing, or a refill will tell. */
  storeDueAt(): number {
    return this.#refilling === null ? this.#storeDueAt : NEVER;
  }

  /** Unix ms, of what waits by its schedule, in memory or as far as is known in the store; NEVER: nothing. */
  earliestDueAt(): number {
    const first = this.#waiting.find((delivery) => !isForced(delivery))?.dueAt ?? NEVER;
    return this.#storeDueAt === FORCED_DUE_AT ? first : Math.min(first, this.#storeDueAt);
  }

  // ── What comes in ──

  /**
   * A delivery that was just stored. It waits in memory, unless older work waits in the store: then it waits there
   * behind that. False: it waits in the store, or until a refill has shown that nothing older is left there.
   */
  offer(delivery: OpenDelivery, { room, now, onlyForced }: Appetite): boolean {
    // A refill read the delivery after its commit, before the answer to the commit was here.
    if (this.#inMemory.has(delivery.id)) return true;
    const offered = this.#refilling?.offered;
    const hasRoom = !onlyForced && this.#waiting.length + (offered?.length ?? 0) < room;
    if (hasRoom && offered !== undefined) offered.push(delivery);
    else if (hasRoom && this.#storeDueAt > now) this.#insert(delivery);
    else this.noteStored(delivery.dueAt);
    return this.#inMemory.has(delivery.id);
  }

  /** A forced delivery: ahead of the rest, however many wait. One that is in memory takes its new revision. */
  force(delivery: OpenDelivery): void {
    const index = this.#waiting.findIndex(({ id }) => id === delivery.id);
    if (index >= 0) {
      this.#waiting.splice(index, 1);
      this.#inMemory.delete(delivery.id);
    }
    // On the wire, or its result is being recorded: that result meets the new revision in the store and is decided
    // again. The attempt under way serves as the one that was asked for.
    if (this.#inMemory.has(delivery.id)) this.#forcedMeanwhile.add(delivery.id);
    else if (isFullOfForced(this.#waiting)) this.noteStored(FORCED_DUE_AT);
    else this.#insert(delivery);
  }

  /** The store has a delivery of this destination that is not in memory. */
  noteStored(dueAt: number): void {
    if (this.#refilling !== null) this.#refilling.dueAt = Math.min(this.#refilling.dueAt, dueAt);
    else this.#storeDueAt = Math.min(this.#storeDueAt, dueAt);
  }

  // ── Refilling from the store ──

  /** How many to fetch from the store now; 0: none. */
  refillWanted(appetite: Appetite): number {
    const { dueBy } = this.refillBounds(appetite);
    if (this.#refilling !== null || this.#storeDueAt > dueBy) return 0;
    if (dueBy !== FORCED_DUE_AT) return appetite.room - this.#waiting.length;
    return isFullOfForced(this.#waiting) ? 0 : FORCED_WAITING_MAX;
  }

  /**
   * `dueBy`: only what could start is fetched, and until three quarters of the room are free only what was forced.
   * `dueFrom`: where the store's part begins as far as we know; whoever stores something earlier says so, and if that
   * gets lost, the sweep finds it.
   */
  refillBounds({ room, now, onlyForced }: Appetite): { dueBy: number; dueFrom: number } {
    return {
      dueBy: onlyForced || this.#waiting.length > room / 4 ? FORCED_DUE_AT : now,
      dueFrom: this.#storeDueAt,
    };
  }

  beginRefill(): void {
    this.#refilling = { dueAt: NEVER, settled: new Set(), offered: [] };
  }

  /** `refill`: null where the read failed; look again. */
  endRefill(
    refill: Refilled | null,
    { at, room, onlyForced }: { at: Instant; room: number; onlyForced: boolean },
  ): void {
    const { dueAt: dueSince, settled, offered } = this.#refilling!;
    this.#refilling = null;
    this.#refilledAt = at.monotonic;
    if (refill !== null) this.#storeDueAt = refill.nextDueAt ?? NEVER;
    const isAllRead = this.#storeDueAt > at.now;
    this.noteStored(dueSince);
    const found = refill?.deliveries ?? [];
    for (const delivery of isAllRead ? [...found, ...offered] : found) {
      if (this.#inMemory.has(delivery.id)) continue;
      const mayWait = isForced(delivery) || (!onlyForced && this.#waiting.length < room);
      // Of a delivery whose result was recorded while the refill was being read the row may be out of date: the next
      // refill has it anew.
      if (mayWait && !settled.has(delivery.id)) this.#insert(delivery);
      else this.noteStored(delivery.dueAt);
    }
    if (!isAllRead) for (const { dueAt } of offered) this.noteStored(dueAt);
  }

  // ── What goes out ──

  /** The first that waits goes onto the wire, and stays in memory until it is settled. */
  take(): OpenDelivery {
    return this.#waiting.shift()!;
  }

  /** The delivery leaves memory; `dueAt` if it is to be looked for in the store again. */
  settle(id: DeliveryId, dueAt: number | null): void {
    this.#inMemory.delete(id);
    if (this.#forcedMeanwhile.size > 0 && this.#forcedMeanwhile.delete(id)) this.noteStored(FORCED_DUE_AT);
    this.#refilling?.settled.add(id);
    if (dueAt !== null) this.noteStored(dueAt);
    if (this.#inMemory.size === 0) this.#onDrained?.();
  }

  /** Deliveries that are not forced are left to the store, until the destination is active again. */
  putBackScheduled(): void {
    const scheduled = this.#waiting.filter((delivery) => !isForced(delivery));
    this.#waiting = this.#waiting.filter(isForced);
    for (const { id, dueAt } of scheduled) this.settle(id, dueAt);
  }

  /** Another node, or nobody, will send the deliveries that wait. */
  forgetWaiting(): void {
    for (const { id } of this.#waiting) this.#inMemory.delete(id);
    this.#waiting = [];
    if (this.#refilling !== null) this.#refilling.offered = [];
  }

  /** Resolves when nothing is on the wire, and every result is stored. To be called once, with nothing waiting. */
  drained(): Promise<void> {
    if (this.#inMemory.size === 0) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onDrained = resolve;
    return promise;
  }

  #insert(delivery: OpenDelivery): void {
    this.#inMemory.set(delivery.id, delivery);
    const waiting = this.#waiting;
    // Nearly always the newest: look from the end.
    let index = waiting.length;
    while (index > 0 && isBefore(delivery, waiting[index - 1]!)) index--;
    if (index === waiting.length) waiting.push(delivery);
    else waiting.splice(index, 0, delivery);
  }
}

function isFullOfForced(waiting: readonly OpenDelivery[]): boolean {
  const last = waiting[FORCED_WAITING_MAX - 1];
  return last !== undefined && isForced(last);
}

function isBefore(a: OpenDelivery, b: OpenDelivery): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.id < b.id);
}
