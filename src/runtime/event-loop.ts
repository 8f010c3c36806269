// How long the event loop was kept from its work: the first sign that one thread has too much to do.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Clock } from './clock.ts';

const RESOLUTION_MS = 10;
const WINDOW_MS = 15_000;

/**
 * Returns a reader of the longest delay, in seconds, since its last call, or of the last 15 to 30 s where calls are
 * more frequent: two who read take nothing from each other.
 */
export function watchEventLoopDelay(clock: Pick<Clock, 'monotonic'>): () => number {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  let windowStartedAt = clock.monotonic();
  let previous = 0;
  return () => {
    // What is measured is how late a timer of the resolution is, its own time included.
    const current = Math.max(0, histogram.max / 1e9 - RESOLUTION_MS / 1000);
    const worst = Math.max(previous, current);
    const now = clock.monotonic();
    if (now - windowStartedAt >= WINDOW_MS) {
      windowStartedAt = now;
      previous = current;
      histogram.reset();
    }
    return worst;
  };
}
