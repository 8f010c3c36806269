// How a command ends that goes on until it is told to stop.

/** Ctrl-C, SIGTERM, or nobody reads the output any more (`postrider receive | head -3`). */
export function nextEnd(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    process.stdout.on('error', () => resolve());
  });
}
