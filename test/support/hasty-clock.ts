// A clock on which waits pass `times` as fast, so that seconds of patience take a moment. What time it is stays right.
import { systemClock } from '../../src/runtime/clock.ts';
import type { Clock } from '../../src/runtime/clock.ts';

export function hastyClock(times: number): Clock {
  return {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic() * times,
    setTimer: (callback, delayMs) => systemClock.setTimer(callback, delayMs / times),
    afterTurn: (callback) => systemClock.afterTurn(callback),
  };
}
