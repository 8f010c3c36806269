// Standard input to its end, for a flag whose value is "-".
import { UsageError } from '../../config.ts';

/** Far more than the service takes of anything. */
const BYTES_MAX = 8 * 1024 * 1024;

/** Throws UsageError, which names the flag, at what is too long. */
export async function readAll(flag: string): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > BYTES_MAX) throw new UsageError(`${flag}: standard input is longer than ${BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
