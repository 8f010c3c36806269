// Time, handed in: rules never call Date.now(), so the same code runs on a virtual clock.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Unix milliseconds, whole. May jump when an operator or NTP sets the machine's time. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. For durations and deadlines. */
  monotonic(): number;
  /** Calls back once, no earlier than after `delayMs`. Does not keep the process alive by itself. */
  setTimer(callback: () => void, delayMs: number): Timer;
  /** Calls back once everything that has arrived by now has been handled: what came together is met together. */
  afterTurn(callback: () => void): void;
}

/** A moment by both clocks: Unix ms, for due times, and ms of the clock that never goes back, for durations. */
export type Instant = { now: number; monotonic: number };

export function instantOf(clock: Pick<Clock, 'now' | 'monotonic'>): Instant {
  return { now: clock.now(), monotonic: clock.monotonic() };
}

/** A time that does not come. */
export const NEVER = Number.POSITIVE_INFINITY;

/** Node fires a longer timeout at once (it overflows 32 bits). */
const TIMER_DELAY_MAX_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(callback, delayMs) {
    const timeout = setTimeout(callback, Math.min(Math.max(0, delayMs), TIMER_DELAY_MAX_MS));
    timeout.unref();
    return { cancel: () => clearTimeout(timeout) };
  },
  afterTurn: (callback) => void setImmediate(callback),
};

/** Resolves after `delayMs` on the given clock. */
export function delay(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => clock.setTimer(resolve, delayMs));
}

/**
 * For long work in many steps: to be awaited between them. Once they have taken `budgetMs` in a row, everything else
 * that waits gets its turn first. Where several share one, they go on in the order in which they came, one in a turn.
 */
export function createBreaks(clock: Pick<Clock, 'monotonic' | 'afterTurn'>, budgetMs: number): () => Promise<void> {
  let startedAt = clock.monotonic();
  const waiting: (() => void)[] = [];
  const goOn = (): void => {
    startedAt = clock.monotonic();
    waiting.shift()!();
    if (waiting.length > 0) clock.afterTurn(goOn);
  };
  return async () => {
    if (clock.monotonic() - startedAt < budgetMs) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    if (waiting.push(resolve) === 1) clock.afterTurn(goOn);
    await promise;
  };
}

/** For a process that would otherwise end while it waits for a timer. Returns how to let go again. */
export function keepProcessAlive(): () => void {
  const interval = setInterval(() => {}, TIMER_DELAY_MAX_MS);
  return () => clearInterval(interval);
}

/**
 * A clock whose wall time can be set right, as by the time of a database that several machines share. From then on it
 * goes by the machine's monotonic clock: between two looks at the database nobody could tell whether a machine's time
 * was set right or wrong, and what is stored by a wrong one, others wait for.
 */
export type AdjustableClock = Clock & {
  /** As it is when nothing is set right. */
  readonly machine: Clock;
  /** Its time is the machine's, as that was then, and so much more. */
  adjust(offsetMs: number, at: Instant): void;
};

export function createAdjustableClock(machine: Clock): AdjustableClock {
  /** Unix ms at which the monotonic clock was zero. */
  let startedAt: number | null = null;
  return {
    machine,
    now: () => (startedAt === null ? machine.now() : Math.floor(startedAt + machine.monotonic())),
    monotonic: () => machine.monotonic(),
    setTimer: (callback, delayMs) => machine.setTimer(callback, delayMs),
    afterTurn: (callback) => machine.afterTurn(callback),
    adjust(offsetMs, at) {
      startedAt = at.now + offsetMs - at.monotonic;
    },
  };
}
