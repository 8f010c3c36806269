// The heart of delivering: which delivery goes out next, and when. Each destination has its own queue, limit, rate and
// trouble; slots are shared max-min fairly, so a slow destination costs its own slots and nobody else's.
//
//   offer · sendAgain · wake · sweep ─▶ DestinationQueue ─▶ ready ─▶ pump ─▶ pipeline: send ─▶ record ─▶ settle
//                                           ▲    └─ spilled, or due later ─▶ store ─┐
//                                           └──────────────── refill ◀──────────────┘
import type { Mode } from '../model/api-key.ts';
import type { DueWork, OpenDelivery } from '../model/delivery.ts';
import type { DestinationLoad, DestinationWithKeys } from '../model/destination.ts';
import type { Event } from '../model/event.ts';
import { idShard, type DestinationId } from '../model/id.ts';
import { delay, type Clock, type Instant } from '../runtime/clock.ts';
import { createLoop, type BackgroundStep, type Loop } from '../runtime/loop.ts';
import type { Store } from '../store/store.ts';
import { loadOf, type DestinationQueue } from './destination-queue.ts';
import type { AttemptUnderWay } from './in-flight.ts';
import type { Ownership } from '../model/ownership.ts';
import type { Payloads } from './payloads.ts';
import type { AttemptPipeline } from './pipeline.ts';
import { Queues } from './queues.ts';
import { Slots } from './slots.ts';
import { WorkFinder } from './work-finder.ts';

type DispatcherOptions = {
  store: Pick<Store, 'sweep' | 'refill' | 'readHealth'>;
  clock: Clock;
  payloads: Pick<Payloads, 'put' | 'done'>;
  pipeline: Pick<AttemptPipeline, 'mayRun' | 'send' | 'record'>;
  ownership: Ownership;
  destinationOf: (id: DestinationId) => DestinationWithKeys | undefined;
  modeOf: (environment: number) => Mode;
  /** Attempts on the wire at once, over all destinations. */
  slots: number;
  onError: (error: unknown, where: BackgroundStep) => void;
};

