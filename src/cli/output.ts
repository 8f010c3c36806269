// Standard output of a command that prints its result and ends. Whoever reads it may be gone, or its disk full.

import { encode } from '../../sdk/typescript/src/json-text.ts';
import { breakAtSpaces, sizeOf } from './terminal.ts';

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

/** One line for programs; what is a JsonText in it as it stands. */
export function printJson(value: object): Promise<void> {
  return print(encode(value));
}

/** For people, beside the result: on a terminal broken between words, not in them. */
export function tell(text: string): void {
  const size = sizeOf(process.stderr);
  const lines = size === null ? [text] : text.split('\n').flatMap((line) => breakAtSpaces(line, size.columns));
  process.stderr.write(`${lines.join('\n')}\n`);
}
