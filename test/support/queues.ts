// What is asked of a destination's queue in tests, in one question each.
import type { DestinationQueue } from '../../src/dispatch/destination-queue.ts';
import type { Instant } from '../../src/runtime/clock.ts';

export function canStart(queue: DestinationQueue, at: Instant): boolean {
  return queue.startableAt(at) <= at.monotonic;
}

/** Monotonic ms. */
export function nextLookAt(queue: DestinationQueue, at: Instant): number {
  return queue.nextLookAt(at, queue.startableAt(at));
}
