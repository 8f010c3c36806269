// Where a destination's queue is kept: in the heap of those that wait for a time, among those that may start now, and
// in the sum of what waits. Kept with the queue itself, so that finding it there is no look-up.
import type { ReadyPlace } from './ready-queues.ts';
import type { HeapPlace } from './wake-heap.ts';
import { NEVER } from './instant.ts';

export class Place implements HeapPlace, ReadyPlace {
  wakeAt: number = NEVER;
  heapIndex = -1;
  readyBucket = -1;
  /** How many of its waiting deliveries are in the sum. */
  countedWaiting = 0;
}