/** Without letting all else have its turn. A turn of the event loop has no more, then. */
const STARTS_MAX = 64;
/** They take 6 ms where a queue has to be made for each, else 1. */
const OFFERS_PER_TURN = 500;
const SWEEP_INTERVAL_MS = 30_000;

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #queues: Queues;
  readonly #slots: Slots;
  readonly #work: WorkFinder;
  readonly #sweepLoop: Loop;
  #isRunning = false;
  /** Since all else had its turn; looks at those that could not start after all count too. */
  #starts = 0;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { clock, onError } = options;
    this.#queues = new Queues({ ...options, onDue: (queues) => this.#lookAt(queues) });
    this.#slots = new Slots(options.slots);
    this.#work = new WorkFinder({ ...options, queues: this.#queues });
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

  // ── From its start to its stop ──

  /** Learns which destinations were in trouble; before the first `offer`. */
  async load(shards: ReadonlySet<number> | null = null, own: () => void = () => {}): Promise<void> {
    const stored = await this.#options.store.readHealth();
    const at = this.#queues.instant();
    // From here on these shards are ours.
    own();
    for (const health of stored) {
      if (shards?.has(idShard(health.destinationId)) ?? true) this.#queues.open(health.destinationId, at, health);
    }
  }

  /** Begins to send: what was offered since, and all unfinished work in the store, whoever left it there. */
  async start(): Promise<void> {
    this.#isRunning = true;
    await this.sweep();
    this.#sweepLoop.start();
  }

  /** Starts nothing more; waits for what is on the wire, `graceMs` at most, then aborts it unrecorded. */
  async stop(graceMs: number): Promise<void> {
    this.#isRunning = false;
    this.#queues.stop();
    this.#work.stop();
    await this.#sweepLoop.stop();
    await Promise.race([this.#slots.wireFree(), delay(this.#options.clock, graceMs)]);
    abandon(this.#queues.list());
  }

  /**
   * These shards are not ours any more: nothing starts, and what waits in memory is forgotten. Resolves when nothing of
   * theirs is on the wire, after `graceMs` by aborting it unrecorded, and every result is stored. 0: they are lost
   * already, another node may be sending.
   */
  async release(shards: ReadonlySet<number>, graceMs: number): Promise<void> {
    const queues = this.#queues.list().filter(({ id }) => shards.has(idShard(id)));
    for (const queue of queues) queue.end(graceMs === 0 ? 'lost' : 'released');
    const drained = Promise.all(queues.map(({ backlog }) => backlog.drained()));
    this.#lookAt(queues);
    if (graceMs > 0) await Promise.race([drained, delay(this.#options.clock, graceMs)]);
    abandon(queues);
    await drained;
  }

  // ── What there is to send ──

  /** Deliveries whose transaction has just been committed. Of thousands some a turn: each may need a queue made. */
  offer(deliveries: readonly OpenDelivery[], event: Event, body: Uint8Array): void {
    const storedAt = this.#queues.instant();
    const offerFrom = (first: number, at: Instant): void => {
      const end = first + OFFERS_PER_TURN;
      // Bodies are kept also for those that wait in the store behind a thousand others: to read each again on
      // PostgreSQL took a fifth of the throughput as soon as one destination had so many.
      const { soon, later } = this.#queues.offer(deliveries.slice(first, end), storedAt.monotonic, at);
      if (soon + later > 0) this.#options.payloads.put(event, body, { uses: soon + later, mayStay: later > 0 });
      this.pump();
      if (end < deliveries.length) this.#options.clock.afterTurn(() => offerFrom(end, this.#queues.instant()));
    };
    offerFrom(0, storedAt);
  }

  /** A delivery that somebody wants sent again, after the commit: a forced attempt, or a DLQ replay. */
  sendAgain(delivery: OpenDelivery): void {
    const at = this.#queues.instant();
    const queue = this.#queues.open(delivery.destinationId, at);
    if (queue === null) return;
    if (delivery.fallbackStatus === null) queue.offer(delivery, this.#queues.room(), at);
    else queue.backlog.force(delivery);
    this.#lookAt([queue]);
  }

  /**
   * Another node has stored deliveries of these destinations: what they are is read from the store. False: some of the
   * destinations are not known here yet; their deliveries are looked for when the configuration has them.
   */
  wake(due: readonly DueWork[]): boolean {
    const at = this.#queues.instant();
    const isKnown = due.map(({ destinationId, dueAt }) => this.#work.note(destinationId, dueAt, at));
    this.#lookAt(due.flatMap(({ destinationId }) => this.#queues.get(destinationId) ?? []));
    return !isKnown.includes(false);
  }

  /** Looks for unfinished work in these shards, by default in all of ours. */
  async sweep(shards?: readonly number[]): Promise<void> {
    await this.#work.sweep(shards);
    this.#queues.forgetIdle(this.#queues.instant());
    // Every queue that is left, also without work in the store: the wall clock may have been set.
    this.#lookAt(this.#queues.list());
  }

  // ── What changes ──

  destinationChanged(destination: DestinationWithKeys): void {
    const { id } = destination;
    const at = this.#queues.instant();
    this.#queues.get(id)?.change(destination, at);
    this.#work.noteKnown(id, at);
    const queue = this.#queues.get(id);
    if (queue !== undefined) this.#lookAt([queue]);
  }

  destinationDeleted(id: DestinationId): void {
    this.#work.forget(id);
    const queue = this.#queues.get(id);
    if (queue === undefined) return;
    queue.end('deleted');
    this.#queues.update(queue, this.#queues.instant());
    for (const { aborter } of queue.inFlight.list()) aborter.abort();
  }

  /** The shards that have something on the wire, or results that are not stored yet. */
  busyShards(): Set<number> {
    const busy = this.#queues.list().filter(({ backlog }) => backlog.inMemory.size > backlog.waitingCount());
    return new Set(busy.map(({ id }) => idShard(id)));
  }

  stats(): { onWire: number; waiting: number; queues: number } {
    return { onWire: this.#slots.onWire, waiting: this.#queues.waiting, queues: this.#queues.size };
  }

  /** How every destination is doing that is in memory: those with anything to send, and some more. */
  *listLoads(): Iterable<DestinationLoad> {
    const at = this.#queues.instant();
    for (const queue of this.#queues.list()) yield loadOf(queue, at);
  }

  loadOf(id: DestinationId): DestinationLoad | null {
    const queue = this.#queues.get(id);
    return queue === undefined ? null : loadOf(queue, this.#queues.instant());
  }

  // ── From ready to settled ──

  /**
   * Starts attempts while there are slots, and destinations that may. To be called also when results can be stored
   * again, and when the lease was renewed. After so many of them all else gets its turn, whatever made them possible: a
   * start takes some hundredths of a millisecond (a signature, a request), and an event may have thousands of
   * deliveries. Answers that come a thousand at a time, each letting another attempt start, would go on coming so.
   */
  pump(): void {
    while (this.#starts < STARTS_MAX) {
      const mayStart = this.#isRunning && this.#slots.isFree() && this.#options.pipeline.mayRun();
      const queue = mayStart ? this.#queues.firstReady(this.#slots) : null;
      if (queue === null) return;
      if (++this.#starts === STARTS_MAX) {
        this.#options.clock.afterTurn(() => {
          this.#starts = 0;
          this.pump();
        });
      }
      const at = this.#queues.instant();
      // Time has passed since the queue was found ready: its rate limit may have been lowered, its window be smaller.
      const taker = { mode: queue.mode, standing: queue.standing(at) };
      const isReady = queue.startableAt(at) <= at.monotonic && this.#slots.areFor(taker);
      if (isReady) void this.#run(queue, queue.start(at), at);
      this.#queues.update(queue, at);
    }
  }

  /** One attempt, from its start, which is now, until it is settled. Never rejects. */
  async #run(queue: DestinationQueue, attempt: AttemptUnderWay, at: Instant): Promise<void> {
    const { pipeline, onError } = this.#options;
    this.#slots.take(attempt.taker);
    let dueAt: number | null;
    try {
      const sent = await pipeline.send(queue, attempt, at);
      // Recording begins before the slot is free: the destination's next start must already know of this result.
      const recording = sent.result === null ? sent : pipeline.record(queue, attempt, sent);
      this.#leaveWire(queue, attempt);
      ({ dueAt } = await recording);
    } catch (error) {
      // Not an outcome of the attempt but a fault of the service (no body, no socket): the delivery stays due. Of
      // the attempts that were started together and failed alike, one is reported.
      if (queue.pace.rest(this.#queues.instant())) onError(error, 'attempt');
      ({ dueAt } = attempt.delivery);
    }
    this.#settle(queue, attempt, dueAt);
  }

  /** The request has ended; its result is still to be stored. */
  #leaveWire(queue: DestinationQueue, attempt: AttemptUnderWay): void {
    if (!queue.inFlight.end(attempt)) return;
    if (attempt.sentTo === null) queue.pace.noteUnsent(this.#queues.instant());
    this.#slots.leaveWire(attempt.taker);
    this.#lookAt([queue]);
  }

  #settle(queue: DestinationQueue, attempt: AttemptUnderWay, dueAt: number | null): void {
    const { eventId, id } = attempt.delivery;
    this.#leaveWire(queue, attempt);
    this.#slots.settle();
    this.#options.payloads.done(eventId);
    queue.backlog.settle(id, dueAt);
    this.#lookAt([queue]);
  }

  #lookAt(queues: DestinationQueue[]): void {
    const at = this.#queues.instant();
    for (const queue of queues) this.#queues.update(queue, at);
    this.pump();
  }
}

/** Aborts what is on the wire of these, so that it has not happened: whoever sends to them next sends it again. */
function abandon(queues: readonly DestinationQueue[]): void {
  for (const { inFlight } of queues) for (const attempt of inFlight.list()) attempt.abandon();
}
