// Structured logs: one JSON object a line on standard output. Never a secret, never an API key.
import { pino } from 'pino';
import { formatTime } from '../model/time.ts';
import type { Clock } from './clock.ts';

export type Log = pino.Logger;

/** Lines are written together, at the latest after this: at thousands a second each write call would count. */
const FLUSH_INTERVAL_MS = 100;
const BUFFER_BYTES = 16_383;
/** What POSIX promises to write into a pipe in one piece on Linux (512 on others): lines of processes do not mix. */
const PIPE_BYTES = 4_096;

/** Names under which something secret could get into a line by mistake. */
const REDACTED = ['authorization', 'secret', 'signing_secret', 'api_key', 'headers.authorization'];

/** A log whose reader does not read must not keep a process from ending. */
const FLUSH_WAIT_MAX_MS = 1_000;

export type ProcessLog = {
  log: Log;
  /** Resolves when all lines are written, or nobody reads them any more. */
  flush(): Promise<void>;
};

/** `isShared`: other processes write to the same output. */
export function createLog(level: string, clock: Clock, { isShared }: { isShared: boolean }): ProcessLog {
  const buffer = isShared ? { minLength: PIPE_BYTES - 1, maxWrite: PIPE_BYTES } : { minLength: BUFFER_BYTES };
  const destination = pino.destination({ sync: false, periodicFlush: FLUSH_INTERVAL_MS, ...buffer });
  const log = pino(
    {
      base: { name: 'postrider' },
      level,
      redact: { paths: REDACTED, censor: '***' },
      timestamp: () => `,"time":"${formatTime(clock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  return {
    log,
    // Not flushSync, which tries for ever when the reader of a pipe is gone.
    flush: () =>
      new Promise((resolve) => {
        const timer = clock.setTimer(resolve, FLUSH_WAIT_MAX_MS);
        destination.flush(() => {
          timer.cancel();
          resolve();
        });
      }),
  };
}
