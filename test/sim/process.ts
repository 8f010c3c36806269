// What a process of the service sees of the world, so that a crash can take it all away: after `kill` no timer of
// its runs, and nothing that it asked for is answered.
import type { Clock } from '../../src/runtime/clock.ts';

export class VirtualProcess {
  isAlive = true;
  readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      setTimer: (callback, delayMs) => clock.setTimer(() => this.isAlive && callback(), delayMs),
      afterTurn: (callback) => clock.afterTurn(() => this.isAlive && callback()),
    };
  }

  kill(): void {
    this.isAlive = false;
  }
}
