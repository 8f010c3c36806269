// Fetches from the store what the queues in memory have room for: many destinations in one read, one at a time.
import { delay, instantOf, type Clock, type Instant } from '../runtime/clock.ts';
import type { Refill, RefillRequest, Store } from '../store/store.ts';
import type { Appetite } from './backlog.ts';
import type { DestinationQueue } from './destination-queue.ts';

const DESTINATIONS_MAX = 100;
/** Rows in one read: a busy destination comes round again, the others must not wait for all of its backlog. */
const ROWS_MAX = 2_000;
const ROWS_PER_DESTINATION_MIN = 16;
const RETRY_DELAY_MS = 250;

type RefillerOptions = {
  store: Pick<Store, 'refill'>;
  clock: Clock;
  /** How many deliveries a destination may have waiting in memory. */
  roomOf: () => number;
  /** The queues that a read brought something to, or failed for. */
  onRefilled: (queues: DestinationQueue[]) => void;
  onError: (error: unknown) => void;
};

export class Refiller {
  readonly #options: RefillerOptions;
  readonly #wanted = new Set<DestinationQueue>();
  #isRunning = false;
  #isStopped = false;

  constructor(options: RefillerOptions) {
    this.#options = options;
  }

  want(queue: DestinationQueue): void {
    this.#wanted.add(queue);
    // After the current turn: queues that ask together are read together.
    if (!this.#isRunning) queueMicrotask(() => void this.#run());
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#wanted.size > 0 && !this.#isStopped) {
      const queues = [...this.#wanted].slice(0, DESTINATIONS_MAX);
      for (const queue of queues) this.#wanted.delete(queue);
      const at = instantOf(this.#options.clock);
      // A queue may have been paused, deleted or filled since it asked.
      const due = queues.filter(
        (queue) => !queue.isOver && queue.backlog.refillWanted(this.#appetiteOf(queue, at)) > 0,
      );
      if (due.length > 0) await this.#readOnce(due, at);
    }
    this.#isRunning = false;
  }

  async #readOnce(queues: DestinationQueue[], at: Instant): Promise<void> {
    const { store, clock, roomOf, onRefilled, onError } = this.#options;
    const share = Math.max(ROWS_PER_DESTINATION_MIN, Math.ceil(ROWS_MAX / queues.length));
    const requests = queues.map((queue) => this.#requestFor(queue, share, at));
    for (const { backlog } of queues) backlog.beginRefill();
    let refills: Refill[] | null = null;
    try {
      refills = await store.refill(requests);
    } catch (error) {
      onError(error);
      await delay(clock, RETRY_DELAY_MS);
    }
    const endedAt = instantOf(clock);
    for (const [i, queue] of queues.entries())
      queue.endRefill(refills === null ? null : refills[i]!, roomOf(), endedAt);
    onRefilled(queues);
  }

  #requestFor(queue: DestinationQueue, share: number, at: Instant): RefillRequest {
    const { id, backlog } = queue;
    const appetite = this.#appetiteOf(queue, at);
    const limit = Math.min(backlog.refillWanted(appetite), share);
    const bounds = backlog.refillBounds(appetite);
    return { destinationId: id, ...bounds, limit, exclude: backlog.listInMemory(bounds.dueFrom) };
  }

  #appetiteOf(queue: DestinationQueue, at: Instant): Appetite {
    return queue.appetite(this.#options.roomOf(), at);
  }
}
