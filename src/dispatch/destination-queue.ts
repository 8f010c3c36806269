// One destination on the way out: what it has to be sent (backlog.ts), what is on its wire and how much
// that may be (in-flight.ts), when the next may start (pace.ts), how its receiver is doing (health.ts). Does no I/O.
//
//   active ◀──▶ pausing ───▶ paused ◀──▶ active        pausing: a result that pauses it is being stored
//     └────────────┴────────────┴──▶ deleted            nothing starts any more, what is on the wire is aborted
//                               └──▶ released           its shard is given away: the rest is stored, and no more
//                               └──▶ lost               its shard may be another node's already
import type { Mode } from '../model/api-key.ts';
import { isForced, type OpenDelivery } from '../model/delivery.ts';
import type { DestinationHealth, DestinationLoad, DestinationWithKeys } from '../model/destination.ts';
import type { DestinationId } from '../model/id.ts';
import { resolveSchedule, type Schedule } from '../model/retry-policy.ts';
import { Backlog, type Appetite, type Refilled } from './backlog.ts';
import { Health } from './health.ts';
import { InFlight, Window, type AttemptUnderWay } from './in-flight.ts';
import { NEVER, type Instant } from '../runtime/clock.ts';
import { Pace } from './pace.ts';
import type { HeapPlace, ReadyPlace, Standing } from './slots.ts';

/** Where those who hold the queue have put it. Kept with the queue, so that finding it there is no look-up. */
export class Place implements HeapPlace, ReadyPlace<DestinationQueue> {
  wakeAt: number = NEVER;
  heapIndex = -1;
  readyBucket = -1;
  readyAmong: ReadyPlace<DestinationQueue>['readyAmong'] = null;
  readyBefore: DestinationQueue | null = null;
  readyAfter: DestinationQueue | null = null;
  /** How many of its waiting deliveries are in the sum over all queues. */
  countedWaiting = 0;
}

/** As long as a hung receiver that answers again may be overlooked. */
const PROBE_INTERVAL_MS = 1_600;

/** `lost`: the result of an attempt under way is recorded only if no other node has touched the delivery since. */
type State = 'active' | 'pausing' | 'paused' | 'deleted' | 'released' | 'lost';

export class DestinationQueue {
  readonly id: DestinationId;
  readonly mode: Mode;
  readonly health: Health;
  readonly backlog: Backlog = new Backlog();
  readonly inFlight: InFlight = new InFlight();
  readonly pace: Pace;
  #window: Window = new Window();
  readonly place: Place = new Place();
  #destination: DestinationWithKeys;
  #schedule: Schedule;
  #state: State;

  /** `ownedSince`: see Pace. Absent: nobody sent to the destination before. */
  constructor(
    { destination, mode }: { destination: DestinationWithKeys; mode: Mode },
    stored: DestinationHealth | null,
    at: Instant,
    ownedSince?: number,
  ) {
    this.id = destination.id;
    this.mode = mode;
    this.#destination = destination;
    this.#schedule = resolveSchedule(destination.retryPolicy);
    this.#state = destination.status;
    this.health = new Health(destination.id, destination.maxInFlight, stored, at);
    this.pace = new Pace(destination.ratePerSecond, at, ownedSince);
  }

  get destination(): DestinationWithKeys {
    return this.#destination;
  }

  get schedule(): Schedule {
    return this.#schedule;
  }

  get state(): State {
    return this.#state;
  }

  /** Another node, or nobody, sends to this destination. */
  get isOver(): boolean {
    return this.#state === 'deleted' || this.#state === 'released' || this.#state === 'lost';
  }

  get isPaused(): boolean {
    return this.#state === 'paused' || this.#state === 'pausing';
  }

  /** There is nothing to do, and nothing to remember that a new queue would not know. */
  isIdle(at: Instant): boolean {
    const hasWork = !this.backlog.isEmpty() || this.#state === 'pausing';
    return !hasWork && this.health.isNeutral(at) && this.pace.isNeutral(at);
  }

  // ── What comes in ──

  /** False: it waits in the store. `room`: how many may wait in memory. */
  offer(delivery: OpenDelivery, room: number, { now }: Instant): boolean {
    // A hold by Retry-After ends by itself, so that new deliveries may wait in memory meanwhile.
    return this.backlog.offer(delivery, { room, now, onlyForced: this.isPaused });
  }

  /** What it would take from the store now. */
  appetite(room: number, at: Instant): Appetite {
    return { room, now: at.now, onlyForced: this.isPaused || this.health.heldMs(at) > 0 };
  }

  /** `refill`: null where the read failed. */
  endRefill(refill: Refilled | null, room: number, at: Instant): void {
    const found = this.isOver ? { deliveries: [], nextDueAt: null } : refill;
    this.backlog.endRefill(found, { at, room, onlyForced: this.isPaused });
  }

