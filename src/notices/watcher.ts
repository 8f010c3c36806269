// What of all that the core tells is worth a notice: a destination becoming paused, its first success after it was
// paused or failing, and deliveries that died.
import { isFailing } from '../model/condition.ts';
import type { DestinationWithKeys, FailureStreak } from '../model/destination.ts';
import { isOperational } from '../model/event-type.ts';
import type { DestinationId } from '../model/id.ts';
import { endedBy, type FinishedAttempt, type Observer, type Scheduled } from '../model/observer.ts';
import { formatTime, formatTimeOrNull } from '../model/time.ts';
import type { Clock } from '../runtime/clock.ts';
import type { NoticeBody, Notices } from './notices.ts';

/** A success so long after a resume says nothing new. In a cluster all nodes see the resume and one the success. */
const RESUME_MS_MAX = 3_600_000;

type Place = { environment: number; destinationId: DestinationId };

export class Watcher {
  readonly observer: Observer = {
    scheduled: (scheduled) => this.#noteScheduled(scheduled),
    attempted: (finished) => this.#noteAttempt(finished),
    destinationChanged: (destination) => this.#noteDestination(destination),
    destinationDeleted: (id) => this.#noteDeleted(id),
  };

  readonly #notices: Pick<Notices, 'add' | 'withdraw'>;
  readonly #clock: Clock;
  readonly #paused = new Set<DestinationId>();
  /** Active again and without a success since: when that came to be, monotonic. */
  readonly #resumedAt = new Map<DestinationId, number>();
  #isStarted = false;

  constructor(notices: Pick<Notices, 'add' | 'withdraw'>, clock: Clock) {
    this.#notices = notices;
    this.#clock = clock;
  }

  /** Until then destinations are as they were: that one is paused is no news. */
  start(): void {
    this.#isStarted = true;
  }

  #noteScheduled({ event, deliveries, backlogFull }: Scheduled): void {
    if (backlogFull.size === 0 || isOperational(event.type)) return;
    for (const { id, destinationId } of deliveries) {
      if (!backlogFull.has(id)) continue;
      const dead = {
        delivery_id: id,
        event_id: event.id,
        event_type: event.type,
        dead_reason: 'backlog_full',
      } as const;
      this.#addDead({ environment: event.environment, destinationId }, dead);
    }
  }

  /** Of deliveries of the service's own events nothing is told: that would be one more of them. */
  #noteAttempt(finished: FinishedAttempt): void {
    const { delivery, eventType, result, decision, recoveredFrom = null } = finished;
    if (result.outcome === 'succeeded') {
      if (recoveredFrom !== null || this.#resumedAt.size > 0) this.#noteSuccess(delivery, recoveredFrom);
    } else if (endedBy(finished) === 'dead' && !isOperational(eventType)) {
      const { id, eventId } = delivery;
      const dead = { delivery_id: id, event_id: eventId, event_type: eventType, dead_reason: decision!.deadReason! };
      this.#addDead(delivery, dead);
    }
  }

  #noteDestination({ id, environment, status, pausedReason, updatedAt }: DestinationWithKeys): void {
    if ((status === 'paused') === this.#paused.has(id)) return;
    if (status === 'active') {
      this.#paused.delete(id);
      this.#resumedAt.set(id, this.#clock.monotonic());
      this.#notices.withdraw('postrider.destination.paused', id);
      return;
    }
    this.#paused.add(id);
    this.#resumedAt.delete(id);
    this.#notices.withdraw('postrider.destination.recovered', id);
    if (!this.#isStarted) return;
    const data = { reason: pausedReason ?? 'manual', paused_at: formatTime(updatedAt) };
    this.#notices.add({ type: 'postrider.destination.paused', environment, destinationId: id, data }, updatedAt);
  }

  #noteDeleted(id: DestinationId): void {
    this.#paused.delete(id);
    this.#resumedAt.delete(id);
  }

  #noteSuccess({ environment, destinationId }: Place, streak: FailureStreak | null): void {
    // Sent by hand while it is paused.
    if (this.#paused.has(destinationId)) return;
    const resumedAt = this.#resumedAt.get(destinationId);
    this.#resumedAt.delete(destinationId);
    const isResumed = resumedAt !== undefined && this.#clock.monotonic() - resumedAt < RESUME_MS_MAX;
    const wasFailing = streak !== null && isFailing(streak, this.#clock.now());
    if (!isResumed && !wasFailing) return;
    const data = {
      after: isResumed ? ('paused' as const) : ('failing' as const),
      failing_since: formatTimeOrNull(streak?.failingSince ?? null),
      failed_attempts: streak?.failureCount ?? 0,
    };
    this.#notices.add({ type: 'postrider.destination.recovered', environment, destinationId, data });
  }

  #addDead({ environment, destinationId }: Place, dead: Omit<DeadData, 'count'>): void {
    this.#notices.add({ type: 'postrider.delivery.dead', environment, destinationId, data: { ...dead, count: 1 } });
  }
}

type DeadData = Extract<NoticeBody, { type: 'postrider.delivery.dead' }>['data'];
