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
/** What waits for whoever reads the output, or for room on its disk. Lines beyond it are counted and left out. */
const WAITING_BYTES_MAX = 8 * 1024 * 1024;

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
  const destination = pino.destination({
    // Asking for it makes a pipe non-blocking, also one that is inherited. A write that blocks keeps a thread, and a
    // process waits for its threads before it ends.
    dest: process.stdout.fd,
    sync: false,
    periodicFlush: FLUSH_INTERVAL_MS,
    maxLength: WAITING_BYTES_MAX,
    ...buffer,
  });
  // Such as of a full disk. Its lines are tried again with the next ones; without a listener it would end the process.
  destination.on('error', () => {});
  // pino calls it when the process exits. It tries for ever where nobody reads, or the disk is full.
  destination.flushSync = () => {};
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
  let leftOut = 0;
  destination.on('drop', () => leftOut++);
  destination.on('drain', () => {
    if (leftOut === 0) return;
    const lines = leftOut;
    leftOut = 0;
    log.warn({ lines }, 'lines of the log were left out: whoever reads standard output was too slow, or its disk full');
  });
  return {
    log,
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
