// All destinations' queues that are in memory, each in its place: among those that may start an attempt now, in the
// heap of those that wait for a time, on the list of those that want more from the store, or gone.
import type { Mode } from '../model/api-key.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import type { DestinationHealth, DestinationWithKeys } from '../model/destination.ts';
import { idShard, type DestinationId } from '../model/id.ts';
import { instantOf, NEVER, type Clock, type Instant } from '../runtime/clock.ts';
import type { BackgroundStep } from '../runtime/loop.ts';
import type { Store } from '../store/store.ts';
import { DestinationQueue } from './destination-queue.ts';
import type { Ownership } from '../model/ownership.ts';
import { ReadyQueues, WakeHeap, type SharedSlots } from './slots.ts';
import { Refiller } from './refiller.ts';

/** Deliveries that wait in memory: of one destination, and of all together before each is cut to the last number. */
const WAITING_PER_DESTINATION_MAX = 1_000;
const WAITING_MAX = 100_000;
const WAITING_PER_DESTINATION_MIN = 16;

/** Queues that are in memory, with work or without; about a kilobyte each. Those with work are never dropped. */
const QUEUES_KEPT_MAX = 20_000;

type QueuesOptions = {
  store: Pick<Store, 'refill'>;
  clock: Clock;
  ownership: Pick<Ownership, 'ownedSince'>;
  destinationOf: (id: DestinationId) => DestinationWithKeys | undefined;
  modeOf: (environment: number) => Mode;
  /** Time has come for these, or a refill has ended: look at them again. */
  onDue: (queues: DestinationQueue[]) => void;
  onError: (error: unknown, where: BackgroundStep) => void;
};

export class Queues {
  readonly #options: QueuesOptions;
  readonly #byId = new Map<DestinationId, DestinationQueue>();
  readonly #ready = new ReadyQueues<DestinationQueue>();
  readonly #heap: WakeHeap<DestinationQueue>;
  readonly #refiller: Refiller;
  #waiting = 0;

  constructor(options: QueuesOptions) {
    this.#options = options;
    const { store, clock, onDue, onError } = options;
    this.#heap = new WakeHeap(clock, onDue);
    this.#refiller = new Refiller({
      store,
      clock,
      roomOf: () => this.room(),
      onRefilled: onDue,
      onError: (error) => onError(error, 'refill'),
    });
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Deliveries that wait in memory, of all destinations. */
  get waiting(): number {
    return this.#waiting;
  }

  instant(): Instant {
    return instantOf(this.#options.clock);
  }

  /** How many deliveries a destination may have waiting in memory. */
  room(): number {
    return this.#waiting < WAITING_MAX ? WAITING_PER_DESTINATION_MAX : WAITING_PER_DESTINATION_MIN;
  }

  get(id: DestinationId): DestinationQueue | undefined {
    return this.#byId.get(id);
  }

  list(): DestinationQueue[] {
    return [...this.#byId.values()];
  }

  /** The destination's queue, made where there is none. Null: its shard is not ours, or nobody here knows of it. */
  open(id: DestinationId, at: Instant, health: DestinationHealth | null = null): DestinationQueue | null {
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    const { destinationOf, modeOf, ownership } = this.#options;
    const ownedSince = ownership.ownedSince(idShard(id));
    const destination = ownedSince === null ? undefined : destinationOf(id);
    if (ownedSince === null || destination === undefined) return null;
    const mode = modeOf(destination.environment);
    // A destination that was made while its shard was ours got no request from any other process before.
    const isOlder = at.now - destination.createdAt > at.monotonic - ownedSince;
    const queue = new DestinationQueue({ destination, mode }, health, at, isOlder ? ownedSince : undefined);
    this.#byId.set(id, queue);
    return queue;
  }

  /**
   * Deliveries that were stored at `storedAt` (monotonic ms); `at` is now. Returns how many of them go out from here
   * `soon`, and how many `later`, after others that wait in the store.
   */
  offer(deliveries: readonly OpenDelivery[], storedAt: number, at: Instant): { soon: number; later: number } {
    const count = { soon: 0, later: 0 };
    for (const delivery of deliveries) {
      const queue = this.open(delivery.destinationId, at);
      if (queue === null) continue;
      // A refill since may have brought the delivery, which may have been sent already: the store's row of it counts.
      if (queue.backlog.refilledAt > storedAt) queue.backlog.noteStored(delivery.dueAt);
      else if (queue.offer(delivery, this.room(), at)) count.soon++;
      else if (!queue.isPaused) count.later++;
      this.update(queue, at);
    }
    return count;
  }

  /** Puts a queue where it belongs now. To be called after every change of the queue. */
  update(queue: DestinationQueue, at: Instant): void {
    const { place, backlog } = queue;
    this.#waiting += backlog.waitingCount() - place.countedWaiting;
    place.countedWaiting = backlog.waitingCount();
    // A queue with nothing to do stays until the next sweep, unless there are very many: it will have work again soon.
    const isGone = queue.isOver || (this.#byId.size > QUEUES_KEPT_MAX && queue.isIdle(at));
    if (isGone && this.#byId.get(queue.id) === queue) this.#byId.delete(queue.id);
    const startAt = isGone ? NEVER : queue.startableAt(at);
    const isReady = startAt <= at.monotonic;
    this.#ready.update(queue, isReady ? queue.standing(at) : null);
    this.#heap.schedule(queue, isGone || isReady ? NEVER : queue.nextLookAt(at, startAt));
    if (!isGone && backlog.refillWanted(queue.appetite(this.room(), at)) > 0) this.#refiller.want(queue);
  }

  /** Whose turn it is of those that may start an attempt now. */
  firstReady(slots: SharedSlots): DestinationQueue | null {
    return this.#ready.first(slots);
  }

  forgetIdle(at: Instant): void {
    for (const [id, queue] of this.#byId) if (queue.isIdle(at)) this.#byId.delete(id);
  }

  stop(): void {
    this.#heap.stop();
    this.#refiller.stop();
  }
}
