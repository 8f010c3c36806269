// Standard output of a command that prints its result and ends. Whoever reads it may be gone, or its disk full.

/** What was printed may not have arrived. `isUnread`: nobody reads any more (`postrider keys list | head -1`). */
export class OutputError extends Error {
  readonly isUnread: boolean;

  constructor(cause: NodeJS.ErrnoException) {
    super(`cannot write the result to standard output: ${cause.message}`, { cause });
    this.isUnread = cause.code === 'EPIPE';
  }
}

/** A line, or several. Resolves when it is written; throws OutputError. */
export function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => reject(new OutputError(error));
    process.stdout.once('error', fail);
    process.stdout.write(`${text}\n`, (error) => {
      // A failure reaches both, and would end the process where nobody listened.
      if (error != null) return fail(error);
      process.stdout.removeListener('error', fail);
      resolve();
    });
  });
}

/** One line for programs. */
export function printJson(value: unknown): Promise<void> {
  return print(JSON.stringify(value));
}

/** A line for people, beside the result. */
export function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}
