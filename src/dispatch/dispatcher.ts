// The heart of delivering: which delivery goes out next, and when. Each destination has its own queue, limit,
// rate and trouble; slots are shared max-min fairly, so a slow destination costs its own slots and nobody else's.
//
//   offer · force · sweep ─▶ DestinationQueue ─▶ ready ─▶ pump ─▶ attempt ─▶ record ─▶ settle
//                                ▲    └─ spilled, or due later ─▶ store ─┐
//                                └──────────── refill ◀──────────────────┘
import { FORCED_DUE_AT } from '../model/delivery.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import type { DestinationHealth, DestinationWithKeys } from '../model/destination.ts';
import type { Event } from '../model/event.ts';
import { idShard } from '../model/id.ts';
import type { DestinationId } from '../model/id.ts';
import { delay } from '../runtime/clock.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLoop } from '../runtime/loop.ts';
import type { BackgroundStep, Loop } from '../runtime/loop.ts';
import type { Store } from '../store/store.ts';
import type { Attempting, Instant } from './destination-queue.ts';
import { DestinationQueue } from './destination-queue.ts';
import type { Ownership } from './ownership.ts';
import type { Payloads } from './payloads.ts';
import { ReadyQueues } from './ready-queues.ts';
import { createRefiller } from './refiller.ts';
import type { Refiller } from './refiller.ts';
import type { Runner } from './runner.ts';
import { WakeHeap } from './wake-heap.ts';

export type DispatcherOptions = {
  store: Pick<Store, 'sweep' | 'refill' | 'readHealth'>;
  clock: Clock;
  payloads: Payloads;
  runner: Runner;
  ownership: Ownership;
  destinationOf: (id: DestinationId) => DestinationWithKeys | undefined;
  /** Attempts on the wire at once, over all destinations. */
  slots: number;
  onError: (error: unknown, where: BackgroundStep) => void;
};

/** Deliveries that wait in memory: of one destination, and of all together before each is cut to the last number. */
const WAITING_PER_DESTINATION_MAX = 1_000;
const WAITING_MAX = 100_000;
const WAITING_PER_DESTINATION_MIN = 16;

const STARTS_PER_TURN = 64;
/** 6 ms where every one needs a queue of its own made, else 1. */
const OFFERS_PER_TURN = 500;

/** The last quarter of the slots is for destinations that have hardly any. */
const SHARED_SLOTS = 3 / 4;
const SCARCE_IN_FLIGHT_MAX = 2;

/** Queues that are in memory, with work or without; about a kilobyte each. Those with work are never dropped. */
const QUEUES_KEPT_MAX = 20_000;

