// Structured logs: one JSON object a line on standard output. Never a secret, never an API key.
import { pino } from 'pino';

export type Log = pino.Logger;

/** Lines are written together, at the latest after this: at thousands a second each write call would count. */
const FLUSH_INTERVAL_MS = 100;
const BUFFER_BYTES = 8_192;

/** Names under which something secret could get into a line by mistake. */
const REDACTED = ['authorization', 'secret', 'signing_secret', 'api_key', 'headers.authorization'];

export function createLog(level: string, { fd = 1 }: { fd?: number } = {}): Log & { flushSync(): void } {
  const destination = pino.destination({ fd, sync: false, minLength: BUFFER_BYTES, periodicFlush: FLUSH_INTERVAL_MS });
  const log = pino(
    {
      name: 'postrider',
      level,
      redact: { paths: REDACTED, censor: '***' },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  return Object.assign(log, { flushSync: () => destination.flushSync() });
}
