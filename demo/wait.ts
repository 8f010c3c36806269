// Waiting for what others do: always for an event or an answer, never for a time, and never for ever.
import { delay, systemClock } from '../src/runtime/clock.ts';

/** Far beyond what anything here takes, also on a machine that is busy with other things. */
const PATIENCE_MS = 60_000;
const POLL_INTERVAL_MS = 20;

/** `what` completes "waited 60 s for …". */
export async function waitFor<T>(what: string, event: Promise<T>): Promise<T> {
  const timeout = Promise.withResolvers<never>();
  const timer = systemClock.setTimer(
    () => timeout.reject(new Error(`waited ${PATIENCE_MS / 1000} s for ${what}`)),
    PATIENCE_MS,
  );
  try {
    return await Promise.race([event, timeout.promise]);
  } finally {
    timer.cancel();
  }
}

/** Reads again and again until the answer is the one hoped for: the API tells nobody by itself. */
export async function poll<T>(what: string, read: () => Promise<T>, isDone: (answer: T) => boolean): Promise<T> {
  const givenUpAt = systemClock.monotonic() + PATIENCE_MS;
  for (;;) {
    const answer = await read();
    if (isDone(answer)) return answer;
    if (systemClock.monotonic() > givenUpAt) {
      throw new Error(`waited ${PATIENCE_MS / 1000} s for ${what}; the last answer was ${JSON.stringify(answer)}`);
    }
    await delay(systemClock, POLL_INTERVAL_MS);
  }
}
