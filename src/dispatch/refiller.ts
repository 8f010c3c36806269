// Fetches from the store what the queues in memory have room for: many destinations in one read, one at a time.
import { delay } from '../runtime/clock.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Refill, Store } from '../store/store.ts';
import type { Appetite } from './backlog.ts';
import type { DestinationQueue } from './destination-queue.ts';
import type { Instant } from './instant.ts';

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
  /** How many deliveries a destination may have waiting in memory. */
  roomOf: () => number;
  /** The queues that a read brought something to, or failed for. */
  onRefilled: (queues: DestinationQueue[]) => void;
  onError: (error: unknown) => void;
}): Refiller {
  const { store, clock, instant, roomOf, onRefilled, onError } = options;
  const wanted = new Set<DestinationQueue>();
  let isRunning = false;
  let isStopped = false;

  const request = ({ id, backlog }: DestinationQueue, appetite: Appetite, share: number) => ({
    destinationId: id,
    ...backlog.refillBounds(appetite),
    limit: Math.min(backlog.refillWanted(appetite), share),
    exclude: backlog.heldIds(),
  });

  const readOnce = async (queues: DestinationQueue[]): Promise<void> => {
    const at = instant();
    const share = Math.max(ROWS_PER_DESTINATION_MIN, Math.ceil(ROWS_MAX / queues.length));
    const requests = queues.map((queue) => request(queue, queue.appetite(roomOf(), at), share));
    for (const queue of queues) queue.backlog.beginRefill();
    let refills: Refill[] | null = null;
    try {
      refills = await store.refill(requests);
    } catch (error) {
      onError(error);
      await delay(clock, RETRY_DELAY_MS);
    }
    queues.forEach((queue, i) => queue.endRefill(refills === null ? null : refills[i]!));
    onRefilled(queues);
  };

  const run = async (): Promise<void> => {
    isRunning = true;
    while (wanted.size > 0 && !isStopped) {
      const at = instant();
      const queues = [...wanted].slice(0, DESTINATIONS_MAX);
      for (const queue of queues) wanted.delete(queue);
      // It may have been paused, deleted or filled since it asked.
      const isWanting = (queue: DestinationQueue) => queue.backlog.refillWanted(queue.appetite(roomOf(), at)) > 0;
      const due = queues.filter((queue) => !queue.isOver && isWanting(queue));
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
