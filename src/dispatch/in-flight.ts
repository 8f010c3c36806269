// One destination's attempts between their start and the end of their request.
//
//   started ── its payload is read, a last look ──▶ sent ── the response, or an abort ──▶ ended
import assert from 'node:assert/strict';
import { Aborter } from '../attempt/abort.ts';
import type { AttemptTrigger } from '../model/attempt.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import type { DeliveryId } from '../model/id.ts';
import { triggerOf } from '../model/transitions.ts';

export class AttemptUnderWay {
  readonly delivery: OpenDelivery;
  readonly trigger: AttemptTrigger;
  readonly aborter: Aborter = new Aborter();
  isSent = false;
  #isAbandoned = false;

  constructor(delivery: OpenDelivery) {
    this.delivery = delivery;
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
  readonly #attempts = new Map<DeliveryId, AttemptUnderWay>();
  #unsentCount = 0;

  get count(): number {
    return this.#attempts.size;
  }

  /** Started and not sent yet: each has a token of the rate set aside. */
  get unsentCount(): number {
    return this.#unsentCount;
  }

  get sentCount(): number {
    return this.#attempts.size - this.#unsentCount;
  }

  list(): AttemptUnderWay[] {
    return [...this.#attempts.values()];
  }

  start(delivery: OpenDelivery): AttemptUnderWay {
    assert(!this.#attempts.has(delivery.id), 'a delivery has two attempts under way');
    const attempt = new AttemptUnderWay(delivery);
    this.#attempts.set(delivery.id, attempt);
    this.#unsentCount++;
    return attempt;
  }

  send(attempt: AttemptUnderWay): void {
    attempt.isSent = true;
    this.#unsentCount--;
  }

  /** False: the attempt had ended already. */
  end({ delivery, isSent }: AttemptUnderWay): boolean {
    if (!this.#attempts.delete(delivery.id)) return false;
    if (!isSent) this.#unsentCount--;
    return true;
  }
}
