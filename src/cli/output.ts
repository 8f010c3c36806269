// Standard output of a command that prints its result and ends. Whoever reads it may be gone, or its disk full.

import { encode } from '../../sdk/typescript/src/json-text.ts';
import { breakAtSpaces, printable, printableJson, sizeOf } from './terminal.ts';

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
export function printJson(value: object): Promise<void> {
  return print(shownJson(value));
}

/** What is a JsonText in it as it stands; on a terminal with escapes for what would act on that. */
export function shownJson(value: object): string {
  const json = encode(value);
  return sizeOf(process.stdout) === null ? json : printableJson(json);
}

/** A result in sentences. */
export function say(text: string): Promise<void> {
  return print(sentences(text, process.stdout));
}

/** For people, beside the result. */
export function tell(text: string): void {
  process.stderr.write(`${sentences(text, process.stderr)}\n`);
}

/** As they are; for a terminal broken between words, not in them, and without what would act on the terminal. */
export function sentences(text: string, stream: NodeJS.WriteStream): string {
  const size = sizeOf(stream);
  if (size === null) return text;
  const lines = text.split('\n').map(printable);
  // What is indented is to be copied, as one line.
  return lines.flatMap((line) => (line.startsWith(' ') ? line : breakAtSpaces(line, size.columns))).join('\n');
}