const SWEEP_INTERVAL_MS = 30_000;
const SWEEP_PAGE = 1_000;
/** More of them wait for the next sweep. */
const UNKNOWN_MAX = 10_000;

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #queues = new Map<DestinationId, DestinationQueue>();
  readonly #ready = new ReadyQueues<DestinationQueue>();
  readonly #heap: WakeHeap<DestinationQueue>;
  readonly #refiller: Refiller;
  readonly #sweepLoop: Loop;
  /** Destinations with work that were made on another node, too recently for the configuration here to have them. */
  readonly #unknown = new Set<DestinationId>();
  #waiting = 0;
  #onWire = 0;
  #unsettled = 0;
  #isRunning = false;
  #isPumpPlanned = false;
  #onWireDone: (() => void) | null = null;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { store, clock, onError } = options;
    this.#heap = new WakeHeap(clock, (queues) => this.#lookAt(queues));
    this.#refiller = createRefiller({
      store,
      clock,
      instant: () => this.#instant(),
      capacityOf: () => this.#capacity(),
      onRefilled: (queues) => this.#lookAt(queues),
      onError: (error) => onError(error, 'refill'),
    });
    this.#sweepLoop = createLoop({
      name: 'sweep',
      clock,
      intervalMs: SWEEP_INTERVAL_MS,
      step: async () => {
        await this.sweep();
        return 'idle';
      },
      onError,
    });
  }

  /** Learns which destinations were in trouble; before the first `offer`. */
  async load(shards: ReadonlySet<number> | null = null, own: () => void = () => {}): Promise<void> {
    const stored = await this.#options.store.readHealth();
    const at = this.#instant();
    // From here on these shards are ours.
    own();
    for (const health of stored) {
      if (shards?.has(idShard(health.destinationId)) ?? true) this.#queueOf(health.destinationId, at, health);
    }
  }

  /** Begins to send: what was offered since, and all unfinished work in the store, whoever left it there. */
  async start(): Promise<void> {
    this.#isRunning = true;
    await this.sweep();
    this.#sweepLoop.start();
  }

  /**
   * These shards are not ours any more: nothing starts, and what waits in memory is forgotten. Resolves when nothing of
   * theirs is on the wire, after `graceMs` by aborting it unrecorded, and every result is stored. 0: they are lost
   * already, others may be sending.
   */
  async release(shards: ReadonlySet<number>, graceMs: number): Promise<void> {
    const queues = [...this.#queues.values()].filter(({ id }) => shards.has(idShard(id)));
    const drained = Promise.all(queues.map((queue) => queue.drop({ isLost: graceMs === 0 })));
    this.#lookAt(queues);
    if (graceMs > 0) await Promise.race([drained, delay(this.#options.clock, graceMs)]);
    this.#options.runner.abandon(queues.flatMap((queue) => queue.attempting()));
    await drained;
  }

  /** The shards that have something on the wire, or results that are not stored yet. */
  busyShards(): Set<number> {
    const busy = [...this.#queues.values()].filter((queue) => queue.heldCount() > queue.waitingCount());
    return new Set(busy.map(({ id }) => idShard(id)));
  }

  /**
   * Somewhere else deliveries of these destinations were stored: what they are is read from the store. False: of some
   * nobody here has heard yet, which is made up for when the configuration is followed.
   */
  wake(ids: readonly DestinationId[], { isForced }: { isForced: boolean }): boolean {
    const at = this.#instant();
    const dueAt = isForced ? FORCED_DUE_AT : at.now;
    const isKnown = ids.map((id) => this.#noteStored(id, dueAt, at));
    this.#lookAt(ids.flatMap((id) => this.#queues.get(id) ?? []));
    return !isKnown.includes(false);
  }

  /** Starts nothing more; waits for what is on the wire, `graceMs` at most, then aborts it unrecorded. */
  async stop(graceMs: number): Promise<void> {
    this.#isRunning = false;
    this.#heap.stop();
    this.#refiller.stop();
    await this.#sweepLoop.stop();
    if (this.#onWire > 0) await this.#waitForWire(graceMs);
    this.#options.runner.abandon(this.#allAttempting());
  }

  /** Deliveries whose transaction has just been committed. Of thousands some a turn: each may need a queue made. */
  offer(deliveries: readonly OpenDelivery[], event: Event, body: Uint8Array): void {
    const storedAt = this.#instant().monotonic;
    const offerFrom = (first: number): void => {
      const end = first + OFFERS_PER_TURN;
      this.#offer(deliveries.slice(first, end), { event, body, storedAt });
      if (end < deliveries.length) this.#options.clock.afterTurn(() => offerFrom(end));
    };
    offerFrom(0);
  }

  #offer(deliveries: readonly OpenDelivery[], of: { event: Event; body: Uint8Array; storedAt: number }): void {
    const at = this.#instant();
    let takenCount = 0;
    for (const delivery of deliveries) {
      const queue = this.#queueOf(delivery.destinationId, at);
      if (queue === null) continue;
      // A refill since may have brought it, and it may have been sent: what the store has of it counts.
      if (queue.refilledAt > of.storedAt) queue.noteStored(delivery.dueAt);
      else if (queue.offer(delivery, { capacity: this.#capacity(), at })) takenCount++;
      this.#update(queue, at);
    }
    if (takenCount > 0) this.#options.payloads.put(of.event, of.body, takenCount);
    this.#pump();
  }

  /** A delivery that somebody wants sent again, after the commit: a forced attempt, or a DLQ replay. */
  sendAgain(delivery: OpenDelivery): void {
    const at = this.#instant();
    const queue = this.#queueOf(delivery.destinationId, at);
    if (queue === null) return;
    if (delivery.fallbackStatus === null) queue.offer(delivery, { capacity: this.#capacity(), at });
    else queue.force(delivery);
    this.#lookAt([queue]);
  }

  destinationChanged(destination: DestinationWithKeys): void {
    const { id } = destination;
    const at = this.#instant();
    this.#queues.get(id)?.change(destination, at);
    if (this.#unknown.delete(id)) this.#noteStored(id, FORCED_DUE_AT, at);
    const queue = this.#queues.get(id);
    if (queue !== undefined) this.#lookAt([queue]);
  }

  destinationDeleted(id: DestinationId): void {
    this.#unknown.delete(id);
    const queue = this.#queues.get(id);
    if (queue === undefined) return;
    queue.delete();
    this.#update(queue, this.#instant());
    for (const attempting of queue.attempting()) attempting.abort?.();
  }

  /** Results can be stored again: go on. */
  resume(): void {
    this.#pump();
  }

  stats(): { onWire: number; waiting: number; queues: number } {
    return { onWire: this.#onWire, waiting: this.#waiting, queues: this.#queues.size };
  }

  // ── One step of the pipeline each ──

  /**
   * Starts attempts while there are slots, and destinations that may. A start takes up to a tenth of a millisecond (a
   * socket, a signature), and an event may have thousands of deliveries: after some of them all else gets its turn.
   */
  #pump(): void {
    if (this.#isPumpPlanned) return;
    for (let started = 0; ; started++) {
      if (started === STARTS_PER_TURN) return this.#pumpLater();
      const queue = !this.#isRunning || !this.#hasSlot() ? null : this.#ready.first();
      if (queue === null || !this.#mayTakeSlot(queue)) return;
      const at = this.#instant();
      // Time has passed since it was found ready: its rate may say otherwise now, never more than that.
      if (queue.canStart(at)) void this.#run(queue, queue.start(at));
      this.#update(queue, this.#instant());
    }
  }

  #pumpLater(): void {
    this.#isPumpPlanned = true;
    this.#options.clock.afterTurn(() => {
      this.#isPumpPlanned = false;
      this.#pump();
    });
  }

  async #run(queue: DestinationQueue, attempting: Attempting): Promise<void> {
    this.#onWire++;
    this.#unsettled++;
    let dueAt: number | null = null;
    try {
      const ended = await this.#options.runner.attempt(queue, attempting, () => this.#freeSlot(queue, attempting));
      dueAt = ended.dueAt;
    } catch (error) {
      // Not an outcome of the attempt but a fault of ours (the store away while reading a body): it stays due.
      // Of all that were started together one is reported.
      if (queue.rest(this.#instant())) this.#options.onError(error, 'attempt');
      dueAt = attempting.delivery.dueAt;
    }
    if (!attempting.isSent) queue.noteUnsent(this.#instant());
    this.#freeSlot(queue, attempting);
    this.#unsettled--;
    this.#options.payloads.done(attempting.delivery.eventId);
    queue.settle(attempting.delivery.id, dueAt);
    this.#lookAt([queue]);
  }

  /** The request has ended; its result is still to be stored. */
  #freeSlot(queue: DestinationQueue, attempting: Attempting): void {
    if (!queue.endAttempt(attempting.delivery.id)) return;
    this.#onWire--;
    if (this.#onWire === 0) this.#onWireDone?.();
    this.#lookAt([queue]);
  }

  #lookAt(queues: DestinationQueue[]): void {
    const at = this.#instant();
    for (const queue of queues) this.#update(queue, at);
    this.#pump();
  }

  /** Puts a queue where it belongs now: among the ready, into the heap, on the list to refill, or away. */
  #update(queue: DestinationQueue, at: Instant): void {
    this.#waiting += queue.waitingCount() - queue.countedWaiting;
    queue.countedWaiting = queue.waitingCount();
    // A queue with nothing to do stays until the next sweep, unless there are very many: it will have work again soon.
    const isGone = queue.isOver || (this.#queues.size > QUEUES_KEPT_MAX && queue.isIdle(at));
    if (isGone && this.#queues.get(queue.id) === queue) this.#queues.delete(queue.id);
    const isReady = !isGone && queue.canStart(at);
    this.#ready.update(queue, isReady);
    this.#heap.schedule(queue, isGone || isReady ? Number.POSITIVE_INFINITY : queue.nextLookAt(at));
    if (!isGone && queue.refillWanted(this.#capacity(), at) > 0) this.#refiller.want(queue);
  }

  /** Looks for unfinished work in these shards, by default in all of ours. */
  async sweep(shards: readonly number[] | undefined = this.#options.ownership.ownedShards()): Promise<void> {
    if (shards?.length === 0) return;
    const where = shards === undefined ? {} : { shards };
    let after: string | null = null;
    do {
      const request = { after, limit: SWEEP_PAGE, ...where };
      const page: Awaited<ReturnType<Store['sweep']>> = await this.#options.store.sweep(request);
      const at = this.#instant();
      for (const { destinationId, dueAt } of page.destinations) this.#noteStored(destinationId, dueAt, at);
      after = page.next;
    } while (after !== null && this.#isRunning);
    const at = this.#instant();
    for (const [id, queue] of this.#queues) if (queue.isIdle(at)) this.#queues.delete(id);
    // All that are left, found or not: the wall clock may have been set.
    this.#lookAt([...this.#queues.values()]);
  }

  /** The store has work of ours. False: for a destination that is too new to be known here. */
  #noteStored(id: DestinationId, dueAt: number, at: Instant): boolean {
    const { destinationOf, ownership } = this.#options;
    if (ownership.ownedSince(idShard(id)) === null) return true;
    if (destinationOf(id) === undefined) {
      if (this.#unknown.size < UNKNOWN_MAX) this.#unknown.add(id);
      return false;
    }
    this.#queueOf(id, at)!.noteStored(dueAt);
    return true;
  }

  // ── What the steps ask ──

  #queueOf(id: DestinationId, at: Instant, health: DestinationHealth | null = null): DestinationQueue | null {
    const known = this.#queues.get(id);
    if (known !== undefined) return known;
    const { destinationOf, ownership } = this.#options;
    const ownedSince = ownership.ownedSince(idShard(id));
    const destination = ownedSince === null ? undefined : destinationOf(id);
    if (ownedSince === null || destination === undefined) return null;
    const queue = new DestinationQueue(destination, health, at, ownedSince);
    this.#queues.set(id, queue);
    return queue;
  }

  #instant(): Instant {
    return { now: this.#options.clock.now(), monotonic: this.#options.clock.monotonic() };
  }

  #capacity(): number {
    return this.#waiting < WAITING_MAX ? WAITING_PER_DESTINATION_MAX : WAITING_PER_DESTINATION_MIN;
  }

  #hasSlot(): boolean {
    // Results that wait to be stored count too: what we learn must not pile up in memory.
    return (
      this.#onWire < this.#options.slots && this.#unsettled < 2 * this.#options.slots && this.#options.runner.mayRun()
    );
  }

  #mayTakeSlot(queue: DestinationQueue): boolean {
    return this.#onWire < this.#options.slots * SHARED_SLOTS || queue.inFlightCount() <= SCARCE_IN_FLIGHT_MAX;
  }

  #allAttempting(): Attempting[] {
    return [...this.#queues.values()].flatMap((queue) => queue.attempting());
  }

  async #waitForWire(graceMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onWireDone = resolve;
    const timer = this.#options.clock.setTimer(resolve, graceMs);
    await promise;
    timer.cancel();
  }
}
