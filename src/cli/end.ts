// How a command ends that goes on until it is told to stop.

/** Ctrl-C or SIGTERM. */
export function nextStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}

/** That, or nobody reads the output any more (`postrider receive | head -3`). */
export function nextEnd(): Promise<void> {
  const { promise: unread, resolve } = Promise.withResolvers<void>();
  process.stdout.on('error', () => resolve());
  return Promise.race([nextStopSignal(), unread]);
}
