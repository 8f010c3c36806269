// How long the event loop was kept from its work: the first sign that one thread has too much to do.
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Returns a reader of the longest delay, in seconds, since its last call. */
export function watchEventLoopDelay(): () => number {
  const histogram = monitorEventLoopDelay({ resolution: 10 });
  histogram.enable();
  return () => {
    const seconds = histogram.max / 1e9;
    histogram.reset();
    return seconds;
  };
}