  // ── What goes out ──

  /** Monotonic ms at which the first waiting delivery may start, as things stand; NEVER: not by time alone. */
  startableAt(at: Instant): number {
    const first = this.backlog.first();
    if (first === undefined) return NEVER;
    const { count, currentCount, unsentCount, lastStartAt } = this.inFlight;
    if (count >= this.#destination.maxInFlight) return NEVER;
    if (isForced(first)) return this.pace.forcedMayStartAt(at, unsentCount);
    if (this.isPaused) return NEVER;
    // Deliveries in memory were due when they came, and stay due if the wall clock is set back.
    const { inFlightLimit, spacingMs } = this.health;
    const startAt = Math.max(
      this.pace.scheduledMayStartAt(at, unsentCount, spacingMs),
      at.monotonic + this.health.heldMs(at),
    );
    if (currentCount < Math.min(inFlightLimit, this.#window.size(at.monotonic))) return startAt;
    // Nothing comes back: one more now and then finds out when the receiver answers again.
    return Math.max(startAt, lastStartAt + PROBE_INTERVAL_MS);
  }

  /** What its next start may have of scarce slots. */
  standing({ monotonic }: Instant): Standing {
    const { count } = this.inFlight;
    const earned = this.#window.earned(monotonic);
    if (count < earned) return 'earner';
    if (count > 0) return 'other';
    if (this.health.isFailing) return 'prober';
    return this.#window.hasAnswers ? 'earner' : 'newcomer';
  }

  /**
   * Monotonic ms at which time alone makes something possible here: a start, at `startAt` by `startableAt`, or a look
   * into the store.
   */
  nextLookAt(at: Instant, startAt: number): number {
    const waitMs = Math.max(this.backlog.storeDueAt() - at.now, this.health.heldMs(at));
    if (this.isPaused || waitMs === NEVER || waitMs <= 0) return startAt;
    return Math.min(startAt, at.monotonic + waitMs);
  }

  /** Takes the first waiting delivery onto the wire; call only when `startableAt` has come. */
  start(at: Instant): AttemptUnderWay {
    this.pace.noteStart(at);
    const taker = { mode: this.mode, standing: this.standing(at) };
    return this.inFlight.start(this.backlog.take(), at.monotonic, taker);
  }

  /** Whether what was started must not be sent after all: since then the destination was changed, or held. */
  isHeldBack(delivery: OpenDelivery, at: Instant): boolean {
    if (this.inFlight.sentCount >= this.#destination.maxInFlight) return true;
    return !isForced(delivery) && (this.isPaused || this.health.heldMs(at) > 0);
  }

  /** The request of an attempt goes out. */
  send(attempt: AttemptUnderWay, at: Instant): void {
    this.inFlight.send(attempt, this.#destination.url);
    this.pace.noteSent(at);
  }

  /** A response has come, whatever it says. To be called before the attempt is ended. */
  noteAnswer(attempt: AttemptUnderWay, { monotonic }: Instant): void {
    const isWanted = this.backlog.first() !== undefined;
    this.#window.noteAnswer(this.inFlight.currentCount, isWanted, monotonic);
    this.inFlight.noteAnswer(attempt, monotonic);
  }

  // ── What changes ──

  change(destination: DestinationWithKeys, at: Instant): void {
    const { status: statusBefore, url: urlBefore } = this.#destination;
    this.#destination = destination;
    this.#schedule = resolveSchedule(destination.retryPolicy);
    if (!this.isOver) this.#state = destination.status;
    this.health.setMaxInFlight(destination.maxInFlight);
    this.pace.setRate(destination.ratePerSecond, at);
    if (destination.url !== urlBefore) {
      this.health.forget();
      this.#window = new Window();
    }
    if (this.isPaused) this.backlog.putBackScheduled();
    else if (statusBefore === 'paused') this.health.reset();
  }

  /**
   * A result that is being stored pauses the destination: nothing more goes out although the change has yet to come
   * back. False: the result did not pause it after all.
   */
  setPausing(isPausing: boolean): void {
    if (this.#state === (isPausing ? 'active' : 'pausing')) this.#state = isPausing ? 'pausing' : 'active';
  }

  end(state: 'deleted' | 'released' | 'lost'): void {
    this.#state = state;
    this.backlog.forgetWaiting();
  }
}

export function loadOf(
  { destination, isPaused, inFlight, health, backlog }: DestinationQueue,
  at: Instant,
): DestinationLoad {
  const dueAt = isPaused || health.heldMs(at) > 0 ? NEVER : backlog.earliestDueAt();
  return {
    destination,
    inFlight: inFlight.count,
    inFlightLimit: Math.min(destination.maxInFlight, health.inFlightLimit),
    overdueSince: dueAt < at.now ? dueAt : null,
  };
}
