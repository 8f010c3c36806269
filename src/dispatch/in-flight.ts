// One destination's attempts between their start and the end of their request (InFlight), and how many of them
// there may be by what its receiver has answered (Window).
//
//   started ── its payload is read, a last look ──▶ sent ── the response, or an abort ──▶ ended
//
// What a receiver has left behind (it has answered one that was started later, and this one is old) hangs by itself: it
// says nothing of how the receiver is doing now.
import assert from 'node:assert/strict';
import { Aborter } from '../attempt/connection.ts';
import type { AttemptTrigger } from '../model/attempt.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import type { DeliveryId } from '../model/id.ts';
import { triggerOf } from '../model/transitions.ts';
import { LinkedMap } from '../runtime/linked-map.ts';
import type { Taker } from './slots.ts';

/** Younger ones are just on their way, whatever was answered since. */
const OLD_MS = 1_000;

export class AttemptUnderWay {
  readonly delivery: OpenDelivery;
  readonly trigger: AttemptTrigger;
  /** Monotonic ms. */
  readonly startedAt: number;
  /** Mode and standing of its destination when it took its slot: by them the slot is given back. */
  readonly taker: Taker;
  readonly aborter: Aborter = new Aborter();
  /** The url that its request went to; null: it has not gone out. */
  sentTo: string | null = null;
  #isAbandoned = false;

  constructor(delivery: OpenDelivery, startedAt: number, taker: Taker) {
    this.delivery = delivery;
    this.startedAt = startedAt;
    this.taker = taker;
    this.trigger = triggerOf(delivery);
  }

  /** Aborts it so that another node can send it: the attempt has not happened, and is not recorded. */
  abandon(): void {
    this.#isAbandoned = true;
    this.aborter.abort();
  }

  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }
}

export class InFlight {
  /** In the order of their starts. */
  readonly #current = new LinkedMap<DeliveryId, AttemptUnderWay>();
  readonly #leftBehind = new LinkedMap<DeliveryId, AttemptUnderWay>();
  #unsentCount = 0;
  #lastStartAt = Number.NEGATIVE_INFINITY;

  get count(): number {
    return this.#current.size + this.#leftBehind.size;
  }

  /** Without those that were left behind. */
  get currentCount(): number {
    return this.#current.size;
  }

  /** Started and not sent yet: each has a token of the rate set aside. */
  get unsentCount(): number {
    return this.#unsentCount;
  }

  get sentCount(): number {
    return this.count - this.#unsentCount;
  }

  /** Monotonic ms. */
  get lastStartAt(): number {
    return this.#lastStartAt;
  }

  list(): AttemptUnderWay[] {
    return [...this.#leftBehind.values(), ...this.#current.values()];
  }

  start(delivery: OpenDelivery, monotonic: number, taker: Taker): AttemptUnderWay {
    const isUnderWay = this.#current.has(delivery.id) || this.#leftBehind.has(delivery.id);
    assert(!isUnderWay, 'a delivery has two attempts under way');
    const attempt = new AttemptUnderWay(delivery, monotonic, taker);
    this.#current.set(delivery.id, attempt);
    this.#unsentCount++;
    this.#lastStartAt = monotonic;
    return attempt;
  }

  send(attempt: AttemptUnderWay, url: string): void {
    attempt.sentTo = url;
    this.#unsentCount--;
  }

  /** The receiver has answered this one. */
  noteAnswer({ startedAt }: AttemptUnderWay, monotonic: number): void {
    const before = Math.min(startedAt, monotonic - OLD_MS);
    for (;;) {
      const oldest = this.#current.oldest();
      if (oldest === null || oldest.startedAt >= before) return;
      this.#current.delete(oldest.delivery.id);
      this.#leftBehind.set(oldest.delivery.id, oldest);
    }
  }

  isLeftBehind({ delivery }: AttemptUnderWay): boolean {
    return this.#leftBehind.has(delivery.id);
  }

  /** False: the attempt had ended already. */
  end({ delivery, sentTo }: AttemptUnderWay): boolean {
    if (!this.#current.delete(delivery.id) && !this.#leftBehind.delete(delivery.id)) return false;
    if (sentTo === null) this.#unsentCount--;
    return true;
  }
}

// How many attempts a destination has shown that it can have on the wire at once, earned as a TCP sender's window is
// (RFC 5681, 3.1): a few at first; one more with each answer while more are wanted, which doubles it in the time that
// an answer takes; forgotten when it was not used. So a receiver that takes requests and never answers holds a few
// slots, whatever its `max_in_flight` is.

/** What may be on the wire before anything was answered. */
const FIRST = 20;
/** What was in use so long ago, or up to twice as long, still counts. */
const REMEMBERED_MS = 1_000;

export class Window {
  /** The most that were on the wire when an answer came: in this stretch of time, and in the one before. */
  #peak = 0;
  #peakBefore = 0;
  #beganAt = 0;
  #hasAnswers = false;

  /** Something was answered, however long ago. */
  get hasAnswers(): boolean {
    return this.#hasAnswers;
  }

  /** A request was answered. `count`: with it so many were on the wire. `isWanted`: more deliveries wait. */
  noteAnswer(count: number, isWanted: boolean, monotonic: number): void {
    this.#hasAnswers = true;
    const earned = Math.max(1, this.earned(monotonic));
    const isFull = isWanted && 2 * count > earned;
    this.#peak = Math.max(this.#peak, count, isFull ? earned + 1 : 0);
  }

  /** What it may have of slots that are scarce. */
  earned(monotonic: number): number {
    this.#turn(monotonic);
    return Math.max(this.#peak, this.#peakBefore);
  }

  /** What it may have while there are slots for everybody. */
  size(monotonic: number): number {
    return Math.max(FIRST, this.earned(monotonic));
  }

  #turn(monotonic: number): void {
    const passed = monotonic - this.#beganAt;
    if (passed < REMEMBERED_MS) return;
    this.#peakBefore = passed < 2 * REMEMBERED_MS ? this.#peak : 0;
    this.#peak = 0;
    this.#beganAt = monotonic;
  }
}
