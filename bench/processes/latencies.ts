// A histogram of bounded size for any number of latencies, with three significant digits.
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { Latencies } from './protocol.ts';

const MICROSECONDS_MAX = 3_600_000_000;

export class LatencyHistogram {
  readonly #histogram: RecordableHistogram = createHistogram({ lowest: 1, highest: MICROSECONDS_MAX, figures: 3 });

  record(ms: number): void {
    this.#histogram.record(Math.min(MICROSECONDS_MAX, Math.max(1, Math.round(ms * 1000))));
  }

  read(): Latencies {
    const histogram = this.#histogram;
    const at = (percentile: number): number => histogram.percentile(percentile) / 1000;
    const isEmpty = histogram.count === 0;
    return {
      count: histogram.count,
      p50: at(50),
      p90: at(90),
      p99: at(99),
      p999: at(99.9),
      max: isEmpty ? 0 : histogram.max / 1000,
    };
  }
}

/** Milliseconds on a clock that all processes of a machine share. */
export function sharedNow(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** As long for every time, so that it can be written over its predecessor: microseconds, 16 digits. */
export const STAMP_LENGTH = 16;

export function formatStamp(ms: number): string {
  return String(Math.round(ms * 1000)).padStart(STAMP_LENGTH, '0');
}
