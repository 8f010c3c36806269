// Fetches from the store what the queues in memory have room for: many destinations in one read, one at a time.
import { delay } from '../runtime/clock.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Refill, Store } from '../store/store.ts';
import type { DestinationQueue, Instant } from './destination-queue.ts';

const DESTINATIONS_MAX = 100;
/** Rows in one read: a busy destination comes round again, the others must not wait for all of its backlog. */
const ROWS_MAX = 2_000;
const ROWS_PER_DESTINATION_MIN = 16;
const RETRY_DELAY_MS = 250;

export interface Refiller {
  want(queue: DestinationQueue): void;
  stop(): void;
}

export function createRefiller(options: {
  store: Pick<Store, 'refill'>;
  clock: Clock;
  instant: () => Instant;
  capacityOf: (queue: DestinationQueue) => number;
  /** The queues that a read brought something to, or failed for. */
  onRefilled: (queues: DestinationQueue[]) => void;
  onError: (error: unknown) => void;
}): Refiller {
  const { store, clock, instant, capacityOf, onRefilled, onError } = options;
  const wanted = new Set<DestinationQueue>();
  let isRunning = false;
  let isStopped = false;

  const request = (queue: DestinationQueue, share: number, at: Instant) => {
    const capacity = capacityOf(queue);
    return {
      destinationId: queue.id,
      dueBy: queue.refillDueBy(capacity, at),
      dueFrom: queue.refillDueFrom(),
      limit: Math.min(queue.refillWanted(capacity, at), share),
      exclude: queue.heldIds(),
    };
  };

  const readOnce = async (queues: DestinationQueue[]): Promise<void> => {
    const at = instant();
    const share = Math.max(ROWS_PER_DESTINATION_MIN, Math.ceil(ROWS_MAX / queues.length));
    const requests = queues.map((queue) => request(queue, share, at));
    for (const queue of queues) queue.beginRefill();
    let refills: Refill[] | null = null;
    try {
      refills = await store.refill(requests);
    } catch (error) {
      onError(error);
      await delay(clock, RETRY_DELAY_MS);
    }
    const { monotonic: refilledAt } = instant();
    for (const [i, queue] of queues.entries()) {
      queue.refilledAt = refilledAt;
      queue.endRefill(refills === null ? null : refills[i]!);
    }
    onRefilled(queues);
  };

  const run = async (): Promise<void> => {
    isRunning = true;
    while (wanted.size > 0 && !isStopped) {
      const at = instant();
      const queues = [...wanted].slice(0, DESTINATIONS_MAX);
      for (const queue of queues) wanted.delete(queue);
      // It may have been paused, deleted or filled since it asked.
      const due = queues.filter((queue) => !queue.isOver && queue.refillWanted(capacityOf(queue), at) > 0);
      if (due.length > 0) await readOnce(due);
    }
    isRunning = false;
  };

  return {
    want(queue) {
      wanted.add(queue);
      // After the current turn: queues that ask together are read together.
      if (!isRunning) queueMicrotask(() => !isRunning && void run());
    },
    stop() {
      isStopped = true;
    },
  };
}
