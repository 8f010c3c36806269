// The one shape of every background loop: a step, repeated on the clock, never twice at a time.
import type { Clock, Timer } from './clock.ts';

/** All that goes on beside requests and may fail: each loop, and what happens once in a while. */
export const BACKGROUND_STEPS = [
  'follow',
  'touch-keys',
  'recount',
  'sweep',
  'refill',
  'match',
  'attempt',
  'pause',
  'erase-bodies',
  'prune-rows',
  'end-deleted',
  'write-stats',
  'prune-stats',
  'operate',
  'notices',
  'backlogs',
  'membership',
  'shards',
  'give',
  'announce',
  'leave',
  'look-at-files',
  'stream',
  'stop',
] as const;
export type BackgroundStep = (typeof BACKGROUND_STEPS)[number];

export interface Loop {
  start(): void;
  /** Resolves when a step under way has ended; no step begins after that. */
  stop(): Promise<void>;
  /** Asks for a step as soon as possible instead of at the next interval. */
  wake(): void;
}

/** What a step says about the next one: at once (there is more to do) or after the interval. */
export type StepResult = 'more' | 'idle';

export function createLoop<Name extends string>(options: {
  name: Name;
  clock: Clock;
  intervalMs: number;
  /** The pause after a step that said 'more'. Default 0: other work on this thread runs in between. */
  betweenStepsMs?: number;
  step: () => Promise<StepResult>;
  /** A step's exception ends the step, not the loop. */
  onError: (error: unknown, loopName: Name) => void;
}): Loop {
  const { name, clock, intervalMs, betweenStepsMs = 0, step, onError } = options;
  let timer: Timer | null = null;
  let running: Promise<void> | null = null;
  let isWoken = false;
  let isStopped = true;

  const runStep = async (): Promise<void> => {
    isWoken = false;
    let result: StepResult = 'idle';
    try {
      result = await step();
    } catch (error) {
      onError(error, name);
    }
    running = null;
    schedule(result === 'more' ? betweenStepsMs : isWoken ? 0 : intervalMs);
  };

  const schedule = (delayMs: number): void => {
    timer?.cancel();
    timer = null;
    if (isStopped) return;
    timer = clock.setTimer(() => {
      timer = null;
      running = runStep();
    }, delayMs);
  };

  return {
    start() {
      if (!isStopped) return;
      isStopped = false;
      schedule(0);
    },
    async stop() {
      isStopped = true;
      timer?.cancel();
      timer = null;
      await running;
    },
    wake() {
      isWoken = true;
      if (running === null) schedule(0);
    },
  };
}
